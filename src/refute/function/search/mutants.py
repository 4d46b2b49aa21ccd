"""The edits of a program in the order of the prior."""

from __future__ import annotations

import ast
import gc
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from refute.function.search.edit import Edit, copy_of, located
from refute.function.search.facts import CodeFacts, gather, neighbours, reachable, vocabulary
from refute.function.search.rules import (
    ALTERNATIVES,
    Draft,
    borrowed_statements,
    log_weight,
    statements,
    swapped_returns,
    variants,
)
from refute.function.search.sites import Site, expressions, statement_lists
from refute.source.syntax import Function

__all__ = ["singles", "singles_of"]

EVERYWHERE = 0.8
"""Prior weight of a constant's change wherever the function has it, beside that of one place."""

SiteBonus = Callable[[tuple[ast.stmt, ...]], float | None]
"""Addition to the log weight of edits in these statements; None: they cannot matter, leave out."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """No collection of cycles meanwhile: syntax trees have none, and to look for them in hundreds
    of thousands of new nodes takes up to a third of the time of making them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_uncollected()
def singles(
    tree: ast.Module,
    facts: CodeFacts,
    bonus: SiteBonus,
    until: float = math.inf,
) -> list[Edit]:
    """Every single edit of `tree`, a part of `facts.tree`, likeliest first, always in one order.

    `until`: `time.monotonic()` at which the list ends with those found so far (a function of 5,000
    lines).
    """
    edits: list[Edit] = []
    equal_constants: dict[tuple[int, type, object], list[Site]] = defaultdict(list)
    for site in expressions(tree, facts.tree):
        if time.monotonic() >= until:
            break
        own = site.context.stmt
        stmts: tuple[ast.stmt, ...] = () if own is None else (own,)
        extra = bonus(stmts)
        if isinstance(site.node, ast.Constant):
            value = site.node.value
            key = (id(site.context.function), type(value), value)
            equal_constants[key].append(site)
        if extra is None:
            continue
        found = list(variants(site, facts))
        counts = Counter(kind for kind, _, _ in found)
        for kind, new, addition in found:
            located(new, site.node)
            weight = log_weight(kind, counts[kind]) + addition + extra
            edits.append(Edit((site.change(new),), kind, weight, stmts))
    edits += _everywhere(equal_constants, facts, bonus)
    for owner, field, body, context in statement_lists(tree, facts.tree):
        if time.monotonic() >= until:
            break
        drafts = list(statements(owner, field, body, context, facts))
        drafts += borrowed_statements(owner, field, body, context, facts)
        if isinstance(owner, ast.FunctionDef):
            drafts += swapped_returns(owner)
        counts = Counter(kind for kind, *_ in drafts)
        for draft in drafts:
            _append(edits, draft, counts[draft[0]], bonus)
    edits.sort(key=lambda edit: -edit.weight)
    return edits


def singles_of(
    tree: ast.Module, name: str, node: Function, description: str, bonus: SiteBonus,
    until: float = math.inf,
) -> list[Edit]:  # fmt: skip
    """Every single edit of one function of a module, with what the module around offers to it."""
    near, focus = neighbours(tree, name), reachable(tree, [name.partition(".")[0]])
    facts = gather(focus, description, near, vocabulary(tree, name))
    return singles(ast.Module([node], []), facts, bonus, until=until)


def _append(edits: list[Edit], draft: Draft, alternatives: int, bonus: SiteBonus) -> None:
    kind, changes, addition, stmts = draft
    extra = bonus(stmts)
    if extra is None:
        return
    near = stmts[0]
    for change in changes:
        items = change.new if isinstance(change.new, list) else [change.new]
        for item in items:
            if isinstance(item, ast.AST):
                located(item, near)
    edits.append(Edit(changes, kind, log_weight(kind, alternatives) + addition + extra, stmts))


def _everywhere(
    groups: dict[tuple[int, type, object], list[Site]], facts: CodeFacts, bonus: SiteBonus
) -> Iterator[Edit]:
    """The same constant changed wherever the function has it (two to four places)."""
    for sites in groups.values():
        if not 2 <= len(sites) <= 4:
            continue
        found = [
            (kind, new, addition)
            for kind, new, addition in variants(sites[0], facts)
            if isinstance(new, ast.Constant) and kind.startswith(("constant", "string", "flip"))
        ]
        stmts = tuple(site.context.stmt for site in sites if site.context.stmt is not None)
        extra = bonus(stmts)
        if extra is None:
            continue
        everywhere = math.log(EVERYWHERE / len(sites) ** ALTERNATIVES)
        for kind, new, addition in found:
            changes = tuple(site.change(located(copy_of(new), site.node)) for site in sites)
            weight = log_weight(kind, len(found)) + everywhere
            yield Edit(changes, kind, weight + addition + extra, stmts)
