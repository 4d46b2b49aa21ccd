"""Read what a scenario showed from the sandbox's record, and tell whether two observations
differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.core.problems import Scenario
from refute.sandbox import (
    Killed,
    Limits,
    NotRun,
    Outcome,
    Program,
    Raised,
    Returned,
    Sandbox,
    TimedOut,
)
from refute.sandbox.equality import without_addresses
from refute.sandbox.nodes import decode
from refute.sandbox.values import Incomplete, Iterated, MalformedValue, Opaque, from_node

LIMITS = Limits(cpu=0.5, loading=10.0, memory=1 << 30, output=4 << 20)
"""Of one scenario."""
_WRONG_KIND = frozenset({"TypeError", "AttributeError", "NotImplementedError"})
"""Exceptions that mostly mean that an argument was not what the code is for."""

_CALLABLE = frozenset({"function", "method", "builtin_function_or_method", "method-wrapper"})
VARIES = Incomplete("...", "what varies by itself")
"""In the place of a part that is another in each run; it equals anything."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Behaviour of the observed expression."""

    kind: str
    """"returned", "raised", "setup" (a statement before raised), "cut short" (a limit, a crash),
    "unloaded" (the program itself did not load) or "not run"."""
    value: Any = None
    """Returned value; of an iterator `Iterated`."""
    error: str = ""
    """Type of the exception, or why it was cut short."""
    bases: tuple[str, ...] = ()
    message: str = ""
    inside: bool = False
    """True: the program under test was on the exception's way."""
    changed: tuple[tuple[str, Any, Any], ...] = field(default=())
    """(what, before, after) of the receiver and the arguments that the call changed."""
    printed: str = ""
    lines: frozenset[int] = frozenset()
    step: int = -1
    """Index of the statement before that raised, if one did."""

    @property
    def answered(self) -> bool:
        """Return whether the call came to an end of its own, by returning or raising."""
        return self.kind in ("returned", "raised")

    @property
    def says(self) -> bool:
        """Return whether something comparable was seen: a value other than None and than an object
        of unknown state, a change, or output."""
        if self.kind != "returned":
            return False
        telling = self.value is not None and not isinstance(self.value, Incomplete)
        return telling or bool(self.changed) or bool(self.printed)

    @property
    def comparable(self) -> bool:
        """Return whether what it did can be compared with what another call does: not where all
        that is seen is an object of unknown state."""
        return (
            self.kind == "raised" or self.says or (self.kind == "returned" and self.value is None)
        )

    @property
    def misused(self) -> bool:
        """Return whether it looks as if an argument was of the wrong kind, or the call never
        began."""
        if self.kind in ("setup", "unloaded", "not run"):
            return True
        return self.kind == "raised" and (not self.inside or self.error in _WRONG_KIND)


def observe(
    box: Sandbox, program: Program, scenarios: Sequence[Scenario], limits: Limits = LIMITS
) -> list[Observation]:
    """Run scenarios in one process image of the program. Raises `SandboxUnavailable`."""
    return [read_observation(one) for one in box.run(program, scenarios, limits)]


def read_observation(outcome: Outcome) -> Observation:
    """Read the observation of a scenario's outcome; anything but a record counts as cut short."""
    match outcome:
        case Returned():
            try:
                return _read(decode(outcome.data))
            except (MalformedValue, ValueError, TypeError, KeyError, RecursionError):
                return Observation("cut short", error="no record")
        case Raised(on_import=True):
            return Observation("unloaded", error=outcome.type, message=outcome.message)
        case Raised():
            return Observation("setup", error=outcome.type, message=outcome.message)
        case TimedOut():
            return Observation("cut short", error="never ends")
        case NotRun():
            return Observation("not run")
        case Killed():
            return Observation("cut short", error=outcome.reason)
        case _:
            return Observation("cut short", error="out of memory")


def _read(record: tuple[Any, ...]) -> Observation:
    kind, what, changed, printed, lines = record
    changes = tuple((str(name), from_node(b), from_node(a)) for name, b, a in changed)
    seen = frozenset(line for line in lines if type(line) is int)
    text = str(printed)
    if kind == "returned":
        return Observation("returned", from_node(what), changed=changes, printed=text, lines=seen)
    if kind == "raised":
        error, bases, message, inside = what
        return Observation(
            "raised",
            error=str(error),
            bases=tuple(map(str, bases)),
            message=str(message),
            inside=bool(inside),
            changed=changes,
            printed=text,
            lines=seen,
        )
    if kind == "setup":
        step, error, message = what
        return Observation("setup", error=str(error), message=str(message), step=int(step))
    raise ValueError("no record")


def same_value(one: Any, other: Any, depth: int = 100) -> bool:
    """Return whether nothing tells two decoded values apart that can be seen of them.

    Types of numbers count, the last digits of floats do not; objects are compared by type and
    fields (without any, by `repr`), private ones only where both have them; iterators by their
    items; of what is not encoded as a whole only the type's name is known, and whether a callable
    is a function or a method is nobody's business. Sets and dictionaries have no order.
    """
    if depth <= 0:
        return True
    if isinstance(one, float) and isinstance(other, float):
        both = math.isnan(one) and math.isnan(other)
        return both or one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, Incomplete) or isinstance(other, Incomplete):
        kinds = {getattr(one, "type", None), getattr(other, "type", None)}
        return len(kinds) == 1 or kinds <= _CALLABLE or VARIES.type in kinds
    if type(one) is not type(other):
        return False
    inner = depth - 1
    if isinstance(one, Opaque) and isinstance(other, Opaque):
        if one.type != other.type:
            return False
        if not one.attributes and not other.attributes:
            return one.repr == other.repr
        mine, theirs = dict(one.attributes), dict(other.attributes)
        for name in mine.keys() ^ theirs.keys():
            if name.startswith("_"):  # how a class keeps its state is its own business
                mine.pop(name, None)
                theirs.pop(name, None)
        return same_value(mine, theirs, inner)
    if isinstance(one, Iterated) and isinstance(other, Iterated):
        return one.more == other.more and same_value(list(one.items), list(other.items), inner)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(
            same_value(a, b, inner) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            key in other and same_value(value, other[key], inner) for key, value in one.items()
        )
    try:
        return bool(one == other)
    except (RecursionError, ArithmeticError):
        return False


def settled(one: Any, again: Any, depth: int = 100) -> Any:
    """A value without the parts that are others in another run of the same: `VARIES` stands for an
    item or a field, or for all of it where nothing less will do."""
    if same_value(one, again, depth):
        return one
    if depth <= 0 or type(one) is not type(again):
        return VARIES
    inner = depth - 1
    if isinstance(one, Opaque) and one.type == again.type:
        other = dict(again.attributes)
        if other.keys() == {name for name, _ in one.attributes}:
            held = tuple((name, settled(part, other[name], inner)) for name, part in one.attributes)
            shown = ", ".join(f"{name}={part!r}" for name, part in held)
            return Opaque(held, f"{one.type}({shown})", one.type)
    if isinstance(one, (list, tuple)) and len(one) == len(again):
        return type(one)(settled(a, b, inner) for a, b in zip(one, again, strict=True))
    if isinstance(one, dict) and one.keys() == again.keys():
        return {key: settled(part, again[key], inner) for key, part in one.items()}
    return VARIES


# -- the same as a text, by which many observations are grouped ----------------------------------


def fingerprint(seen: Observation) -> str:
    """A text that is the same for observations whose values `same_value` calls the same.

    But a text has no tolerance: floats are rounded to nine digits, and fields that only one of two
    objects has count, private ones too.
    """
    changed = [(name, _canonical(after)) for name, _, after in seen.changed]
    parts = seen.kind, seen.error, _canonical(seen.value), changed, seen.printed
    return without_addresses(repr(parts))


def _canonical(value: Any, depth: int = 100) -> Any:
    """The value as what has one `repr`, as far as `same_value` looks at it."""
    if depth <= 0 or isinstance(value, Incomplete):
        return f"<{getattr(value, 'type', '...')}>"
    inner = depth - 1
    if isinstance(value, Opaque):
        fields = sorted(dict(value.attributes).items())
        return value.type, {key: _canonical(one, inner) for key, one in fields} or value.repr
    if isinstance(value, Iterated):
        return "iterator", [_canonical(one, inner) for one in value.items], value.more
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, int) and value.bit_length() > 10_000:
        return hex(value)  # Python writes no int of so many digits
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_canonical(one, inner) for one in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(repr(_canonical(one, inner)) for one in value)
    if isinstance(value, dict):
        pairs = ((_canonical(k, inner), _canonical(v, inner)) for k, v in value.items())
        return "dict", sorted(map(repr, pairs))
    return value
