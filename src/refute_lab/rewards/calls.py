"""Programs against calls: the sandbox calls, this side compares."""

from __future__ import annotations

import re

from refute.sandbox import (
    Killed,
    NotRun,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
    Sandbox,
    TimedOut,
)
from refute.sandbox.equality import matches
from refute.sandbox.pool import Waits
from refute_lab.benches.grade import STOP_AFTER
from refute_lab.benches.oracle import steps_within
from refute_lab.rewards.task import Task
from refute_lab.rewards.verdict import TestResult

PASSED = TestResult(True)


def run_calls(program: str, task: Task, box: Sandbox, *, partial: bool) -> Waits[list[TestResult]]:
    """A result for each test. Raises `SandboxUnavailable`."""
    outcomes = yield from steps_within(
        Program(program, task.entry_point), task.calls, task.limits, box,
        stop_after=patience(partial), run_wall=task.run_seconds,
    )  # fmt: skip
    return [
        PASSED if matches(outcome, expected) else TestResult(False, said(outcome))
        for outcome, expected in zip(outcomes, task.expected, strict=True)
    ]


def imports(source: str) -> str:
    """A comment that names what a text imports, beside code that is to load it: a sandbox sees by
    it which server to use."""
    return f"# {' '.join(sorted(set(_IMPORT.findall(source))))}\n"


_IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)


def patience(partial: bool) -> int:
    """CPU seconds that tests which are cut short may waste: none where one failure decides."""
    return STOP_AFTER if partial else 0


_SHOWN = 160
"""Characters of what a program returned or said."""


def said(outcome: Outcome) -> str:
    """How a call ended, in one line for people."""
    match outcome:
        case Returned():
            return f"wrong answer: returned {short(repr(outcome)[len('Returned(') : -1])}"
        case Raised(type=kind, message=message, line=line, on_import=on_import):
            where = f" in line {line}" if line else ""
            when = "while the program was loaded: " if on_import else ""
            return short(f"{when}{kind}{where}: {message}" if message else f"{when}{kind}{where}")
        case TimedOut(kind=kind):
            return "took too long" if kind == "cpu" else "slept or waited too long"
        case OutOfMemory():
            return "needed too much memory"
        case Killed(reason=reason):
            return f"the process ended: {reason}"
        case NotRun():
            return "not run"


def short(text: str) -> str:
    """One line of bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 3]}..."
