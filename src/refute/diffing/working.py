"""Does the functions of a change one after the other: here, or in a worker process of its own.

Where a function's own execution shows nothing, those that call it may.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType

from refute.diffing.changes import ChangedFunction, Place, place_of
from refute.diffing.comparison import Comparison, Entry, Settings
from refute.diffing.definitions import Kind
from refute.diffing.engine import compare_function
from refute.diffing.modules import Module, Modules
from refute.diffing.references import References, Use
from refute.diffing.revisions import Revisions
from refute.diffing.sides import Sides
from refute.diffing.usage import Usage
from refute.errors import RefuteError, reason_to_skip
from refute.sandbox.interpreter import Interpreter

_MOST_LISTED = 12
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
    return tuple(found[:_MOST_LISTED])


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


MOST_CALLERS = 3
LEAST = 1.0
"""Seconds for one function, at least: with less a look is of no use."""


@dataclass(frozen=True)
class Work:
    """What is the same for every function: plain data, which a worker process is handed."""

    revisions: Revisions
    settings: Settings
    interpreter: Interpreter | None
    themselves: frozenset[str]
    """The public functions that changed: they show their own doing."""


class Comparer:
    """Compares functions of one change. A context manager: ends its sandboxes."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.old, self.new = Modules(work.revisions.before), Modules(work.revisions.after)
        self.usage = Usage(work.revisions.after)

    @cached_property
    def sides(self) -> Sides:
        """Both revisions, opened on first use."""
        revisions = self.work.revisions
        return Sides(revisions.before, revisions.after, self.work.interpreter)

    @cached_property
    def _references(self) -> References:
        return References(self.new)

    def __enter__(self) -> Comparer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if "sides" in self.__dict__:
            self.sides.__exit__(kind, error, trace)

    def compare(self, function: ChangedFunction) -> Comparison:
        """What came of one function. Raises `SandboxUnavailable`."""
        settings = self.work.settings
        left = settings.end - time.monotonic()
        if left <= 0:
            return Comparison(function, reason="no time was left for it")
        settings = replace(settings, seconds=min(settings.seconds, max(LEAST, left)))
        also: list[str] = []
        entries = self._entries(function, also)
        found = compare_function(function, entries, self.sides, settings, self.usage)
        if not found.differences and not found.ran and also:
            return replace(found, within=tuple(also), reason="")
        return found

    def __call__(self, function: ChangedFunction) -> Comparison | RefuteError:
        """`compare`, as the task of a worker process: what is missing is handed back, since it is
        missing for all."""
        try:
            return self.compare(function)
        except RefuteError as error:
            return error
        except Exception as error:
            return Comparison(function, reason=reason_to_skip(error))

    def _entries(self, function: ChangedFunction, also: list[str]) -> Iterator[Entry]:
        """What to call; `also` gets the callers that changed too: they may show their own doing.

        A public function itself, then its callers, which are looked for only once they are wanted;
        of a private one the callers, and itself only where there are none. Where no line is another
        (hints alone differ), callers show nothing of it.
        """
        before, after = self.old.read(function.before.file), self.new.read(function.after.file)
        assert isinstance(before, Module)
        assert isinstance(after, Module)
        own = Entry(before, after, function.before.qualname, function.after.qualname)
        if not function.is_private:
            yield own
        count = 0
        lines = function.lines_before or function.lines_after
        for caller in callers(self._references, function) if lines else ():
            place = caller.place
            if place.target in self.work.themselves:
                also.append(place.target)
                continue
            one, other = self.old.named(place.module), self.new.read(place.file)
            if one is None or not isinstance(other, Module):
                continue
            if place.qualname in one.found.functions and count < MOST_CALLERS:
                count += 1
                yield Entry(one, other, place.qualname, place.qualname, caller=True)
        if function.is_private and not count and not also:
            yield own
