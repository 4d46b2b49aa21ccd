"""An issue's example made whole: the imports that it leaves to the reader."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.script import Script, Statement, bound_names, missing_names


@dataclass(frozen=True, slots=True)
class Completed:
    """A script that can be run."""

    script: Script
    imports: tuple[str, ...]


def completed(script: Script, names: Names, more: Iterable[str] = ()) -> Completed | None:
    """The script with the imports that it lacks; None where nothing of its last piece is left.

    Imports of modules that exist nowhere but in the reporter's project are left out, and so are
    statements with names that are not to be found, and all that rests on these. `more`: names that
    are there anyway.
    """
    rows = [row for row in (_without_foreign(row, names) for row in script.statements) if row]
    known = frozenset(more)
    made = replace(script, statements=tuple(rows))
    imports: dict[str, str] = {}
    lost: set[str] = set()
    for name in sorted(made.missing(known)):
        statement = names.import_of(name)
        if statement is None:
            lost.add(name)
        else:
            imports[name] = statement
    if lost:
        rows = _without(rows, lost)
        made = replace(script, statements=tuple(rows))
    about = [row for row in rows if row.piece == script.pieces[-1]]
    if all(isinstance(row.node, ast.Import | ast.ImportFrom) for row in about):
        return None
    wanted = made.missing(known)
    return Completed(made, tuple(line for name, line in imports.items() if name in wanted))


def _without(rows: Sequence[Statement], lost: set[str]) -> list[Statement]:
    """The statements that can do without the lost names; what the others bind is lost as well."""
    kept: list[Statement] = []
    for row in rows:
        if missing_names([row.node]) & lost:
            lost = lost | bound_names(row.node)
        else:
            lost = lost - bound_names(row.node)
            kept.append(row)
    return kept


def _without_foreign(row: Statement, names: Names) -> Statement | None:
    """The statement, unless it imports from the reporter's own project."""
    if isinstance(row.node, ast.ImportFrom):
        known = row.node.level == 0 and names.importable(row.node.module or "")
        return row if known else None
    if isinstance(row.node, ast.Import):
        return row if all(names.importable(alias.name) for alias in row.node.names) else None
    return row
