"""Rules for what is read and never bound, as its assignment is missing; and for what is there and
of no use: a parameter that is never read, a private function that nothing calls."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from refute.function.search.edit import Change, copy_of, same
from refute.function.search.facts import CodeFacts
from refute.function.search.fuel import FUEL, is_mark
from refute.function.search.rules.borrowing import fitted, known_names, renamed
from refute.function.search.rules.rule import (
    Draft,
    Variant,
    binary,
    call,
    const,
    draws,
    load,
    method,
    number,
    rule,
    store,
)  # fmt: skip
from refute.function.search.rules.statements import is_docstring
from refute.function.search.sites import Scope, Site

__all__ = ["bindings", "uses"]

rule("bind", "return n + 1", "n = len(items)\nreturn n + 1",
    "for x in items:\n    n += x\nreturn n", "n = 0\nfor x in items:\n    n += x\nreturn n",
    "return [x for x in items if x == n]",
    "n = max(items.values())\nreturn [x for x in items if x == n]")  # fmt: skip

rule("bind as elsewhere", "low = a.low\nreturn low + high",
    "low = a.low\nhigh = a.high\nreturn low + high")  # fmt: skip

NEAR = 8
"""Variables, at most, that it is made of."""
SURE = 2.0
"""Log weight for that nothing but a binding, or another name, can make such code run."""
_BUILTINS = frozenset(dir(builtins))
_TAKERS = (
    "len", "list", "set", "sorted", "iter", "max", "min", "sum", "str", "int", "dict", "tuple",
    "next", "abs", "float",
)  # fmt: skip
_OF_PARTS = ("max", "min", "sum", "len", "list", "set", "sorted", "iter", "next")
_METHODS = ("values", "keys", "items", "split", "strip", "lower", "upper", "copy")
_OPERATORS = (ast.Sub(), ast.Add(), ast.Mult(), ast.FloorDiv(), ast.Mod(), ast.Div())


def bindings(
    owner: ast.AST, field: str, body: list[ast.stmt], context: Scope, facts: CodeFacts
) -> Iterator[Draft]:
    """`name = …` before the first statement of a list that holds all that reads the name.

    It is made of what is near, or as another variable is, here or in functions like this one: with
    the one name in the place of the other, also as attribute and text (`low = a.low`).
    """
    function = context.function
    if function is None or "*" in facts.around.known:
        return
    missing = _unbound(function, {*context.names, *facts.around.known})
    if not missing:
        return
    mentions = [{n.id for n in ast.walk(s) if isinstance(n, ast.Name)} for s in body]
    for name, count in missing.items():
        at = next((i for i, names in enumerate(mentions) if name in names), None)
        if at is None or _count(body, name) < count or is_mark(body[at]) or is_docstring(body[at]):
            continue
        near = [other for other in context.names if other != name and other not in missing]
        made = [("bind as elsewhere", one, 0.0) for one in _as_elsewhere(name, context, facts)]
        made += [
            ("bind", ast.Assign([store(name)], value), extra)
            for value, extra in _values(near[:NEAR], facts)
        ]
        for kind, stmt, extra in made:
            items = [*body[:at], stmt, *body[at:]]
            yield kind, (Change(owner, field, None, items),), SURE + extra, (body[at],)


def _as_elsewhere(name: str, context: Scope, facts: CodeFacts) -> Iterator[ast.stmt]:
    """Statements that bind it as functions like this one do, or as another variable is bound."""
    function = context.function
    assert function is not None
    known = known_names(context, facts)
    own = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
    seen: list[ast.stmt] = []
    for stmt in (*own, *facts.around.statements):
        match stmt:
            case ast.Assign(targets=[ast.Name(id=other)]):
                made = stmt if other == name else renamed(stmt, other, name)
            case _:
                continue
        for one, _ in fitted(made, context, known, {name}) if made is not None else ():
            if not any(same(one, earlier) for earlier in seen):
                seen.append(one)
                yield one


def _unbound(function: ast.AST, known: set[str]) -> dict[str, int]:
    """The names that the function mentions and nothing binds, with how often it mentions them.

    What is only added to is not bound by that, nor by what has its name outside.
    """
    added = {
        id(node.target): node.target.id
        for node in ast.walk(function)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    bound = (known - set(added.values())) | _BUILTINS | {FUEL}
    read: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add((other or name).partition(".")[0])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update(names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Name(id=name):
                read[name] = read.get(name, 0) + 1
                if not isinstance(node.ctx, ast.Load) and id(node) not in added:
                    bound.add(name)
    return {name: count for name, count in read.items() if name not in bound}


def _count(body: Sequence[ast.stmt], name: str) -> int:
    nodes = (node for stmt in body for node in ast.walk(stmt))
    return sum(isinstance(node, ast.Name) and node.id == name for node in nodes)


def _values(near: Sequence[str], facts: CodeFacts) -> Iterator[tuple[ast.expr, float]]:
    """Yield what it may be: plain values first, then one and two steps from a variable."""
    for constant in (0, 1, "", None, True, False):
        yield const(constant), 0.0
    yield ast.List([], ast.Load()), 0.0
    yield ast.Dict([], []), 0.0
    yield call("set"), 0.0
    known = [one for _, one in facts.around.arguments]
    for expression in known:
        names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
        if names <= {*near, *facts.around.known, *_BUILTINS}:
            yield copy_of(expression), 0.0
    takers = {ast.dump(one): one for one in (*map(load, _TAKERS), *facts.around.takers)}
    methods = dict.fromkeys((*_METHODS, *facts.around.methods))
    for place, name in enumerate(near):
        less = -0.1 * place
        for at in (0, -1):
            item = ast.Subscript(load(name), number(at), ast.Load())
            yield item, less
        for taker in takers.values():
            yield ast.Call(copy_of(taker), [load(name)], []), less
        for of in methods:
            yield method(load(name), of), less
            for taker_name in _OF_PARTS:
                yield call(taker_name, method(load(name), of)), less - 0.5
        for inner in near:
            if inner != name:
                yield ast.Subscript(load(name), load(inner), ast.Load()), less - 0.3
        for other in (*map(load, near), const(1)):
            for op in _OPERATORS:
                if getattr(other, "id", "") != name:
                    yield binary(load(name), op, other), less - 0.3


rule("wrap unread", "return b", "return a(b)")
rule("or unread", "return items", "return a or items")
rule("use unread", "items.sort()\nreturn items", "items[a] = b\nitems.sort()\nreturn items",
    "items.sort()\nreturn items", "a(items)\nitems.sort()\nreturn items",
    "items.sort()\nreturn items", "items.sort()\nitems = a(items, b)\nreturn items",
    "items.sort()\nreturn items", "a()\nitems.sort()\nreturn items")  # fmt: skip

GIVEN = 5
"""Variables, at most, that are given to what is called, or changed."""


@draws(ast.expr)
def around(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`f(e)` with a function that nothing calls; `p or e`, `e or p` with an unread parameter."""
    names, functions = _unread(site.context, facts)
    plain = not isinstance(site.node, ast.Starred | ast.Slice | ast.Lambda)
    if site.field == "func" or isinstance(site.owner, ast.Expr | ast.Attribute) or not plain:
        return
    for name in (*names, *functions):
        if not isinstance(site.node, ast.Constant):
            yield "wrap unread", call(name, site.node), 0.0
    for name in names:
        for pair in ((load(name), site.node), (site.node, load(name))):
            yield "or unread", ast.BoolOp(op=ast.Or(), values=[*pair]), 0.0


def uses(
    owner: ast.AST, field: str, body: list[ast.stmt], context: Scope, facts: CodeFacts
) -> Iterator[Draft]:
    """A statement that uses it, put between the statements of a list."""
    names, functions = _unread(context, facts)
    if not names and not functions:
        return
    near = [name for name in context.names if name not in names][:GIVEN]
    made = [*_calls([*names, *functions], [*near, *names]), *_stores(names, near)]
    gaps = [at for at, stmt in enumerate(body) if not is_mark(stmt) and not is_docstring(stmt)]
    if not isinstance(body[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
        gaps.append(len(body))
    for at in gaps:
        beside = body[min(at, len(body) - 1)]
        for stmt in made:
            items = [*body[:at], stmt, *body[at:]]
            yield "use unread", (Change(owner, field, None, items),), 0.0, (beside,)


def _unread(context: Scope, facts: CodeFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if context.function is None:
        return (), ()
    own = context.function.name
    functions = tuple(name for name in facts.around.unused if name != own)
    return facts.unread.get(id(context.function), ()), functions


def _calls(callees: list[str], given: list[str]) -> Iterator[ast.stmt]:
    for name in callees:
        yield ast.Expr(call(name))
        for first in given:
            if first == name:
                continue
            yield ast.Expr(call(name, load(first)))
            yield ast.Assign([store(first)], call(name, load(first)))
            for second in given:
                if second not in (first, name):
                    yield ast.Assign([store(first)], call(name, load(first), load(second)))


def _stores(names: tuple[str, ...], near: list[str]) -> Iterator[ast.stmt]:
    for whole in near:
        for one in names:
            yield ast.Expr(method(load(whole), "append", load(one)))
            yield ast.Expr(method(load(whole), "update", load(one)))
            for other in (*names, *near):
                if other not in (one, whole):
                    item = ast.Subscript(load(whole), load(one), ast.Store())
                    yield ast.Assign([item], load(other))
