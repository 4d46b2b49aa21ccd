"""`Grader`: many programs at once."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial as bound
from typing import Any

from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool
from refute_lab.rewards.grading import grade_in, grade_in_steps
from refute_lab.rewards.task import Task, Test
from refute_lab.rewards.testing import TestReward, grade_test
from refute_lab.rewards.verdict import Verdict

AHEAD = 3
"""Programs under way and waiting for each sandbox, at most: `grade_batch` asks for no more."""
_SMALL = 1 << 16
"""Characters of a program that an event loop handles itself."""


class ManyAtOnce(ABC):
    """What asks for verdicts without waiting for them, in the three ways that callers wait."""

    size: int
    """How many programs are graded at once."""

    @abstractmethod
    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """Ask for a verdict and go on; as many as are asked for wait in memory."""

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
