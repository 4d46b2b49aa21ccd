"""Calls, values and outcomes as text for people and for JSON."""

from __future__ import annotations

from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, UnitTest, Want
from refute.function.contract import Status
from refute.sandbox import (
    Killed,
    NotRun,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
)
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, source_of

MAX_VALUE = 20_000
"""Longest text of one value in JSON, in characters."""


def call_source(call: Invocation, function: str) -> str:
    """`f(1, key=[2])`, the expression as it is, or a session's lines with their prompts."""
    if not isinstance(call, Call):
        return call.source
    parts = [value_source(arg) for arg in call.args]
    parts += [f"{name}={value_source(value)}" for name, value in call.kwargs.items()]
    return f"{function}({', '.join(parts)})"


def value_source(value: Any) -> str:
    """Python source where the value has one, else its `repr`. Never raises on decoded values."""
    try:
        return source_of(value)
    except NotLiteral:
        pass
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an int of more digits than Python writes; a deep nest
        return f"<{type(value).__name__}, too large to be shown>"


def expected_source(test: UnitTest) -> str:
    """Return what a test expects: Python source, "raises NAME", or the output of a session."""
    if isinstance(test.expected, Want):
        return _shown(test.expected.text, test.expected.raised)
    return value_source(test.expected) if test.raises is None else f"raises {test.raises}"


NO_OUTPUT = "no output"
"""What is said of an example that shows nothing."""
NO_EXCEPTION = "no exception"
"""Expectation of a whole test of a file."""


def _shown(text: str | None, raised: str | None) -> str:
    if raised is not None:
        return f"raises {raised.rstrip()}"
    return NO_EXCEPTION if text is None else text.rstrip("\n") or NO_OUTPUT


def describe(outcome: Outcome, call: Invocation | None = None) -> str:
    """Describe the outcome of a call: the value's source, or words; one line unless a session
    printed more."""
    match outcome:
        case Returned():
            try:
                value = outcome.value
                if (
                    isinstance(call, DoctestSession)
                    and isinstance(value, tuple)
                    and len(value) == 3
                ):
                    text = _shown(str(value[0]), None if value[1] is None else str(value[1]))
                else:
                    text = value_source(value)
            except MalformedValue:
                return "an answer that is not a value"
            return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."
        case Raised(type=name, message=message, on_import=on_import):
            where = " on import" if on_import else ""
            return f"raises {name}{where}: {message}" if message else f"raises {name}{where}"
        case TimedOut(kind=kind):
            return "does not end" if kind == "cpu" else "sleeps or blocks too long"
        case OutOfMemory():
            return "runs out of memory"
        case Killed(reason=reason):
            return f"ends the process: {reason}"
        case NotRun():
            return "not run"


def status_of(outcome: Outcome) -> Status:
    """Return the kind of a failure, in one word for scripts."""
    match outcome:
        case Returned():
            return "wrong"
        case Raised():
            return "raised"
        case TimedOut():
            return "timeout"
        case OutOfMemory():
            return "memory"
        case Killed():
            return "killed"
        case NotRun():
            return "not-run"
