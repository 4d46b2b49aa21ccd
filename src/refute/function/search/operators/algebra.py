"""Other operators: comparison, arithmetic, boolean; operands and elements the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.facts import Facts, type_of
from refute.function.search.operators.build import (
    Variant,
    binary,
    compare,
    const,
)
from refute.function.search.sites import Site

__all__ = ["ARITHMETIC", "operators"]

_COMPARE: dict[type[ast.cmpop], tuple[tuple[type[ast.cmpop], float], ...]] = {
    ast.Lt: ((ast.LtE, 0.0), (ast.Gt, -0.3), (ast.GtE, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.LtE: ((ast.Lt, 0.0), (ast.GtE, -0.3), (ast.Gt, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.Gt: ((ast.GtE, 0.0), (ast.Lt, -0.3), (ast.LtE, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.GtE: ((ast.Gt, 0.0), (ast.LtE, -0.3), (ast.Lt, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.Eq: ((ast.NotEq, 0.0), (ast.LtE, -1), (ast.GtE, -1), (ast.Lt, -1), (ast.Gt, -1)),
    ast.NotEq: ((ast.Eq, 0.0), (ast.Lt, -1), (ast.Gt, -1), (ast.LtE, -1.3), (ast.GtE, -1.3)),
    ast.In: ((ast.NotIn, 0.0), (ast.Eq, -1.5)),
    ast.NotIn: ((ast.In, 0.0), (ast.NotEq, -1.5)),
    ast.Is: ((ast.IsNot, 0.0), (ast.Eq, -0.5)),
    ast.IsNot: ((ast.Is, 0.0), (ast.NotEq, -0.5)),
}
ARITHMETIC: dict[type[ast.operator], tuple[tuple[type[ast.operator], float], ...]] = {
    ast.Add: ((ast.Sub, 0.0), (ast.Mult, -0.5), (ast.Mod, -2), (ast.FloorDiv, -2.3)),
    ast.Sub: (
        (ast.Add, 0.0), (ast.Mod, -1.2), (ast.Mult, -1.2), (ast.FloorDiv, -1.5), (ast.Div, -2),
    ),
    ast.Mult: (
        (ast.Add, -0.4), (ast.Pow, -0.4), (ast.Div, -0.4), (ast.FloorDiv, -0.8), (ast.Sub, -1),
        (ast.Mod, -1.5),
    ),
    ast.Div: ((ast.FloorDiv, 0.0), (ast.Mult, -0.5), (ast.Mod, -0.7), (ast.Sub, -1.5)),
    ast.FloorDiv: ((ast.Div, 0.0), (ast.Mod, 0.0), (ast.Mult, -1), (ast.Sub, -1.5)),
    ast.Mod: (
        (ast.FloorDiv, -1.0), (ast.Div, -1.0), (ast.Mult, -1.2), (ast.Sub, -1.2), (ast.Add, -2),
    ),
    ast.Pow: ((ast.Mult, 0.0), (ast.Add, -1.5)),
    ast.BitAnd: ((ast.BitOr, 0.0), (ast.BitXor, -0.3)),
    ast.BitOr: ((ast.BitAnd, 0.0), (ast.BitXor, -0.3)),
    ast.BitXor: ((ast.BitAnd, 0.0), (ast.BitOr, 0.0)),
    ast.LShift: ((ast.RShift, 0.0),),
    ast.RShift: ((ast.LShift, 0.0),),
}  # fmt: skip
_RISING = (ast.Lt, ast.LtE)
_SYMMETRIC = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def _compare(node: ast.Compare, at: int, op: ast.cmpop) -> ast.Compare:
    ops = [*node.ops[:at], op, *node.ops[at + 1 :]]
    return ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def operators(site: Site, facts: Facts) -> Iterator[Variant]:
    """Another comparison, arithmetic or boolean operator; operands the other way round."""
    node = site.node
    match node:
        case ast.Compare():
            for at, op in enumerate(node.ops):
                for other, extra in _COMPARE[type(op)]:
                    turned = len(node.ops) > 1 and (type(op) in _RISING) != (other in _RISING)
                    # `a < b > c` is hardly ever meant.
                    yield "compare", _compare(node, at, other()), extra - 2.0 * turned
            if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                right = node.comparators[0]
                if isinstance(right, ast.Constant):
                    members = ast.Tuple(elts=[right], ctx=ast.Load())
                    for value in facts.told_integers if type(right.value) is int else ():
                        if value != right.value:
                            pair = ast.Tuple(elts=[right, const(value)], ctx=ast.Load())
                            op = ast.In() if isinstance(node.ops[0], ast.Eq) else ast.NotIn()
                            yield (
                                "compare set",
                                compare(node.left, op, pair),
                                0.0,
                            )
                    del members
            if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
                swapped = ast.Compare(
                    left=node.comparators[0], ops=node.ops, comparators=[node.left]
                )
                yield "swap operands", swapped, 0.0
        case ast.BinOp(left=left, op=op, right=right):
            # One operator of `a + b + c` is seldom meant to be another.
            near = (left, right, site.owner)
            chain = any(isinstance(x, ast.BinOp) and type(x.op) is type(op) for x in near)
            odd = -0.5 if chain else 0.0
            for other_op, extra in ARITHMETIC.get(type(op), ()):
                yield "arithmetic", binary(left, other_op(), right), extra + odd
            plain = isinstance(op, ast.Add) and type_of(node, facts) in ("int", "float", "num")
            if not isinstance(op, _SYMMETRIC) and not plain:
                extra = -0.7 if isinstance(op, ast.Add) else 0.0
                yield "swap operands", binary(right, op, left), extra
            yield from _rotations(node)
        case ast.BoolOp(op=op, values=values):
            new_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "boolean", ast.BoolOp(op=new_op, values=values), 0.0
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "drop minus", operand, 0.0
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "swap branches", ast.IfExp(test=test, body=orelse, orelse=body), -0.5
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if 1 < len(elts) <= 6:
            for i in range(len(elts)):
                for j in range(i + 1, len(elts)):
                    new = list(elts)
                    new[i], new[j] = new[j], new[i]
                    fresh: ast.expr = (
                        ast.Tuple(elts=new, ctx=node.ctx)
                        if isinstance(node, ast.Tuple)
                        else ast.List(elts=new, ctx=node.ctx)
                    )
                    yield "swap elements", fresh, 0.0


def _rotations(node: ast.BinOp) -> Iterator[Variant]:
    """`(a + b) * c` and `a + (b * c)`: the missing or surplus parentheses of a chain."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp):
        inner = binary(left.right, node.op, right)
        yield "parentheses", binary(left.left, left.op, inner), 0.0
    if isinstance(right, ast.BinOp):
        inner = binary(left, node.op, right.left)
        yield "parentheses", binary(inner, right.op, right.right), 0.0
