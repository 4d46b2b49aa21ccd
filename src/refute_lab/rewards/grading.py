"""`grade`: one program, one verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute.sandbox.waiting import Waits, finished
from refute_lab.rewards.asserts import run_asserts
from refute_lab.rewards.calls import run_calls
from refute_lab.rewards.stdio import run_stdio
from refute_lab.rewards.task import Kind, Task
from refute_lab.rewards.verdict import TestResult, Verdict, verdict

_RUNNERS: dict[Kind, Callable[..., list[TestResult]]] = {
    "stdio": run_stdio,
    "asserts": run_asserts,
}
"""Of the kinds that are run in one step."""


def grade(
    program: str, task: Task, *, partial: bool = False, box: Sandbox | None = None
) -> Verdict:
    """What a program is worth by the task's tests.

    `partial`: the reward is the share of tests that are passed; else it is 1.0 or 0.0, and tests
    behind one that is cut short (time-out, crash) need not be run. `box`: None makes a sandbox for
    this call; `Grader` keeps some. Raises `SandboxUnavailable`, which is never a verdict.
    """
    if box is not None:
        return grade_in(program, task, box, partial=partial)
    with LocalSandbox() as own:
        return grade_in(program, task, own, partial=partial)


async def grade_async(
    program: str, task: Task, *, partial: bool = False, box: Sandbox | None = None
) -> Verdict:
    """As `grade`, in a thread, so that the event loop goes on."""
    return await asyncio.to_thread(grade, program, task, partial=partial, box=box)


def grade_in(program: str, task: Task, box: Sandbox, *, partial: bool) -> Verdict:
    """As `grade`, in a sandbox that is there."""
    return finished(grade_in_steps(program, task, box, partial=partial))


def grade_in_steps(program: str, task: Task, box: Sandbox, *, partial: bool) -> Waits[Verdict]:
    """As `grade_in`, for who has other things to do while the program runs."""
    if type(program) is not str:
        raise InputError(f"a program is a text, not {type(program).__name__}")
    before = box.cpu_seconds if isinstance(box, LocalSandbox) else 0.0
    if task.kind == "calls":
        results = yield from run_calls(program, task, box, partial=partial)
    else:
        results = _RUNNERS[task.kind](program, task, box, partial=partial)
    used = box.cpu_seconds - before if isinstance(box, LocalSandbox) else 0.0
    return verdict(results, partial=partial, cpu_seconds=used)
