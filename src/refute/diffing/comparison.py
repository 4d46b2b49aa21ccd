"""Comparison of one function: its settings, its differences, its verdict."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from refute.core.parameters import parameter
from refute.core.problems import Scenario
from refute.diffing.changes import ChangedFunction
from refute.diffing.modules import Module
from refute.function.formatting import value_source
from refute.function.scenarios.observation import VARIES, Observation, same_value, settled
from refute.sandbox.values import Incomplete, Iterated, Opaque

if TYPE_CHECKING:
    from refute.issue.observed_calls import ObservedCall

Kind = Literal["value", "exception", "effect", "output", "end", "type", "message"]
"""Kinds of difference: the value, the exception, a changed argument, the output, the end, the type
alone of an equal value, an exception's message."""

Verdict = Literal["differs", "no difference", "cannot tell"]
"""Verdict on one changed function."""
Intent = Literal["stated", "contradicted", "not mentioned"]
"""The relation of what is said of a change to it, in the words of a model."""

WRONG_KIND = frozenset({"TypeError", "AttributeError"})
"""Exceptions of a call whose argument is of no use to it."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")


@dataclass(frozen=True, slots=True)
class Difference:
    """A scenario on which the revisions differ, seen twice on each side."""

    scenario: Scenario
    kind: Kind
    before: Observation
    after: Observation
    lines_before: frozenset[int]
    """Changed lines that it executes, of each side's file."""
    lines_after: frozenset[int]


def kind_of_difference(before: Observation, after: Observation) -> Kind | None:
    """Return the kind of difference between two observations of one scenario.

    None: there is none, or it cannot be told, since one side does not accept the call at all
    (another signature). Two errors about an argument of the wrong type are not compared.
    """
    if "cut short" in (before.kind, after.kind):
        other = after if before.kind == "cut short" else before
        one = before if before.kind == "cut short" else after
        return "end" if other.answered and one.error == "never ends" else None
    if not (before.answered and after.answered):
        return None
    if _refused(before) or _refused(after):
        return None
    if before.kind != after.kind:
        return "exception"
    if before.kind == "raised":
        if before.error == after.error:
            return "message" if _told(before) != _told(after) and _deliberate(before) else None
        if {before.error, after.error} <= WRONG_KIND:
            return None
        return "exception"
    if not same_value(before.value, after.value):
        return "type" if before.value == after.value else "value"
    if not _same_changes(before, after):
        return "effect"
    return "output" if before.printed != after.printed else None


def _refused(one: Observation) -> bool:
    """Return whether the call never began: its arguments do not fit the signature."""
    return one.kind == "raised" and one.error == "TypeError" and not one.inside


def _told(one: Observation) -> str:
    return _ADDRESS.sub("0x", one.message)


def _deliberate(one: Observation) -> bool:
    """Return whether the program itself wrote the message, not Python about a wrong type."""
    return one.inside and one.error not in WRONG_KIND


def _same_changes(before: Observation, after: Observation) -> bool:
    """Return whether the call changed its arguments in the same way."""
    old = {name: value for name, _, value in before.changed}
    new = {name: value for name, _, value in after.changed}
    return old.keys() == new.keys() and all(same_value(old[name], new[name]) for name in old)


def is_stable(one: Observation, again: Observation) -> bool:
    """Return whether two runs of one side, with other hash seeds, showed the same."""
    return (
        one.kind == again.kind
        and one.error == again.error
        and (not one.answered or kind_of_difference(one, again) is None)
    )


def steady(one: Observation, again: Observation) -> Observation | None:
    """The observation without what is another in a second run of the same side: a counter of the
    process in one field of an object. None where it is another altogether."""
    if one.kind == "cut short" or (one.kind, one.error) != (again.kind, again.error):
        return one if is_stable(one, again) else None
    new = {name: value for name, _, value in again.changed}
    if new.keys() != {name for name, _, _ in one.changed}:
        return None
    changed = tuple((name, old, settled(value, new[name])) for name, old, value in one.changed)
    kept = replace(one, value=settled(one.value, again.value), changed=changed)
    varies = any(part is VARIES for part in (kept.value, *(value for _, _, value in changed)))
    return None if varies or not is_stable(kept, again) else kept


def neutral(one: Observation, root: str) -> Observation:
    """The observation with the path of its revision's folder left out of every text."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(root, "")
        if isinstance(value, (list, tuple)):
            return type(value)(map(clean, value))
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        if isinstance(value, Opaque):
            pairs = tuple((name, clean(item)) for name, item in value.attributes)
            return Opaque(pairs, clean(value.repr), value.type)
        if isinstance(value, Iterated):
            return Iterated(clean(value.items), value.more, value.type)
        if isinstance(value, Incomplete):
            return Incomplete(clean(value.repr), value.type)
        return value

    changed = tuple((name, clean(b), clean(a)) for name, b, a in one.changed)
    return replace(
        one,
        value=clean(one.value),
        message=clean(one.message),
        printed=clean(one.printed),
        changed=changed,
    )


def observed_source(seen: Observation, kind: str = "value") -> str:
    """Return as source what a call did, as far as this kind of difference is concerned."""
    if seen.kind == "raised":
        return f"raises {seen.error}: {seen.message}".rstrip(": ")
    if seen.kind != "returned":
        return seen.error or seen.kind
    if kind == "output":
        return f"prints {seen.printed!r}"
    if kind == "effect":
        if not seen.changed:
            return "changes nothing"
        return "; ".join(f"{name} becomes {_source(value)}" for name, _, value in seen.changed)
    return _source(seen.value)


def _source(value: Any) -> str:
    if isinstance(value, Iterated):
        return value_source(list(value.items)) + (" and more" if value.more else "")
    return value_source(value)


QUIET = 320
"""Scenarios in a row that show nothing new, all changed lines reached, after which it is enough."""
MOST_SHOWN = 3
"""Differences of one function."""
_MADE_WITH = ("__init__", "__new__", "__post_init__", "__attrs_post_init__", "__init_subclass__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits of the search for differences."""

    seconds: float = 5.0
    """For one function."""
    most: int = 1000
    """Scenarios for one function."""
    seed: int = 0
    end: float = math.inf
    """End of the time for all functions (`refute.sandbox.pool.end_after`); those that come later
    cannot be told."""
    steady: bool = False
    """Rounds of one size, whatever the time they take: the same scenarios run on every machine."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of the questions to a model."""

    rounds: int = parameter(
        3, "How often a model writes inputs for one function; 0: never.", at_least=0
    )
    calls: int = parameter(
        60, "Samples of the model for the inputs of all functions, at most.", at_least=0
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """The call through which a changed function is observed: its own, or that of a caller."""

    before: Module
    after: Module
    name_before: str
    name_after: str
    """Dotted in the module."""
    caller: bool = False

    @property
    def called_before(self) -> str:
        """Return the name to call before the change: for `__init__` and its like the class."""
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
    """Result for one changed function."""

    function: ChangedFunction
    differences: tuple[Difference, ...] = ()
    """At most `MOST_SHOWN`, made small, the plainest kind first; of each group one."""
    in_tests: tuple[ObservedCall, ...] = ()
    """Calls in the project's tests that come out otherwise, where no input shows a difference."""
    others: int = 0
    """Groups that are not shown."""
    ran: int = 0
    """Scenarios that came to an end on both sides, with something to compare."""
    tried: tuple[Tried, ...] = ()
    """A few, one of each outcome."""
    written: int = 0
    """Scenarios among them that a model wrote."""
    reached: tuple[int, int] = (0, 0)
    """Changed lines that they executed, before and after."""
    missed_before: tuple[int, ...] = ()
    missed_after: tuple[int, ...] = ()
    """Changed lines that none executed."""
    entry: Entry | None = None
    """The callee; None: nothing."""
    within: tuple[str, ...] = ()
    """Public functions that changed too, through which alone it is reached."""
    broken: str = ""
    """Reason that its module does not load on one side, where it does on the other."""
    reason: str = ""
    """Reason that nothing can be said."""
    seconds: float = 0.0

    @property
    def called(self) -> str:
        """Return the name of the caller, or "" where the function itself was called."""
        entry = self.entry
        return f"{entry.after.name}.{entry.name_after}" if entry and entry.caller else ""

    @property
    def verdict(self) -> Verdict:
        """Return the verdict. *No difference* needs an executed changed line on each side."""
        if self.differences or self.in_tests or self.broken:
            return "differs"
        return "no difference" if self.ran and not self.unseen else "cannot tell"

    @property
    def unseen(self) -> bool:
        """Return whether one side has changed lines and none of them was executed."""
        missed = (self.missed_before, self.missed_after)
        return any(lines and not hit for lines, hit in zip(missed, self.reached, strict=True))
