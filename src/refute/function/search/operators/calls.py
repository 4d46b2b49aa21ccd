"""Operators on calls: another function or method, other arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.facts import Facts, may_be
from refute.function.search.operators.build import Variant, binary, call, const, load, number
from refute.function.search.sites import Site

__all__ = ["arguments", "callees"]

_FUNCTION_GROUPS = """
    min/max min/sum max/sum sum/len any/all sorted/reversed sorted/set sorted/list
    list/set list/tuple int/float int/round int/str int/len abs/int abs/len ord/int
    chr/str bin/hex bin/oct bin/str set/tuple round/float zip/enumerate range/len
    map/filter ceil/floor floor/round len/max hex/oct enumerate/range sum/any sum/all
    permutations/combinations combinations/combinations_with_replacement zip/zip_longest
    list/sorted bisect_left/bisect_right gcd/lcm str/repr heappop/heappush
"""
_METHOD_GROUPS = """
    append/extend append/add append/remove add/remove add/discard add/update upper/lower
    isupper/islower startswith/endswith lstrip/rstrip strip/lstrip strip/rstrip
    find/rfind index/rindex find/index find/count index/count keys/values items/values
    items/keys isalpha/isdigit isalnum/isalpha isalnum/isdigit isdigit/isnumeric
    isdigit/isdecimal isalpha/isspace isalpha/islower isalpha/isupper union/intersection
    intersection/difference union/difference symmetric_difference/difference
    issubset/issuperset split/splitlines split/rsplit upper/capitalize upper/title
    lower/title title/capitalize swapcase/upper swapcase/lower ljust/rjust pop/remove
    insert/append floor/ceil floor/trunc sqrt/pow search/match match/fullmatch
    search/fullmatch findall/finditer search/findall popleft/pop appendleft/append
    sin/cos cos/tan bisect_left/bisect_right gcd/lcm permutations/combinations
    combinations/combinations_with_replacement zip/zip_longest zfill/ljust
    product/combinations heappop/heappushpop nsmallest/nlargest partition/rpartition
    most_common/items update/add replace/strip log/log10 log/log2 sub/findall
    mean/median isprintable/isascii removeprefix/removesuffix islower/isalpha
"""


def _partners(groups: str) -> dict[str, list[str]]:
    """Name -> names it is mistaken for, from text of `a/b` pairs."""
    table: dict[str, list[str]] = {}
    for a, b in (pair.split("/") for pair in groups.split()):
        table.setdefault(a, []).append(b)
        table.setdefault(b, []).append(a)
    return {name: list(dict.fromkeys(others)) for name, others in table.items()}


_FUNCTIONS = _partners(_FUNCTION_GROUPS)
_METHODS = _partners(_METHOD_GROUPS)
_BUILTIN = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def callees(site: Site, facts: Facts) -> Iterator[Variant]:
    """Another function of the same family, another method of the same object."""
    node = site.node
    if isinstance(node, ast.Name) and site.field == "func":
        imported = _imported(facts)
        for place, name in enumerate(_FUNCTIONS.get(node.id, ())):
            if name in _BUILTIN or name in imported:
                yield "function", load(name), -0.25 * place
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for place, name in enumerate(_METHODS.get(node.attr, ())):
            other = ast.Attribute(value=node.value, attr=name, ctx=ast.Load())
            yield "method", other, -0.25 * place
        if isinstance(site.owner, ast.Call) and site.field == "func":
            return
        for text in ("real", "imag", "start", "stop"):
            if node.attr in ("real", "imag", "start", "stop") and text != node.attr:
                yield "method", ast.Attribute(value=node.value, attr=text, ctx=ast.Load()), 0.0


def _imported(facts: Facts) -> set[str]:
    return {
        alias.asname or alias.name
        for stmt in facts.tree.body
        if isinstance(stmt, ast.ImportFrom)
        for alias in stmt.names
    }


def _keys() -> list[tuple[ast.expr, float]]:
    """Sort keys that people write."""
    x = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg="x")], kwonlyargs=[], kw_defaults=[], defaults=[]
    )

    def key(body: ast.expr) -> ast.Lambda:
        return ast.Lambda(args=x, body=body)

    def item(at: int) -> ast.expr:
        return ast.Subscript(value=load("x"), slice=number(at), ctx=ast.Load())

    def length() -> ast.expr:
        return call("len", load("x"))

    return [
        (load("len"), 0.3),
        (load("abs"), 0.0),
        (load("sum"), 0.0),
        (load("int"), -0.3),
        (load("str"), -0.3),
        (key(item(1)), 0.5),
        (key(item(0)), 0.0),
        (key(item(-1)), 0.0),
        (key(ast.UnaryOp(op=ast.USub(), operand=load("x"))), -0.5),
        (key(ast.Tuple(elts=[length(), load("x")], ctx=ast.Load())), -0.3),
        (key(ast.Tuple(elts=[item(1), item(0)], ctx=ast.Load())), -0.5),
        (ast.Attribute(value=load("str"), attr="lower", ctx=ast.Load()), -0.3),
    ]


def arguments(site: Site, facts: Facts) -> Iterator[Variant]:
    """Arguments swapped, dropped (see `hoists`), or added where the function takes one."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    func, args, keywords = node.func, node.args, node.keywords
    name = getattr(func, "id", getattr(func, "attr", ""))
    for i in range(len(args)):
        for j in range(i + 1, len(args)):
            swapped = list(args)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield "swap arguments", ast.Call(func, swapped, keywords), 0.0
    if (
        isinstance(func, ast.Attribute)
        and len(args) == 1
        and not keywords
        and func.attr
        in (
            "difference",
            "startswith",
            "endswith",
            "count",
            "issubset",
            "join",
            "index",
        )
    ):
        other = ast.Attribute(value=args[0], attr=func.attr, ctx=ast.Load())
        yield "swap arguments", ast.Call(other, [func.value], []), 0.0
    given = {keyword.arg for keyword in keywords}
    for at, keyword in enumerate(keywords):
        if keyword.arg == "reverse" and not isinstance(keyword.value, ast.Constant):
            inverse = ast.keyword("reverse", ast.UnaryOp(op=ast.Not(), operand=keyword.value))
            yield (
                "reverse",
                ast.Call(func, args, [*keywords[:at], inverse, *keywords[at + 1 :]]),
                0.0,
            )
    if name in ("sorted", "sort", "min", "max"):
        if name in ("sorted", "sort") and "reverse" not in given:
            more = [*keywords, ast.keyword("reverse", const(True))]
            yield "reverse", ast.Call(func, args, more), 0.0
        if "key" not in given and (len(args) == 1 or name == "sort"):
            for key, extra in _keys():
                if name in ("min", "max") and getattr(key, "id", "") == "len":
                    extra += 0.6
                yield "sort key", ast.Call(func, args, [*keywords, ast.keyword("key", key)]), extra
        if name in ("min", "max") and "default" not in given and len(args) == 1:
            for value in (0, None):
                more = [*keywords, ast.keyword("default", const(value))]
                yield "default", ast.Call(func, args, more), 0.0
    elif name == "range" and isinstance(func, ast.Name):
        yield from _ranges(node)
    elif name == "enumerate" and len(args) == 1 and not keywords:
        yield "start", ast.Call(func, [*args, const(1)], []), 0.0
    elif name == "split" and isinstance(func, ast.Attribute):
        if not args:
            for text in (" ", ",", "-", ", "):
                yield "separator", ast.Call(func, [const(text)], []), 0.0
    elif name == "int" and len(args) == 1:
        yield "base", ast.Call(func, [*args, const(2)], []), 0.0
    elif name == "round" and len(args) == 1:
        for digits in (1, 2, 3):
            yield "digits", ast.Call(func, [*args, const(digits)], []), 0.0
    elif name == "replace" and len(args) == 2:
        yield "base", ast.Call(func, [*args, const(1)], []), -0.5
    elif name == "zip" and len(args) == 2 and may_be(args[1], facts, "list", "str"):
        cut = ast.Slice(lower=const(1), upper=None, step=None)
        tail = ast.Subscript(value=args[1], slice=cut, ctx=ast.Load())
        yield "slice", ast.Call(func, [args[0], tail], []), 0.0
    if name in ("strip", "lstrip", "rstrip") and isinstance(func, ast.Attribute):
        everywhere = ast.Attribute(value=func.value, attr="replace", ctx=ast.Load())
        gone = args[0] if args else const(" ")
        yield "strip to replace", ast.Call(everywhere, [gone, const("")], []), 0.0
    if name == "pop" and not args:
        yield "base", ast.Call(func, [const(0)], []), 0.0
    if isinstance(func, ast.Name) and func.id in facts.functions:
        for place, variable in enumerate(site.context.names[:6]):
            for at in range(len(args)):
                more_args = [*args[:at], load(variable), *args[at + 1 :]]
                if getattr(args[at], "id", None) != variable:
                    yield "call argument", ast.Call(func, more_args, keywords), -0.1 * place


def _ranges(node: ast.Call) -> Iterator[Variant]:
    func, args = node.func, node.args
    if len(args) == 1:
        for start, extra in ((1, 0.3), (2, 0.0)):
            yield "range start", ast.Call(func, [const(start), args[0]], []), extra
        shifted = binary(args[0], ast.Add(), const(1))
        yield "range start", ast.Call(func, [const(1), shifted], []), 0.2
        backward = [binary(args[0], ast.Sub(), const(1)), number(-1), number(-1)]
        yield "range step", ast.Call(func, backward, []), -0.3
        yield "range step", ast.Call(func, [const(0), args[0], const(2)], []), 0.0
    elif len(args) == 2:
        for step, extra in ((2, 0.3), (-1, 0.0), (3, -1.0)):
            yield "range step", ast.Call(func, [*args, number(step)], []), extra
        up = [binary(a, ast.Add(), const(1)) for a in args]
        yield "range shift", ast.Call(func, list(up), []), 0.0
        yield "range start", ast.Call(func, [args[1]], []), -0.7
    elif len(args) == 3:
        yield "range step", ast.Call(func, args[:2], []), 0.0
