"""A part of an expression in its place: the inverse of surplus logic."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import copy_of
from refute.function.search.facts import Facts, may_be
from refute.function.search.operators.build import (
    Variant,
    binary,
    call,
)
from refute.function.search.sites import Site

__all__ = ["hoists"]

_OPTIONAL = frozenset({"split", "strip", "lstrip", "rstrip", "pop"})
"""Methods that do without their argument."""


def hoists(site: Site, facts: Facts) -> Iterator[Variant]:
    """A part of an expression in its place: the inverse of surplus logic."""
    node = site.node
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield "drop operand", left, _dropped(op, right)
            yield "drop operand", right, _dropped(op, left) - 0.3
            if isinstance(left, ast.BinOp):
                # Drop the middle operand of a chain: (a op b) op2 c -> a op2 c, or a op c.
                middle = _dropped(left.op, left.right)
                additive = (ast.Add, ast.Sub)
                if isinstance(op, additive) != isinstance(left.op, additive):
                    middle -= 0.8
                yield "drop operand", binary(left.left, op, right), middle
                yield (
                    "drop operand",
                    binary(left.left, left.op, right),
                    middle - 0.2,
                )
                if isinstance(left.left, ast.BinOp):
                    deep = left.left
                    short = binary(deep.left, left.op, left.right)
                    extra = _dropped(deep.op, deep.right)
                    yield "drop operand", binary(short, op, right), extra - 0.2
            if isinstance(right, ast.BinOp):
                tail = binary(left, op, right.right)
                yield "drop operand", tail, _dropped(op, right.left) - 0.3
        case ast.BoolOp(op=bool_op, values=values):
            for at in range(len(values)):
                rest = [*values[:at], *values[at + 1 :]]
                kept = rest[0] if len(rest) == 1 else ast.BoolOp(op=bool_op, values=rest)
                yield "drop condition", kept, 0.0
        case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) > 1:
            yield "drop condition", ast.Compare(left, ops[:-1], comparators[:-1]), 0.0
            yield "drop condition", ast.Compare(comparators[0], ops[1:], comparators[1:]), 0.0
        case ast.Call(func=func, args=args, keywords=keywords):
            if len(args) == 1 and not isinstance(args[0], ast.Starred):
                yield "drop call", args[0], 0.0
            if isinstance(func, ast.Attribute) and not _is_module(func.value, facts):
                extra = 0.7 if func.attr in ("sort", "reverse", "append", "extend") else 0.0
                yield "drop method", func.value, extra
            optional = isinstance(func, ast.Attribute) and func.attr in _OPTIONAL
            if len(args) == 1 and optional:
                yield "drop argument", ast.Call(func, [], keywords), 0.5
            if len(args) > 1:
                for at in range(len(args)):
                    less = [*args[:at], *args[at + 1 :]]
                    yield "drop argument", ast.Call(func, less, keywords), 0.0
                if not isinstance(func, ast.Attribute):
                    yield "hoist argument", args[0], 0.0
                    yield "hoist argument", args[1], -0.3
            for at in range(len(keywords)):
                less_keywords = [*keywords[:at], *keywords[at + 1 :]]
                yield "drop argument", ast.Call(func, args, less_keywords), 0.0
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            yield "drop subscript", value, 0.0
            if not isinstance(index, ast.Slice | ast.Tuple):
                yield "hoist index", index, 0.0
                for name in ("sum", "len", "max", "min"):
                    if may_be(value, facts, "list", "iter", "tuple", "set"):
                        yield "subscript to call", call(name, value), 0.0
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "drop not", operand, 0.0
        case ast.IfExp(body=body, orelse=orelse):
            yield "drop branch", body, 0.0
            yield "drop branch", orelse, 0.0
        case (
            ast.ListComp(elt=elt, generators=generators)
            | ast.GeneratorExp(elt=elt, generators=generators)
        ) if len(generators) == 1:
            if len(generators[0].ifs) > 1:
                bare = copy_of(generators[0])
                bare.ifs = bare.ifs[:1]
                yield "drop condition", type(node)(elt=elt, generators=[bare]), 0.0
            yield "drop comprehension", generators[0].iter, 0.0
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts) if 1 < len(elts) < 16:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                return
            for at in range(len(elts)):
                less = [*elts[:at], *elts[at + 1 :]]
                if isinstance(node, ast.Set):
                    yield "drop element", ast.Set(elts=less), 0.0
                elif isinstance(node, ast.Tuple):
                    yield "drop element", ast.Tuple(elts=less, ctx=ast.Load()), 0.0
                else:
                    yield "drop element", ast.List(elts=less, ctx=ast.Load()), 0.0


def _dropped(op: ast.operator, part: ast.expr) -> float:
    """Surplus logic is small: `+ 1` is added by mistake more often than `+ f(x[i])`."""
    if isinstance(part, ast.Constant):
        return 0.7 if isinstance(op, ast.Add | ast.Sub) else 0.2
    return 0.2 - 0.12 * sum(1 for n in ast.walk(part) if isinstance(n, ast.expr))


def _is_module(node: ast.expr, facts: Facts) -> bool:
    return isinstance(node, ast.Name) and any(
        isinstance(stmt, ast.Import)
        and any((a.asname or a.name).split(".")[0] == node.id for a in stmt.names)
        for stmt in facts.tree.body
    )
