"""A sandbox that stops when a search's time is up, whichever part of the search is running."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from refute.core.problems import Invocation
from refute.sandbox import Limits, NotRun, Outcome, Program, Sandbox
from refute.sandbox.contract import takes_code

__all__ = ["Timed", "end_after"]

_DEFAULT = Limits()


def end_after(seconds: float | None) -> float:
    """`time.monotonic()` when so many seconds are over; None: never.

    A verb takes it as it begins, before anything is read, and hands it on: all processes of a
    machine share this clock.
    """
    return math.inf if seconds is None else time.monotonic() + seconds


@dataclass(slots=True)
class Timed:
    """Implements `refute.sandbox.Sandbox` on top of another: what is not done in time is `NotRun`.

    One place holds the promise in wall time, for calls that sleep, slow imports and busy machines.
    """

    box: Sandbox
    deadline: float = math.inf
    """`time.monotonic()` at which to stop."""
    spent: bool = False
    """Whether something was not run for lack of time."""

    def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[Outcome]:
        """See `Sandbox.run`."""
        return self.run_variants([program], calls, limits)[0]

    def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        if self.deadline == math.inf:
            return self.box.run_variants(programs, calls, limits)
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.spent = self.spent or bool(calls)
            return [[NotRun() for _ in calls] for _ in programs]
        if limits.run_wall is None or limits.run_wall > left:
            limits = replace(limits, run_wall=left)
        rows = self.box.run_variants(programs, calls, limits)
        self.spent = self.spent or time.monotonic() >= self.deadline
        return rows

    @contextmanager
    def sooner(self, seconds: float) -> Iterator[None]:
        """Inside, time is up so many seconds sooner: they are kept back for what comes after."""
        self.deadline -= seconds
        try:
            yield
        finally:
            self.deadline += seconds

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.deadline

    @property
    def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return takes_code(self.box)

    def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return self.box.protections()

    def close(self) -> None:
        """The sandbox belongs to the caller."""

    def __enter__(self) -> Timed:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
