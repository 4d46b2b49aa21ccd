"""What a session was seen to call: whether an example or a test makes the call that was read.

A name proves nothing: a test may mean a wrapper of the function, a method or another function of
that name, and an argument may no longer hold what it was made of. So the session is run once more
and asked which calls of the function it makes itself, with which arguments (`sandbox.replay`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.problems import Call, Expression, Session
from refute.sandbox import Outcome, Raised, Returned
from refute.sandbox.equality import equal, equal_types
from refute.sandbox.values import MalformedValue

__all__ = ["Made", "calls_made", "looking_at", "makes"]

Made = tuple["tuple[Any, ...] | None", "dict[str, Any] | None", "tuple[str, Any] | None"]
"""A call of the function: arguments, keywords, ("returned" or "raised", what). None: not known."""


def looking_at(call: Expression | Session) -> Session:
    """What to run so that the calls that it makes come back (see `calls_made`)."""
    steps = call.steps if isinstance(call, Session) else (f"{call.source}\n",)
    return Session(steps, len(steps), observed=True)


def calls_made(outcome: Outcome) -> list[list[Made]]:
    """The calls that each step made; [] where it was cut short, or returned anything else."""
    if not isinstance(outcome, Returned):
        return []
    try:
        value = outcome.value
    except MalformedValue:
        return []
    if not isinstance(value, list):
        return []
    rows = all(isinstance(step, list) and all(map(_is_made, step)) for step in value)
    return value if rows else []


def _is_made(value: Any) -> bool:
    match value:
        case (tuple() | None, dict() | None, (str(), _) | None):
            return True
    return False


def makes(
    made: Sequence[Made], call: Call | Expression, outcome: Outcome, mine: Sequence[Made]
) -> bool:
    """Whether `call`, whose outcome by itself is known, is among the calls that were seen, and came
    out alike. An expression: whether all calls that it makes by itself, `mine`, are."""
    if isinstance(call, Call):
        mine = [(call.args, dict(call.kwargs), _told(outcome))]
    return bool(mine) and all(any(_is_same(one, other) for other in made) for one in mine)


def _told(outcome: Outcome) -> tuple[str, Any] | None:
    match outcome:
        case Raised(type=kind):
            return "raised", kind
        case Returned():
            try:
                return "returned", outcome.value
            except MalformedValue:
                return None
    return "cut short", None


def _is_same(one: Made, other: Made) -> bool:
    if not equal_types(list(one[:2]), list(other[:2])):
        return False
    if one[2] is None or other[2] is None:
        return True
    return one[2][0] == other[2][0] and equal(one[2][1], other[2][1])
