"""What a session was seen to call: whether an example or a test makes the call that was read.

A name proves nothing: a test may mean a wrapper of the function, a method or another function of
that name, and an argument may no longer hold what it was made of. So the session is run once more
and asked which calls of the function it makes itself, with which arguments (`sandbox.replay`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.problems import Call, Expression, Session
from refute.sandbox import Limits, Outcome, Program, Raised, Returned, Sandbox
from refute.sandbox.equality import equal, equal_types
from refute.sandbox.values import MalformedValue

__all__ = ["Made", "makes", "observed"]

Made = tuple["tuple[Any, ...] | None", "dict[str, Any] | None", "tuple[str, Any] | None"]
"""A call of the function: arguments, keywords, ("returned" or "raised", what). None: not known."""


def observed(
    sessions: Sequence[Session], program: Program, box: Sandbox, limits: Limits
) -> list[list[list[Made]]]:
    """Of each session, the calls that each of its watched steps makes; [] where it is cut short.

    Raises `SandboxUnavailable`.
    """
    asked = [Session(one.steps, one.watched, observed=True) for one in sessions]
    outcomes = box.run(program, asked, limits) if asked else []
    return [_read(outcome, one.watched) for one, outcome in zip(asked, outcomes, strict=True)]


def _read(outcome: Outcome, size: int) -> list[list[Made]]:
    """The calls, or [] where this is not what a session that was observed returns."""
    if not isinstance(outcome, Returned):
        return []
    try:
        value = outcome.value
    except MalformedValue:
        return []
    if not isinstance(value, list) or len(value) != size:
        return []
    rows = all(isinstance(step, list) and all(map(_is_made, step)) for step in value)
    return value if rows else []


def _is_made(value: Any) -> bool:
    match value:
        case (tuple() | None, dict() | None, (str(), _) | None):
            return True
    return False


def makes(
    call: Call | Expression,
    outcome: Outcome,
    made: Sequence[Made],
    program: Program,
    box: Sandbox,
    limits: Limits,
) -> bool:
    """Whether `call`, whose outcome by itself is known, is among the calls that were seen, and came
    out alike. An expression: whether all calls that it makes are. Raises `SandboxUnavailable`."""
    if isinstance(call, Call):
        return any(_is_same((call.args, dict(call.kwargs), _told(outcome)), one) for one in made)
    (alone,) = observed([Session((f"{call.source}\n",))], program, box, limits)
    mine = [one for step in alone for one in step]
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
