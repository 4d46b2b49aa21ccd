"""The line: tenants and their requests take turns; it is bounded; who has gone leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from refute_lab.serving import Busy, Full, Held, Job, Line, TooMany

Scene = Callable[[], Coroutine[Any, Any, None]]


class Work:
    """Jobs that say in which order they begin, and end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Event()

    def job(self, name: str) -> Job:
        async def work() -> str:
            self.begun.append(name)
            await self.go.wait()
            return name

        return work

    def jobs(self, name: str, count: int) -> list[Job]:
        return [self.job(f"{name}{number}") for number in range(count)]


async def test_tenants_and_their_requests_take_turns() -> None:
    line, work = Line(1, 100), Work()
    with ExitStack() as stack:
        futures = []
        for tenant, name, count in (("a", "A", 4), ("a", "B", 2), ("b", "C", 2)):
            futures += stack.enter_context(line.entered(tenant, work.jobs(name, count)))
        assert (line.running, line.waiting) == (1, 7)
        work.go.set()
        assert await asyncio.gather(*futures) == [
            "A0",
            "A1",
            "A2",
            "A3",
            "B0",
            "B1",
            "C0",
            "C1",
        ]
    assert work.begun == ["A0", "A1", "C0", "B0", "C1", "A2", "B1", "A3"]
    assert line.waiting == 0


async def test_a_full_line_is_full_for_its_tenant_alone() -> None:
    line, work = Line(2, 3), Work()
    with line.entered("a", work.jobs("A", 5)):  # two run at once
        with pytest.raises(Busy) as busy, line.entered("a", work.jobs("B", 1)):
            pass
        assert busy.value.seconds >= 1
        with pytest.raises(TooMany), line.entered("b", work.jobs("C", 6)):
            pass
        with line.entered("b", work.jobs("D", 3)):
            assert line.waiting == 6
        assert line.waiting == 3
    assert (line.running, line.waiting) == (2, 0)  # what has begun keeps its place
    work.go.set()
    await line.drained()
    assert line.running == 0
    assert work.begun == ["A0", "A1"]


async def test_a_job_that_fails_frees_its_place() -> None:
    async def fails() -> None:
        raise ValueError("no")

    line = Line(1, 5)
    with line.entered("a", [fails, fails]) as futures:
        found = await asyncio.gather(*futures, return_exceptions=True)
    assert [str(error) for error in found] == ["no", "no"]
    assert line.running == 0


def test_bytes_are_counted_for_each_tenant_until_they_are_given_back() -> None:
    held = Held(10)
    with held.share("a") as one:
        one.add(6)
        with held.share("a") as other, pytest.raises(Full):
            other.add(5)
        with held.share("b") as another:
            another.add(10)
    with held.share("a") as one:
        one.add(10)
