"""Edits borrowed from elsewhere in the module: a call, argument, condition or statement."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache

from refute.function.search.edit import Change, copy_of
from refute.function.search.facts import STATEMENTS, CodeFacts
from refute.function.search.fuel import FUEL, is_mark
from refute.function.search.rules.rule import (
    Draft,
    Variant,
    const,
    draws,
    load,
    method,
    number,
    rule,
)  # fmt: skip
from refute.function.search.rules.statements import is_docstring
from refute.function.search.sites import Scope, Site

__all__ = ["MOST", "borrowed_statements"]

NEAREST = 6
"""Variables of the scope that are tried as a new argument."""
MOST = 2_000
"""Statements put into one list in all: a long one gets those of the likest functions alone."""
RENAMED = 4
"""Variables that are tried in the place of a name that a borrowed statement brings along."""
_BUILTIN = frozenset(dir(builtins))


rule("wrap borrowed", "return a", "return g(a)")
rule("add argument", "return f(a, b)", "return f(a, b, items)")
rule("borrow argument", "g(a.b)\nreturn g(a)", "g(a.b)\nreturn g(a.b)")
rule("borrow condition", "if a:\n    return b", "if g(a) and a:\n    return b")
rule("borrow statement", "return b", "a.close()\nreturn b")


@draws(ast.expr)
def borrowed_calls(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`f(e)`, `e.m()` with a function or method that the code around uses so."""
    node = site.node
    if isinstance(node, ast.Starred | ast.Slice | ast.Lambda | ast.Constant):
        return
    if site.field == "func" or isinstance(site.owner, ast.Expr | ast.Attribute):
        return
    around = ast.dump(site.owner.func) if isinstance(site.owner, ast.Call) else ""
    for place, taker in enumerate(facts.around.takers):
        if ast.dump(taker) != around:
            yield "wrap borrowed", ast.Call(taker, [node], []), -0.05 * place
    for place, name in enumerate(facts.around.methods):
        yield "wrap borrowed", method(node, name), -0.5 - 0.05 * place


@draws(ast.Call)
def added_arguments(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """One more argument: a variable of the scope, by place or by its own name, or a constant."""
    node = site.node
    assert isinstance(node, ast.Call)
    func, args, keywords = node.func, node.args, node.keywords
    name = getattr(func, "id", getattr(func, "attr", ""))
    here = {n.id for n in (*args, *(k.value for k in keywords)) if isinstance(n, ast.Name)}
    given = {keyword.arg for keyword in keywords}
    unread = set(facts.unread.get(id(site.context.function), ()))
    short = _lacks(name, node, facts)
    others = [n for n in site.context.names if n not in here]
    others.sort(key=lambda n: n not in unread)
    for place, variable in enumerate(others[:NEAREST]):
        unused = 1.0 if facts.idle(variable) else 0.0
        extra = unused + short - 0.1 * place
        if not any(isinstance(a, ast.Starred) for a in args):
            yield "add argument", ast.Call(func, [*args, load(variable)], keywords), extra
        if args:
            yield "add argument", ast.Call(func, [load(variable), *args], keywords), extra - 0.7
        if variable not in given:
            more = [*keywords, ast.keyword(variable, load(variable))]
            yield "add argument", ast.Call(func, args, more), extra
    for keyword in facts.around.keywords.get(name, ()):
        if keyword.arg not in given:
            yield "add argument", ast.Call(func, args, [*keywords, keyword]), 0.5
    if name == "get" and len(args) == 1:
        yield "add argument", ast.Call(func, [*args, args[0]], keywords), 0.0
    for takes, one in facts.around.arguments:
        mentioned = _mentioned(one)
        if (takes == name or mentioned & unread) and mentioned <= _known_names(site.context, facts):
            extra = short + (1.0 if mentioned & unread else 0.0)
            yield "add argument", ast.Call(func, [*args, one], keywords), extra
    for value in facts.integers[:4]:
        yield "add argument", ast.Call(func, [*args, number(value)], keywords), short - 0.7
    for text in (None, *facts.strings[:4]):
        yield "add argument", ast.Call(func, [*args, const(text)], keywords), short - 0.7
    if name in ("isinstance", "issubclass") and len(args) == 1:
        for kind in facts.around.kinds:
            yield "add argument", ast.Call(func, [*args, kind], keywords), short


rule("pass on", "return g(a, b=b)", "return g(a, b=b, items=items)",
    "def h(*x, **y):\n    return g()\nreturn h",
    "def h(*x, **y):\n    return g(**y)\nreturn h")  # fmt: skip


@draws(ast.Call)
def passed_on(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`f(x, p=p)` where other parameters are passed on so; unread `*args`, `**options`."""
    node, function = site.node, site.context.function
    assert isinstance(node, ast.Call)
    if function is None:
        return
    func, args, keywords = node.func, node.args, node.keywords
    spec = function.args
    given = {k.arg for k in keywords} | {a.id for a in args if isinstance(a, ast.Name)}
    if any(isinstance(k.value, ast.Name) and k.arg == k.value.id for k in keywords):
        for one in (*spec.args, *spec.kwonlyargs):
            if one.arg not in given:
                more = [*keywords, ast.keyword(one.arg, load(one.arg))]
                yield "pass on", ast.Call(func, args, more), 0.0
    rest, options = facts.unspread.get(id(function), (None, None))
    if rest is not None:
        starred = ast.Starred(load(rest), ast.Load())
        yield "pass on", ast.Call(func, [*args, starred], keywords), 0.5
    if options is not None:
        more = [*keywords, ast.keyword(None, load(options))]
        yield "pass on", ast.Call(func, args, more), 0.5


LACKING = 1.5
"""Log weight for that a call without another argument cannot succeed."""


def _lacks(name: str, node: ast.Call, facts: CodeFacts) -> float:
    """Return the log weight of another argument: more if the call has fewer than required."""
    own = isinstance(node.func, ast.Name)
    short = own and len(node.args) + len(node.keywords) < facts.around.required.get(name, 0)
    return LACKING if short and not any(isinstance(a, ast.Starred) for a in node.args) else 0.0


@draws(ast.Name)
def borrowed_arguments(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`f(e)` for `f(x)`, where the code around calls with an `e` of `x`."""
    node = site.node
    assert isinstance(node, ast.Name)
    if isinstance(site.owner, ast.Call) and site.field == "args":
        for _, one in facts.around.arguments:
            mentioned = _mentioned(one)
            if node.id in mentioned and mentioned <= _known_names(site.context, facts):
                yield "borrow argument", one, 0.0


@draws(ast.expr)
def borrowed_conditions(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`e and c`, `e or c` with a condition of the code around."""
    if not site.is_test or (site.field == "values" and isinstance(site.owner, ast.BoolOp)):
        return
    inside = {ast.dump(n) for n in ast.walk(site.node)}
    known = _known_names(site.context, facts)
    for condition in facts.around.conditions:
        if ast.dump(condition) not in inside and _mentioned(condition) <= known:
            for op in (ast.And(), ast.Or()):
                yield "borrow condition", ast.BoolOp(op=op, values=[condition, site.node]), 0.0


def borrowed_statements(
    owner: ast.AST, field: str, body: list[ast.stmt], context: Scope, facts: CodeFacts
) -> Iterator[Draft]:
    """A statement of the code around, put between the statements of a list.

    One name that means nothing here may be replaced by a variable that does.
    """
    function = context.function
    if function is None:
        return
    nodes = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    read = {n.id for n in nodes if isinstance(n.ctx, ast.Load)}
    known = _known_names(context, facts)
    fitting = [s for one in facts.around.statements for s in _fitted(one, context, known, read)]
    gaps = [at for at, s in enumerate(body) if not is_mark(s) and not is_docstring(s)]
    if not isinstance(body[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
        gaps.append(len(body))
    written = [(s, extra, ast.dump(s)) for s, extra in fitting[: MOST // max(1, len(gaps))]]
    for at in gaps:
        near = body[at] if at < len(body) else body[-1]
        beside = [ast.dump(s) for s in body[max(0, at - 1) : at + 1]]
        for stmt, extra, text in written:
            if text in beside:
                continue
            items = [*body[:at], stmt, *body[at:]]
            yield "borrow statement", (Change(owner, field, None, items),), extra, (near,)


def _fitted(
    stmt: ast.stmt, context: Scope, known: set[str], read: set[str]
) -> Iterator[tuple[ast.stmt, float]]:
    """The statement as it may stand here: as it is, or with one foreign name replaced."""
    names, bound = _borrowed_names(stmt)
    foreign = sorted(names - known - bound)
    if len(foreign) > 1:
        return
    if not foreign:
        if _useful(stmt, read):
            yield stmt, 0.0
        return
    local = [name for name in context.names if name not in names][:RENAMED]
    for place, name in enumerate(local):
        new = copy_of(stmt)
        for node in ast.walk(new):
            if isinstance(node, ast.Name) and node.id == foreign[0]:
                node.id = name
        if _useful(new, read):
            yield new, -0.5 - 0.1 * place


@lru_cache(maxsize=8 * STATEMENTS)
def _borrowed_names(stmt: ast.stmt) -> tuple[frozenset[str], frozenset[str]]:
    """The names in a statement of the vocabulary, which no edit changes; those its loops bind."""
    loops = [n.target for n in ast.walk(stmt) if isinstance(n, ast.For | ast.comprehension)]
    bound = frozenset(name for target in loops for name in _mentioned(target))
    return frozenset(_mentioned(stmt)), bound


def _useful(stmt: ast.stmt, read: set[str]) -> bool:
    """Return whether the function reads what the statement assigns."""
    if not isinstance(stmt, ast.Assign | ast.AugAssign):
        return True
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
    return any(_mentioned(target) & read for target in targets)


def _known_names(context: Scope, facts: CodeFacts) -> set[str]:
    """The names that mean something here."""
    own = set() if context.function is None else _mentioned(context.function)
    return own | set(context.names) | facts.around.known | _BUILTIN


def _mentioned(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {FUEL}
