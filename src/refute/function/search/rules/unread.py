"""Rules for what is there and of no use: a parameter that is never read, a private function of the
module that nothing calls. What used it is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import Change
from refute.function.search.facts import CodeFacts
from refute.function.search.fuel import is_mark
from refute.function.search.rules.insertions import is_docstring
from refute.function.search.rules.rule import Draft, Variant, call, draws, load, method, rule, store
from refute.function.search.sites import Scope, Site

__all__ = ["uses"]

rule("wrap unread", 0.4, "return b", "return a(b)")
rule("or unread", 0.4, "return items", "return a or items")
rule("use unread", 0.4, "items.sort()\nreturn items", "items[a] = b\nitems.sort()\nreturn items",
    "items.sort()\nreturn items", "a(items)\nitems.sort()\nreturn items",
    "items.sort()\nreturn items", "items.sort()\nitems = a(items, b)\nreturn items",
    "items.sort()\nreturn items", "a()\nitems.sort()\nreturn items")  # fmt: skip

NEAR = 5
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
    near = [name for name in context.names if name not in names][:NEAR]
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
