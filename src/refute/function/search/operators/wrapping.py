"""A call or a slice around an expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.facts import Facts, may_be, type_of
from refute.function.search.operators.build import (
    Variant,
    call,
    const,
    load,
    method,
    negated,
    number,
)
from refute.function.search.sites import Site

__all__ = ["slices", "wraps"]

_WRAPS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    # function, types it makes sense on, addition
    ("abs", ("int", "float", "num"), 0.8),
    ("len", ("str", "list", "set", "dict", "tuple"), 0.4),
    ("set", ("str", "list", "tuple", "iter"), 0.6),
    ("sorted", ("list", "set", "tuple", "str", "iter"), 0.4),
    ("list", ("set", "tuple", "iter", "str", "dict"), 0.0),
    ("str", ("int", "float", "num", "list"), 0.2),
    ("int", ("str", "float", "num", "bool"), 0.4),
    ("sum", ("list", "tuple", "set", "iter"), 0.0),
    ("max", ("list", "tuple", "set", "iter"), -0.3),
    ("min", ("list", "tuple", "set", "iter"), -0.3),
    ("tuple", ("list", "set", "iter"), 0.0),
    ("bool", ("int", "list", "str"), -1.0),
    ("float", ("int", "str"), -0.5),
    ("round", ("float", "num"), -0.3),
    ("any", ("list", "iter"), -0.6),
    ("all", ("list", "iter"), -0.6),
    ("ord", ("str",), -0.6),
    ("chr", ("int", "num"), -0.6),
    ("bin", ("int", "num"), -0.6),
    ("range", ("int",), -0.6),
    ("enumerate", ("list", "str", "iter"), -1.0),
)
_METHOD_WRAPS = (("lower", 0.4), ("upper", 0.0), ("strip", 0.0), ("split", -0.4), ("encode", -0.5),
                 ("isdigit", -1.0), ("isalpha", -1.0), ("swapcase", -0.6))  # fmt: skip


def wraps(site: Site, facts: Facts) -> Iterator[Variant]:
    """A call around an expression, around both sides of a comparison; a function applied twice."""
    node = site.node
    if isinstance(node, ast.Starred | ast.Slice | ast.Lambda):
        return
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) or site.field == "func":
        return
    if isinstance(site.owner, ast.Expr):
        return
    outer = site.owner if isinstance(site.owner, ast.Call) else None
    around = getattr(outer.func, "id", "") if outer is not None else ""
    if not isinstance(node, ast.Constant):
        for name, kinds, extra in _WRAPS:
            if name == around and name != "sorted":
                continue
            if may_be(node, facts, *kinds):
                known = 0.4 if type_of(node, facts) != "?" else 0.0
                if name == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                    known = 1.4  # a distance
                yield "wrap", call(name, node), extra + known
        if may_be(node, facts, "str"):
            for name, extra in _METHOD_WRAPS:
                known = 0.5 if type_of(node, facts) == "str" else -0.5
                yield "wrap method", method(node, name), extra + known
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            pass  # another comparison operator says the same
        elif site.is_test or type_of(node, facts) == "bool":
            yield "negate", negated(node), 0.0
        elif isinstance(site.owner, ast.Return):
            yield "negate", negated(node), -1.5
        for name in facts.functions:
            if isinstance(node, ast.Name | ast.Call) and name != around:
                yield "wrap own", call(name, node), 0.0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        twice = ast.Call(func=node.func, args=[node], keywords=[])
        yield "apply twice", twice, 0.0
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        for name in ("set", "sorted", "abs", "len", "str", "int"):
            if isinstance(right, ast.Constant) or isinstance(left, ast.Constant):
                continue
            both = ast.Compare(left=call(name, left), ops=node.ops, comparators=[call(name, right)])
            yield "wrap both", both, 0.0
        if may_be(left, facts, "str") and may_be(right, facts, "str"):
            low = ast.Compare(
                left=method(left, "lower"), ops=node.ops, comparators=[method(right, "lower")]
            )
            yield "wrap both", low, 0.0


def slices(site: Site, facts: Facts) -> Iterator[Variant]:
    """A slice taken of a sequence, or a slice's bounds changed."""
    node = site.node
    if isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper, node.step)
        lower, upper, step = bounds
        if lower is not None:
            yield "slice bound", ast.Slice(None, upper, step), 0.0
        else:
            yield "slice bound", ast.Slice(const(1), upper, step), 0.0
        if upper is not None:
            yield "slice bound", ast.Slice(lower, None, step), 0.0
        else:
            yield "slice bound", ast.Slice(lower, number(-1), step), 0.0
        if lower is not None and upper is None:
            yield "slice bound", ast.Slice(None, lower, step), 0.0
        if upper is not None and lower is None:
            yield "slice bound", ast.Slice(upper, None, step), 0.0
        if step is not None:
            yield "slice bound", ast.Slice(lower, upper, None), 0.0
        else:
            yield "slice bound", ast.Slice(lower, upper, number(-1)), -0.5
            yield "slice bound", ast.Slice(lower, upper, number(2)), -0.5
        return
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if isinstance(node, ast.Constant | ast.Starred | ast.GeneratorExp) or site.field == "func":
        return
    if not may_be(node, facts, "list", "str", "tuple") or site.is_test:
        return
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return
    if isinstance(site.owner, ast.Subscript) and site.field == "value":
        return

    def part(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> ast.expr:
        cut = ast.Slice(lower=lower, upper=upper, step=step)
        return ast.Subscript(value=node, slice=cut, ctx=ast.Load())

    known = 0.4 if type_of(node, facts) != "?" else 0.0
    yield "slice", part(const(1), None, None), known
    yield "slice", part(None, number(-1), None), known
    yield "slice", part(None, None, number(-1)), known + 0.3
    yield "slice", part(const(1), number(-1), None), known - 1.0
    yield "slice", part(const(2), None, None), known - 0.7
    for place, name in enumerate(site.context.names[:8]):
        if name == getattr(node, "id", None):
            continue
        if facts.types.get(name, "?") in ("?", "int", "num"):
            unused = 1.5 if facts.idle(name) else 0.0
            extra = known + unused - 0.1 * place
            yield "slice name", part(None, load(name), None), extra
            yield "slice name", part(load(name), None, None), extra - 0.4
            if not isinstance(node, ast.Subscript):
                item = ast.Subscript(value=node, slice=load(name), ctx=ast.Load())
                yield "subscript name", item, extra
    for value in (0, -1):
        item = ast.Subscript(value=node, slice=number(value), ctx=ast.Load())
        yield "subscript constant", item, known
