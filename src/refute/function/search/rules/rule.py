"""Repair rules: each is a kind of edit, its prior, examples that test it, and what it makes.

A rule whose edit can be written down is a table of `PATTERN -> REPLACEMENT`, in Python with single
capitals for what may stand there: `X` an expression, `V.M` a method, `*A` and `**K` any arguments,
`B` where a statement stands one or more of them. What draws on the code around is a generator.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.function.search.edit import Change, same
from refute.function.search.facts import CodeFacts
from refute.function.search.sites import Scope, Site
from refute.source.syntax import parse_module

__all__ = [
    "RULES",
    "Draft",
    "Rule",
    "Variant",
    "binary",
    "call",
    "callee",
    "compare",
    "const",
    "draws",
    "few_variants",
    "load",
    "log_weight",
    "method",
    "negated",
    "number",
    "restated",
    "rewrites",
    "rewritten",
    "rule",
    "states",
    "store",
    "variants",
]  # fmt: skip

Variant = tuple[str, ast.expr, float]
"""Kind of the rule, new expression, addition to the log weight."""
Draft = tuple[str, tuple[Change, ...], float, tuple[ast.stmt, ...]]
"""Kind of the rule, changes, addition to the log weight, statements it happens in."""
Restated = tuple[str, list[ast.stmt], float]
"""Kind of the rule, what stands in the place of a statement, addition to the log weight."""

ALTERNATIVES = 0.5
"""A rule with n variants at one site gives each n ** -ALTERNATIVES of its weight."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of edit."""

    kind: str
    weight: float
    """Odds of an edit of this kind against one of another kind at its place: counted
    in the histories of public projects by `benchmarks/bug_fixes.py` (`weights.json`)."""
    examples: tuple[tuple[str, str], ...]
    """Faulty and right body of `def f(a, b, items)`: what the rule is for, and its test."""
    few: bool
    """True: it exchanges, turns round or moves what is there: the few variants at a place are the
    same whatever the code around holds."""
    ordered: bool
    """True: its rows already say which of the variants is likeliest."""


RULES: dict[str, Rule] = {}
_When = Callable[[Site, CodeFacts], bool]
_Extra = Callable[[Site, CodeFacts, ast.expr], float | None]
_Make = Callable[[Site, CodeFacts], Iterable[Variant]]
_EXPRESSIONS: list[tuple[tuple[type[ast.AST], ...], bool, _Make]] = []
_State = Callable[[ast.stmt, Scope, CodeFacts], Iterable[Restated]]
_STATEMENTS: list[tuple[tuple[type[ast.AST], ...], _State]] = []


def _always(site: Site, facts: CodeFacts) -> bool:
    return True


def _nothing(site: Site, facts: CodeFacts, new: ast.expr) -> float:
    return 0.0


WEIGHTS: dict[str, float] = {
    kind: row["weight"]
    for kind, row in json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))[
        "kinds"
    ].items()
}
UNCOUNTED = 0.2
"""Weight of a kind that nobody has counted yet."""


def rule(
    kind: str,
    *example: str,
    rows: str = "",
    when: _When = _always,
    extra: _Extra = _nothing,
    few: bool = False,
    ordered: bool = False,
) -> None:
    """Declare a kind of edit, with faulty and right bodies; see `rewrites` for `rows`.

    Without rows, a generator makes it (`draws`, `states`), or `rewritten`.
    """
    assert kind not in RULES, kind
    pairs = tuple(zip(example[::2], example[1::2], strict=True))
    RULES[kind] = Rule(kind, WEIGHTS.get(kind, UNCOUNTED), pairs, few, ordered)
    if rows:
        rewrites(kind, rows, when=when, extra=extra)


def log_weight(kind: str, alternatives: int) -> float:
    """Log prior of one of `alternatives` variants of `kind` at a site."""
    about = RULES[kind]
    spread = 0.0 if about.ordered else ALTERNATIVES * math.log(max(1, alternatives))
    return math.log(about.weight) - spread


def few_variants(kinds: Iterable[str]) -> bool:
    """Return whether all of the kinds have few variants at a place (`Rule.few`)."""
    return all(RULES[kind].few for kind in kinds)


def of_a_family(kind: str) -> bool:
    """Return whether edits of a kind put one of a few in the place of another: `max` for `min`."""
    return RULES[kind].few or RULES[kind].ordered


def variants(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Every rule's variants of the expression at a site."""
    stored = isinstance(getattr(site.node, "ctx", None), ast.Store | ast.Del)
    for on, also_stored, make in _EXPRESSIONS:
        if isinstance(site.node, on) and (also_stored or not stored):
            yield from make(site, facts)


def restated(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """Every rule's statements in the place of one."""
    for on, make in _STATEMENTS:
        if isinstance(stmt, on):
            yield from make(stmt, context, facts)


# -- what rules make -------------------------------------------------------------------------------


def draws(*on: type[ast.AST], stored: bool = False) -> Callable[[_Make], _Make]:
    """A generator of variants of expressions of these types; `stored`: of targets too."""

    def register(make: _Make) -> _Make:
        _EXPRESSIONS.append((on, stored, make))
        return make

    return register


def states(*on: type[ast.AST]) -> Callable[[_State], _State]:
    """A generator of what may stand in the place of statements of these types."""

    def register(make: _State) -> _State:
        _STATEMENTS.append((on, make))
        return make

    return register


@dataclass(frozen=True, slots=True)
class _Row:
    pattern: ast.AST
    replacement: ast.AST
    extra: float


def rewrites(
    kind: str,
    table: str,
    *,
    when: _When = _always,
    extra: _Extra = _nothing,
) -> None:
    """Rows of expressions for a kind: `PATTERN -> REPLACEMENT ; weight added`.

    `when`: what must hold of the site besides; `extra`: what a new expression's weight is changed
    by besides, None where it is not worth trying.
    """
    rows = [_row(line) for line in table.splitlines() if line.strip()]
    anything = any(isinstance(row.pattern, ast.Name) for row in rows)

    def make(site: Site, facts: CodeFacts) -> Iterator[Variant]:
        if not when(site, facts):
            return
        for row in rows:
            bound: _Bound = {}
            if not _match(row.pattern, site.node, bound):
                continue
            new = _filled(row.replacement, bound)
            more = None if _repeats(new) else extra(site, facts, new)
            if more is not None:
                yield kind, new, row.extra + more

    on = (ast.expr,) if anything else tuple({type(row.pattern) for row in rows})
    _EXPRESSIONS.append((on, False, make))


def rewritten(
    kind: str,
    pattern: str,
    replacement: str,
    *,
    when: Callable[[ast.stmt], bool] = lambda stmt: True,
    extra: float = 0.0,
) -> None:
    """As `rewrites`, of one statement: what stands in its place."""
    (before,) = _stripped(parse_module(pattern)).body
    after = _stripped(parse_module(replacement)).body

    def make(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
        bound: _Bound = {}
        if when(stmt) and _match(before, stmt, bound):
            yield kind, _filled(after, bound), extra

    _STATEMENTS.append(((type(before),), make))


def _repeats(new: ast.expr) -> bool:
    """Return whether a call is given an argument twice."""
    named = [keyword.arg for keyword in getattr(new, "keywords", ()) if keyword.arg is not None]
    return len(set(named)) < len(named)


def _row(line: str) -> _Row:
    rewrite, _, extra = line.partition(";")
    sides = [_stripped(parse_module(side.strip())).body[0] for side in rewrite.split(" -> ")]
    pattern, replacement = (side.value for side in sides if isinstance(side, ast.Expr))
    return _Row(pattern, replacement, float(extra or 0))


def _stripped(tree: ast.Module) -> ast.Module:
    """Without positions, so that what is made of it takes those of the place it is put in."""
    for node in ast.walk(tree):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            node.__dict__.pop(name, None)
    return tree


_Bound = dict[str, Any]


def _is_capital(name: object) -> bool:
    return isinstance(name, str) and len(name) == 1 and name.isupper()


def _match(pattern: Any, node: Any, bound: _Bound) -> bool:
    if isinstance(pattern, ast.Name) and _is_capital(pattern.id):
        fits = isinstance(node, ast.expr) and not isinstance(node, ast.Starred | ast.Slice)
        return fits and _bind(pattern.id, node, bound)
    if pattern.__class__ is not node.__class__:
        return False
    if isinstance(pattern, ast.AST):
        for name in pattern._fields:
            if name not in ("ctx", "kind", "type_comment"):
                wanted, found = getattr(pattern, name, None), getattr(node, name, None)
                if name == "attr" and _is_capital(wanted):
                    bound[str(wanted)] = found
                elif not _match(wanted, found, bound):
                    return False
        return True
    if isinstance(pattern, list):
        return _match_list(pattern, node, bound)
    return bool(pattern == node)


def _match_list(pattern: list[Any], node: list[Any], bound: _Bound) -> bool:
    if pattern and (rest := _rest(pattern[-1])) is not None:
        some, pattern = isinstance(pattern[-1], ast.Expr), pattern[:-1]
        bound[rest], node = node[len(pattern) :], node[: len(pattern)]
        if some and not bound[rest]:
            return False
    return len(pattern) == len(node) and all(
        _match(one, other, bound) for one, other in zip(pattern, node, strict=True)
    )


def _rest(pattern: ast.AST) -> str | None:
    """The capital that stands for the rest of a list: `*A`, `**K`, a `B` on its own."""
    if isinstance(pattern, ast.keyword) and pattern.arg is not None:
        return None
    inner = getattr(pattern, "value", None)
    if isinstance(pattern, ast.Starred | ast.keyword | ast.Expr) and isinstance(inner, ast.Name):
        return inner.id if _is_capital(inner.id) else None
    return None


def _bind(name: str, node: ast.AST, bound: _Bound) -> bool:
    return same(bound.setdefault(name, node), node)


def _filled(template: Any, bound: _Bound) -> Any:
    """A copy of the template with what its capitals stand for."""
    if isinstance(template, list):
        made: list[Any] = []
        for item in template:
            rest = _rest(item) if isinstance(item, ast.AST) else None
            if rest is not None and isinstance(bound[rest], list):
                made += bound[rest]
            else:
                made.append(_filled(item, bound))
        return made
    if not isinstance(template, ast.AST):
        return template
    if isinstance(template, ast.Name) and _is_capital(template.id):
        found = bound[template.id]
        other = isinstance(found, ast.Name) and found.ctx.__class__ is not template.ctx.__class__
        return ast.Name(found.id, template.ctx) if other else found
    new = template.__class__.__new__(template.__class__)
    for name, value in template.__dict__.items():
        named = name == "attr" and _is_capital(value)
        new.__dict__[name] = bound[value] if named else _filled(value, bound)
    return new


# -- builders of syntax trees ----------------------------------------------------------------------


def const(value: Any) -> ast.Constant:
    """A literal."""
    return ast.Constant(value=value)


def load(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(id=name, ctx=ast.Load())


def store(name: str) -> ast.Name:
    """A variable that is assigned."""
    return ast.Name(id=name, ctx=ast.Store())


def number(value: int) -> ast.expr:
    """An integer as the parser builds it: a negative one is a negated constant."""
    return const(value) if value >= 0 else ast.UnaryOp(op=ast.USub(), operand=const(-value))


def callee(node: ast.AST) -> str:
    """The last name of what a call calls; nothing where there is none."""
    func = getattr(node, "func", None)
    return str(getattr(func, "id", getattr(func, "attr", "")))


def call(function: str, *args: ast.expr) -> ast.Call:
    """`function(args)`."""
    return ast.Call(func=load(function), args=list(args), keywords=[])


def method(value: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    """`value.name(args)`."""
    attribute = ast.Attribute(value=value, attr=name, ctx=ast.Load())
    return ast.Call(func=attribute, args=list(args), keywords=[])


def negated(node: ast.expr) -> ast.expr:
    """`not node`, or its operand where it is a `not` already."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(op=ast.Not(), operand=node)


def binary(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.BinOp:
    """`left op right`, for arithmetic."""
    return ast.BinOp(left=left, op=op, right=right)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    """`left op right`, for comparisons."""
    return ast.Compare(left=left, ops=[op], comparators=[right])
