"""Bounds that a description states in words and the code sets otherwise.

"At most n" where the only comparison is strict, "longer than n" where it is not, "from 1 to n"
where the only range stops before n. A cue counts only where there is one place it can be about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from refute.function.search.edit import Edit, located
from refute.function.search.operators.build import binary, const
from refute.function.search.prior import log_weight
from refute.function.search.sites import Site, expressions

__all__ = ["Cue", "cues"]

Cue = tuple[str, Edit]
"""What the description says, and the edit that makes the code say so too."""

_MORE = "greater|larger|bigger|higher|longer|more"
_LESS = "less|smaller|lower|shorter|fewer"
_WITH = re.compile(
    rf"\b(?:(?:{_MORE}|{_LESS}) than or equal|at (?:most|least)"
    rf"|(?:no|not) (?:{_MORE}|{_LESS}) than)\b"
)
_WITHOUT = re.compile(rf"\b(?:{_MORE}|{_LESS}) than\b")
_RANGE = re.compile(
    r"\b(?:from|between) [\w']+ (?:to|and|ti|till|until) [\w' ]+|\b(?:1|one) to \w+"
)
_LOOSE = {ast.Lt: ast.LtE, ast.Gt: ast.GtE}
_STRICT = {ast.LtE: ast.Lt, ast.GtE: ast.Gt}


def cues(tree: ast.Module, words: str) -> Iterator[Cue]:
    """Edits of a program that its description (`words`: lower-case prose) asks for."""
    sites = list(expressions(tree))
    found = _WITH.search(words)
    bare = _WITHOUT.search(words)
    if found is not None:
        yield from _bounds(sites, _LOOSE, _STRICT, found.group())
    elif bare is not None and "equal" not in words:
        yield from _bounds(sites, _STRICT, _LOOSE, bare.group())
    elif (span := _RANGE.search(words)) is not None:
        yield from _ends(sites, span.group())


def _bounds(
    sites: list[Site],
    wrong: dict[type[ast.cmpop], type[ast.cmpop]],
    right: dict[type[ast.cmpop], type[ast.cmpop]],
    said: str,
) -> Iterator[Cue]:
    ordered = [
        (site, site.node)
        for site in sites
        if isinstance(site.node, ast.Compare)
        and any(type(op) in _LOOSE or type(op) in _STRICT for op in site.node.ops)
        and not any(isinstance(one, ast.Constant) for one in site.node.comparators)
    ]
    if len(ordered) != 1:
        return
    site, node = ordered[0]
    if len(node.ops) != 1 or type(node.ops[0]) not in wrong:
        return
    changed = ast.Compare(node.left, [wrong[type(node.ops[0])]()], node.comparators)
    yield said, _edit(site, changed, "compare")


def _ends(sites: list[Site], said: str) -> Iterator[Cue]:
    ranges = [
        node
        for site in sites
        if isinstance(node := site.node, ast.Call) and getattr(node.func, "id", "") == "range"
    ]
    if not ranges:
        return
    outer = ranges[0]
    for site in sites:
        function = site.context.function
        if site.owner is not outer or site.index != 1 or function is None:
            continue
        parameters = {arg.arg for arg in function.args.args}
        if isinstance(site.node, ast.Name) and site.node.id in parameters:
            yield said, _edit(site, binary(site.node, ast.Add(), const(1)), "plus one")


def _edit(site: Site, new: ast.expr, kind: str) -> Edit:
    stmt = site.context.stmt
    located(new, site.node)
    return Edit((site.change(new),), kind, log_weight(kind, 1), () if stmt is None else (stmt,))
