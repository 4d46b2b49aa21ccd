"""`grade`: one program, one verdict."""

from __future__ import annotations

import asyncio
import marshal
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from functools import partial as bound
from pathlib import Path
from typing import Any

from refute.core.problems import Call
from refute.errors import InputError
from refute.sandbox import NotRun, Outcome, Program, Returned, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool, Waits, finished
from refute.sandbox.values import MalformedValue
from refute_lab.benches.oracle import run_within
from refute_lab.rewards.asserts import (
    PASSED,
    imports,
    patience,
    run_asserts,
    run_calls,
    said,
    short,
)
from refute_lab.rewards.task import Kind, Task, Test, TestResult, Verdict, same_output, verdict
from refute_lab.rewards.testing import TestReward, grade_test

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
    """Grade a program by the task's tests.

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
    """As `grade`, in a thread, so that the event loop keeps running."""
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


# -- pool ------------------------------------------------------------------------------------------


AHEAD = 3
"""Programs under way and waiting for each sandbox, at most: `grade_batch` asks for no more."""
_SMALL = 1 << 16
"""Characters of a program that an event loop handles itself."""


class ManyAtOnce(ABC):
    """A source of verdicts for callers that wait in one of three ways."""

    size: int
    """How many programs are graded at once."""

    @abstractmethod
    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """Ask for a verdict and continue; as many as are asked for wait in memory."""

    @abstractmethod
    def submit_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> Future[TestReward]:
        """As `submit`, for a test; `how`: see `refute_lab.rewards.grade_test`."""

    def grade(self, program: str, task: Task, *, partial: bool | None = None) -> Verdict:
        """See `refute_lab.rewards.grade`."""
        return self.submit(program, task, partial=partial).result()

    async def grade_async(
        self, program: str, task: Task, *, partial: bool | None = None
    ) -> Verdict:
        """As `grade`, for coroutines."""
        return await asyncio.wrap_future(self.submit(program, task, partial=partial))

    def grade_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> TestReward:
        """See `refute_lab.rewards.grade_test`."""
        return self.submit_test(test, reference, faulty, **how).result()

    async def grade_test_async(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> TestReward:
        """As `grade_test`, for coroutines."""
        return await asyncio.wrap_future(self.submit_test(test, reference, faulty, **how))

    def grade_batch(
        self, pairs: Iterable[tuple[str, Task]], *, partial: bool | None = None
    ) -> Iterator[Verdict]:
        """Verdicts in the order of the pairs, which are drawn a few at a time as work is done."""
        waiting: deque[Future[Verdict]] = deque()
        try:
            for program, task in pairs:
                waiting.append(self.submit(program, task, partial=partial))
                if len(waiting) >= AHEAD * self.size:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Grader(ManyAtOnce):
    """Grades programs in several sandboxes. A context manager; safe to use from many threads.

    A sandbox whose server dies is replaced and its program is graded again; where the fresh one
    fails, too, `SandboxUnavailable` is raised, which is never a verdict.
    """

    def __init__(
        self, size: int | None = None, *, partial: bool = False, preload: Iterable[str] = ("numpy",)
    ) -> None:
        """`size`: how many sandboxes; None: one for each processor. `partial`: see `grade`.
        `preload`: packages that are imported once, for the programs that mention them."""
        self.size = size or len(os.sched_getaffinity(0))
        self._partial = partial
        self._pool = SandboxPool(self.size, bound(LocalSandbox, preload=tuple(preload)))

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the programs under way and end the sandboxes; idempotent."""
        self._pool.close()

    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """See `ManyAtOnce.submit`."""
        share = self._partial if partial is None else partial
        return self._pool.submit(lambda box: grade_in(program, task, box, partial=share))

    async def grade_async(
        self, program: str, task: Task, *, partial: bool | None = None
    ) -> Verdict:
        """See `ManyAtOnce.grade_async`; the event loop itself compares where that takes no time."""
        if type(program) is not str or len(program) > _SMALL or not task.is_small:
            return await super().grade_async(program, task, partial=partial)
        share = self._partial if partial is None else partial
        return await self._pool.do_in_steps(
            lambda box: grade_in_steps(program, task, box, partial=share)
        )

    def submit_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> Future[TestReward]:
        """See `ManyAtOnce.submit_test`."""
        return self._pool.submit(lambda box: grade_test(test, reference, faulty, **how, box=box))
