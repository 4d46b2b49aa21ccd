"""Who calls a changed function: where its own execution shows nothing, theirs may."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from refute.diffing.changes import ChangedFunction, Place, place_of
from refute.diffing.definitions import Kind
from refute.diffing.references import References, Use

__all__ = ["MOST_CALLERS", "Caller", "callers"]

MOST_CALLERS = 12
_MOST_NAMES = 200
"""Names whose uses are looked for."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A public function or method that reaches another one."""

    place: Place
    kind: Kind
    is_async: bool
    steps: int
    """1: it refers to the function itself."""
    lines: tuple[int, ...]
    """Its lines that refer to the next one on the way (1-based)."""


def callers(
    references: References, function: ChangedFunction | Place, depth: int = 2
) -> tuple[Caller, ...]:
    """Public functions and methods of the project that refer to a function, nearest first, at most
    12; through private ones, constants (a table of functions) and other public ones.

    `references`: of the revision that `function` is looked for in; of a changed function that is
    the one after the change.
    """
    start = function.after if isinstance(function, ChangedFunction) else function
    level, seen = [start.target], {start.target}
    found: list[Caller] = []
    for step in range(1, depth + 1):
        following: list[str] = []
        todo = list(level)
        while todo and len(seen) < _MOST_NAMES:
            for use in _uses(references, todo.pop(0)):
                if use.target in seen:
                    continue
                seen.add(use.target)
                if use.definition is None:
                    todo.append(use.target)  # what reads the table is as near
                    continue
                following.append(use.target)
                if not use.definition.is_private:
                    place = place_of(use.module, use.definition)
                    kind, is_async = use.definition.kind, use.definition.is_async
                    found.append(Caller(place, kind, is_async, step, use.lines))
        level = following
    return tuple(found[:MOST_CALLERS])


def _uses(references: References, target: str) -> list[Use]:
    """What refers to a name; of a method also what names its class and calls a method of that name
    on something: `printer = Printer(); printer.print(x)`."""
    found = references.of(target)
    owner, _, last = target.rpartition(".")
    if not last.startswith("__"):
        found += [
            use
            for use in references.of(owner)
            if use.definition is not None
            and any(
                isinstance(node, ast.Attribute) and node.attr == last
                for top in use.definition.nodes
                for node in ast.walk(top)
            )
            and use.target != target
            and use.target not in {one.target for one in found}
        ]
    return found
