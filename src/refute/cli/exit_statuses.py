"""Exit statuses, and the one line that an error becomes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from refute.core.variables import Variable
from refute.errors import BAD_INPUT, INTERNAL, UNAVAILABLE, told

if TYPE_CHECKING:
    from refute.function.contract import State

FOUND, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
FAILURES = frozenset({BAD_INPUT, UNAVAILABLE, INTERNAL, INTERRUPTED})
"""Of those, the ones that say that there is no result."""
PROPOSED, CANNOT_TELL, NOTHING_TO_CHANGE = 4, 5, 6


def status_of_states(
    states: Iterable[State], *, fixing: bool = False, fail_on: str | None = None
) -> int:
    """The exit status for what is claimed about functions; `fixing`: `debug`'s. `fail_on`: "wrong":
    1 where any was wrong, fixed or not, else 0; "never": 0."""
    from refute.function.contract import State, overall

    if fail_on is not None:
        wrong = {State.WRONG, State.PROPOSED, State.FIXED}
        return FOUND if fail_on == "wrong" and wrong & set(states) else 0
    passes = NOTHING_TO_CHANGE if fixing else 0
    statuses = {
        State.WRONG: FOUND,
        State.PROPOSED: PROPOSED,
        State.FIXED: 0,
        State.PASSES: passes,
        State.CANNOT_TELL: CANNOT_TELL,
    }
    return statuses[overall(states)]


def fail_for(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit status for it."""
    if os.environ.get(Variable.TRACEBACK):
        raise error
    status, line = told(error)
    if status == INTERNAL:
        line = f"internal error at {line} (REFUTE_TRACEBACK=1 shows more)"
    return fail(line, status)


def fail(message: str, status: int) -> int:
    """Print the line and return the status, which says it also where nothing can be printed."""
    from refute.sandbox.values import printable

    try:
        click.echo(f"refute: {printable(message)}", err=True)
    except OSError:
        pass
    return status
