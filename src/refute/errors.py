"""Every exception that a caller of the library may meet, and the exit status that each ends in.

RefuteError                  70  a fault of refute's own
├─ InputError                 2  what the caller can fix: bad input, one line for people
│   └─ DatasetError              a dataset that is not there, or a row of another form
├─ PatchRejected              2  a patch does not apply to the tree as it is
├─ Unavailable                3  what the machine does not give; never a verdict on code
│   ├─ SandboxUnavailable
│   ├─ WorkspaceUnavailable
│   │   └─ EnvironmentBroken
│   └─ ModelUnavailable
│       └─ AnswersPending
├─ LimitReached               3  time, money or calls are used up
│   └─ BudgetExceeded
├─ ContextTooLong             3  a request does not fit into the model's context
└─ NotContinued               3  the model cannot go on with an answer of its own
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from refute.core.starting import Variable

BAD_INPUT, UNAVAILABLE, INTERNAL = 2, 3, 70
"""Exit statuses."""


class RefuteError(Exception):
    """The root of refute's exceptions. `str()` is one line for people."""

    exit_status: ClassVar[int] = INTERNAL
    """Of the command that ends with it."""
    line: ClassVar[str] = "{}"
    """Line that the command prints; `{}` is the message."""


class InputError(RefuteError, ValueError):
    """Bad input. The message is one line for people: what is wrong, where, and how to fix it."""

    exit_status = BAD_INPUT


class DatasetError(InputError):
    """A dataset cannot be found or a row cannot be read. One line: file, line number, field."""


class PatchRejected(RefuteError, ValueError):
    """The patch does not apply to the tree as it is; the message names file and hunk."""

    exit_status = BAD_INPUT
    line = "the patch does not apply: {}"


class Unavailable(RefuteError):
    """The machine does not give what is needed. Never a verdict on code."""

    exit_status = UNAVAILABLE


class SandboxUnavailable(Unavailable):
    """The sandbox itself cannot work (infrastructure; never a verdict on a program)."""

    line = "no sandbox: {}; `refute doctor` says what is missing"


class WorkspaceUnavailable(Unavailable):
    """No workspace can be had (no engine, no clone, no interpreter). Never a verdict on a test."""

    line = "no workspace: {}"


class EnvironmentBroken(WorkspaceUnavailable):
    """The environment's recipe did not install; the message ends with the installer's last line."""

    line = "no environment: {}"


class ModelUnavailable(Unavailable):
    """The model gave no answer (network, server, key, missing file). Never a wrong answer."""

    line = "no answer from the model: {}"


class AnswersPending(ModelUnavailable):
    """A batch model wrote the request down; its answer has yet to come."""

    line = "{}"


class LimitReached(RefuteError):
    """Time, money, calls or candidates are used up."""

    exit_status = UNAVAILABLE
    line = "a limit is reached: {}"


class BudgetExceeded(LimitReached):
    """The next request would pass the limit on dollars, tokens or calls."""

    line = "over budget: {}"


class ContextTooLong(RefuteError):
    """The request does not fit into the model's context; it was not answered and not retried."""

    exit_status = UNAVAILABLE
    line = "too long for the model: {}"


class NotContinued(RefuteError):
    """A conversation that ends with the assistant's words cannot be continued by this model; it
    takes another question in its place."""

    exit_status = UNAVAILABLE
    line = "the answer cannot be continued: {}"


def told(error: Exception) -> tuple[int, str]:
    """The exit status that an exception ends in, and one line for people; of a fault of our own
    (`INTERNAL`) where it is."""
    if isinstance(error, RefuteError) and error.exit_status != INTERNAL:
        return error.exit_status, error.line.format(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return UNAVAILABLE, f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return UNAVAILABLE, "out of memory"
    return INTERNAL, at_fault(error)


def reason_to_skip(error: Exception) -> str:
    """Return in one line why a function or a file is skipped on which refute itself broke.

    Raises the error again where it says what is wrong with the input or with what refute depends on
    (sandbox, model, disk); with REFUTE_TRACEBACK in the environment always.
    """
    foreign = isinstance(error, RefuteError | OSError | EOFError)
    if foreign or not isinstance(error, _OF_OURS) or os.environ.get(Variable.TRACEBACK):
        raise error
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"internal error at {at_fault(error)} (REFUTE_TRACEBACK=1 shows more)"


_OF_OURS = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError,
    NameError, RuntimeError, StopIteration, SyntaxError, SystemError, TypeError, ValueError,
)  # fmt: skip
"""Exceptions that a mistake raises; whatever is named after what is missing is nobody's mistake."""


def at_fault(error: BaseException) -> str:
    """One line for an exception of our own: where it was raised, its type, its message."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    try:
        message = " ".join(str(error).split())[:300]
    except Exception:  # such as an int of more digits than Python writes
        message = ""
    name = type(error).__name__
    return f"{place}: {name}: {message}" if message else f"{place}: {name}"
