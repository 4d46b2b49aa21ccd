"""From programs to verdicts: one grader, with the line before it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from refute.errors import DatasetError, InputError, Unavailable
from refute_lab.rewards import Grader, Task, Test, TestReward, Verdict
from refute_lab.serving.requests import Asked, Bounds, Named, Trial
from refute_lab.serving.tenants import Job, Line

# -- measures --------------------------------------------------------------------------------------


CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Measures:
    """The counters of one server."""

    def __init__(self, line: Line) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        to = self._registry
        self.requests = Counter(
            "refute_requests", "Requests answered.", ("path", "status"), registry=to
        )
        self.verdicts = Counter("refute_verdicts", "Programs graded.", ("passed",), registry=to)
        for passed in ("yes", "no"):
            self.verdicts.labels(passed)
        self.unavailable = Counter(
            "refute_unavailable", "Programs that no sandbox could be had for.", registry=to
        )
        self.sandbox_seconds = Counter(
            "refute_sandbox_cpu_seconds", "CPU seconds of graded programs.", registry=to
        )
        self.seconds = Histogram(
            "refute_verdict_seconds",
            "Elapsed seconds of a verdict, in a sandbox.",
            buckets=_SECONDS,
            registry=to,
        )
        for name, words, read in (
            ("refute_waiting", "Programs in the line.", lambda: line.waiting),
            ("refute_running", "Programs in sandboxes.", lambda: line.running),
            ("refute_places", "Sandboxes.", lambda: line.places),
        ):
            Gauge(name, words, registry=to).set_function(read)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


Result = TypeVar("Result")
_PROBE = Task(entry_point="f", tests=(Test((1,), expected=2),))
_PROBE_PROGRAM = "def f(x):\n    return x + 1\n"
_MOST_TASKS = 2000
"""Tasks of datasets that are kept."""


class Verdicts:
    """What a server grades with. For one event loop."""

    def __init__(
        self, grader: Grader, line: Line, bounds: Bounds, data: Path | None = None
    ) -> None:
        """`data`: where datasets are (see `refute_lab.datasets.load`)."""
        self.line = line
        self.measures = Measures(line)
        self.fit = True
        """Whether the last program that was to be graded found a sandbox."""
        self._grader = grader
        self._bounds = bounds
        self._data = data
        self._tasks: OrderedDict[Named, Task] = OrderedDict()
        self._loading = asyncio.Lock()

    def job(self, asked: Asked) -> Job:
        """What makes the answer, for the line."""

        async def verdict() -> Verdict | TestReward:
            if isinstance(asked, Trial):
                return await self._watched(
                    self._grader.grade_test_async(
                        asked.test, asked.reference, asked.faulty, **asked.how
                    )
                )
            task = asked.task
            if isinstance(task, Named):
                task = await self._task(task)
            return await self._graded(asked.source, task, asked.partial)

        return verdict

    async def probe(self) -> bool:
        """Whether a program that is right is told so: asked only after one found no sandbox."""
        if not self.fit:
            try:
                await self._graded(_PROBE_PROGRAM, _PROBE, False)
            except Unavailable:
                pass
        return self.fit

    async def _graded(self, source: str, task: Task, partial: bool) -> Verdict:
        verdict = await self._watched(self._grader.grade_async(source, task, partial=partial))
        self.measures.verdicts.labels("yes" if verdict.passed else "no").inc()
        self.measures.sandbox_seconds.inc(verdict.cpu_seconds)
        return verdict

    async def _watched(self, work: Awaitable[Result]) -> Result:
        """The result; whether there was a sandbox is remembered."""
        began = time.perf_counter()
        try:
            result = await work
        except Unavailable:
            self.fit = False
            self.measures.unavailable.inc()
            raise
        self.fit = True
        self.measures.seconds.observe(time.perf_counter() - began)
        return result

    async def _task(self, named: Named) -> Task:
        """Kept for all tenants: it is of a public dataset. Raises `InputError`."""
        found = self._tasks.pop(named, None)
        if found is None:
            async with self._loading:
                where: dict[str, Any] = {"data": self._data}
                try:
                    found = await asyncio.to_thread(
                        Task.of_dataset, named.dataset, named.problem, **where
                    )
                except DatasetError:  # its words name files of this machine
                    line = f"dataset {named.dataset}: no problem {named.problem!r} that can be read"
                    raise InputError(line) from None
                found = replace(found, run_seconds=self._bounds.usual)
        while len(self._tasks) >= _MOST_TASKS:
            self._tasks.popitem(last=False)
        self._tasks[named] = found
        return found
