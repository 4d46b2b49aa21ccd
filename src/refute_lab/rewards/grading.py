"""`grade`: one program, one verdict."""

from __future__ import annotations

import asyncio
import marshal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from refute.core.problems import Call
from refute.errors import InputError
from refute.sandbox import NotRun, Outcome, Program, Returned, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import Waits, finished
from refute.sandbox.values import MalformedValue
from refute_lab.benches.oracle import run_within
from refute_lab.rewards.asserts import run_asserts
from refute_lab.rewards.calls import PASSED, imports, patience, run_calls, said, short
from refute_lab.rewards.printed import same_output
from refute_lab.rewards.task import Kind, Task, Test
from refute_lab.rewards.verdict import TestResult, Verdict, verdict

# -- stdio -----------------------------------------------------------------------------------------


_PAYLOAD = 1 << 20
"""Characters of input that are sent at once: every process is given all that is sent."""


def run_stdio(program: str, task: Task, box: Sandbox, *, partial: bool) -> list[TestResult]:
    """A result for each test. Raises `SandboxUnavailable`."""
    script = Program((_script(), imports(program)), "run")
    deadline = time.monotonic() + task.run_seconds
    results: list[TestResult] = []
    for chosen in _portions(task.tests):
        tests = task.tests[chosen]
        left = deadline - time.monotonic()
        if left <= 0 or not (partial or all(result.passed for result in results)):
            results += [TestResult(False, said(NotRun()))] * len(tests)
            continue
        outcomes = run_within(
            script, [Call((program, test.stdin)) for test in tests],
            [replace(limits, alone=True) for limits in task.limits[chosen]], box,
            stop_after=patience(partial), run_wall=left,
        )  # fmt: skip
        results += [_result(*pair, task) for pair in zip(outcomes, tests, strict=True)]
    return results


def _portions(tests: Sequence[Test]) -> Iterator[slice]:
    start = size = 0
    for index, test in enumerate(tests):
        if size + len(test.stdin) > _PAYLOAD and index > start:
            yield slice(start, index)
            start, size = index, 0
        size += len(test.stdin)
    yield slice(start, len(tests))


@cache
def _script() -> bytes:
    """Compiled once; the sandbox runs this version of Python."""
    text = Path(__file__).with_name("script.py").read_text("utf-8")
    return marshal.dumps(compile(text, "<script>", "exec", dont_inherit=True))


def _result(outcome: Outcome, test: Test, task: Task) -> TestResult:
    if not isinstance(outcome, Returned):
        return TestResult(False, said(outcome))
    try:
        printed = outcome.value
    except MalformedValue:
        printed = None
    if type(printed) is not str:
        return TestResult(False, "printed too much, or wrote over the result")
    if same_output(printed, test.stdout or "", task.checker, task.atol):
        return PASSED
    return TestResult(False, f"wrong answer: printed {short(repr(printed))}")


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
