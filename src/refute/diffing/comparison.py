"""What is asked of a comparison of one function, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refute.core.parameters import parameter
from refute.core.problems import Scenario
from refute.diffing.changes import ChangedFunction
from refute.diffing.differences import Difference, Verdict
from refute.diffing.modules import Module
from refute.function.scenarios.observation import Observation

__all__ = ["MOST_SHOWN", "QUIET", "Comparison", "Effort", "Entry", "Settings", "Tried"]

QUIET = 320
MOST_SHOWN = 3
"""Differences of one function."""
_MADE_WITH = ("__init__", "__new__", "__post_init__", "__attrs_post_init__", "__init_subclass__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How long and how far is looked."""

    seconds: float = 5.0
    """For one function."""
    most: int = 1000
    """Scenarios for one function."""
    seed: int = 0
    quiet: int = QUIET
    """Scenarios in a row that show nothing new, all changed lines reached, after which it is
    enough."""
    end: float = math.inf
    """When the time for all functions is up (`refute.sandbox.pool.end_after`); those that come
    later cannot be told."""
    steady: bool = False
    """Rounds of one size, whatever the time they take: the same scenarios run on every machine."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a model is asked."""

    rounds: int = parameter(
        3, "How often a model writes inputs for one function; 0: never.", at_least=0
    )
    calls: int = parameter(
        60, "Samples of the model for the inputs of all functions, at most.", at_least=0
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """What is called to see a changed function: itself, or who calls it."""

    before: Module
    after: Module
    name_before: str
    name_after: str
    """Dotted in the module."""
    caller: bool = False

    @property
    def called_before(self) -> str:
        """What is called before the change: of a method that makes an instance, its class."""
        return _called(self.name_before)

    @property
    def called_after(self) -> str:
        """The same after the change."""
        return _called(self.name_after)


def _called(name: str) -> str:
    owner, _, last = name.rpartition(".")
    return owner if owner and last in _MADE_WITH else name


@dataclass(frozen=True, slots=True)
class Tried:
    """A scenario that ran on both sides, with the changed lines that it executed."""

    scenario: Scenario
    before: Observation
    after: Observation


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of one changed function."""

    function: ChangedFunction
    differences: tuple[Difference, ...] = ()
    """At most `MOST_SHOWN`, made small, the plainest kind first; of each group one."""
    others: int = 0
    """Groups that are not shown."""
    ran: int = 0
    """Scenarios that came to an end on both sides, with something to compare."""
    tried: tuple[Tried, ...] = ()
    """A few, one of each outcome."""
    written: int = 0
    """Scenarios among them that a model wrote."""
    reached: tuple[int, int] = (0, 0)
    """How many of the changed lines they executed, before and after."""
    missed_before: tuple[int, ...] = ()
    missed_after: tuple[int, ...] = ()
    """Changed lines that none executed."""
    entry: Entry | None = None
    """What was called; None: nothing."""
    within: tuple[str, ...] = ()
    """Public functions that changed too, through which alone it is reached."""
    broken: str = ""
    """Why its module does not load on one side, where it does on the other."""
    reason: str = ""
    """Why nothing can be said, where nothing can."""
    seconds: float = 0.0

    @property
    def called(self) -> str:
        """What was called, where that is not the function itself."""
        entry = self.entry
        return f"{entry.after.name}.{entry.name_after}" if entry and entry.caller else ""

    @property
    def verdict(self) -> Verdict:
        """What came of it; no difference: on what ran."""
        if self.differences or self.broken:
            return "differs"
        return "no difference" if self.ran else "cannot tell"
