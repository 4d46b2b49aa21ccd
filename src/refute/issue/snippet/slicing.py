"""Which statements of a script one of them rests on."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute.issue.snippet.script import Statement, bound_names, missing_names


def needed(before: Sequence[Statement], focus: Statement) -> tuple[Statement, ...]:
    """The statements that the focus rests on, in their order."""
    names = set(missing_names([focus.node]))
    kept: list[Statement] = []
    for row in reversed(before):
        if not (changed(row) & names):
            continue
        if isinstance(row.node, ast.Assign) and not _owners(row.node):
            names -= bound_names(row.node)  # what they were before is of no matter
            names |= missing_names([row.node.value])
        names |= missing_names([row.node])
        kept.append(row)
    return tuple(reversed(kept))


def changed(row: Statement) -> frozenset[str]:
    """Names that a statement binds or may change."""
    value = row.expression
    if value is None:
        touched = bound_names(row.node)
        if isinstance(row.node, ast.ClassDef | ast.FunctionDef | ast.Import | ast.ImportFrom):
            return touched
        return touched | _owners(row.node)
    if row.printed or row.shown or not isinstance(value, ast.Call | ast.Await):
        return frozenset()
    return missing_names([row.node])


def _owners(node: ast.stmt) -> frozenset[str]:
    """Variables whose attributes or items the statement assigns to or calls."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript):
            root: ast.expr = part
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            assigned = isinstance(part.ctx, ast.Store)
            if isinstance(root, ast.Name) and (assigned or isinstance(node, ast.With | ast.For)):
                found.add(root.id)
    return frozenset(found)
