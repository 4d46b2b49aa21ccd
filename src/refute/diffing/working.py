"""Does the functions of a change one after the other: here, or in a worker process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType

from refute.diffing.callers import callers
from refute.diffing.changes import ChangedFunction
from refute.diffing.comparison import Comparison, Entry, Settings
from refute.diffing.engine import compare_function
from refute.diffing.modules import Module, Modules
from refute.diffing.references import References
from refute.diffing.revisions import Revisions
from refute.diffing.sides import Sides
from refute.diffing.usage import Usage
from refute.errors import RefuteError, reason_to_skip
from refute.sandbox.interpreter import Interpreter

__all__ = ["Comparer", "Work"]

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
