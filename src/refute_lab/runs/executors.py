"""Executors: where the work units of a run are done. The driver alone writes the journal.

A unit is small, holds all that its work needs, and may be done twice (a worker that dies takes its
unit with it); what comes back is a record, a dataclass of plain data. So an executor may be
anything that can do units somewhere and hand records back: processes, an event loop, a cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from refute.core.processes import Failed, cores, run_tasks
from refute.core.registry import Registry
from refute.errors import ContextTooLong, InputError, Unavailable
from refute.models.asking import Asked
from refute_lab.runs.journal import PutOff, Record, Sent, WithFiles

Unit = TypeVar("Unit")
Done = Callable[[Any, Record | WithFiles | PutOff | Sent | Failed], None]
"""Told what became of a unit. What it raises ends the run, and is raised by `Executor.run`."""
Leave = Callable[[], None]


class Executor(Protocol):
    """Does work units and tells what became of each, in the order in which they end."""

    def run(self, units: Sequence[Any], start: Callable[[], Any], done: Done) -> None:
        """Do all `units`. `start` sets up a worker and gives what does a unit; of which kind it has
        to be is the executor's to say. One call of `done` at a time."""
        ...


@dataclass(frozen=True, slots=True)
class Processes:
    """Worker processes, for work that computes.

    `start` is picklable, called once in each process, and returns `(unit) -> Record`, or the record
    `WithFiles`.
    """

    jobs: int | None = None
    """None: as many as there are cores."""

    def run(self, units: Sequence[Any], start: Callable[[], Any], done: Done) -> None:
        """See `Executor.run`."""
        with closing(run_tasks(units, start=start, jobs=self.jobs or cores())) as results:
            for unit, result in results:
                done(unit, result)


class Clerk(Protocol):
    """Data that a remote worker exchanges besides its records: plain until it is opened."""

    def opened(self) -> AbstractContextManager[None]:
        """In effect while the worker lasts."""
        ...

    def told(self, brief: str) -> None:
        """Before a unit: what the keeper gave for it."""
        ...

    def says(self) -> str:
        """After a unit, for the keeper; "" for nothing."""
        ...


class Keeper(Protocol):
    """State that one process keeps for remote workers: a budget, files. Each worker has its own
    number."""

    def clerk(self) -> Clerk:
        """For each worker, as it starts."""
        ...

    def brief(self, worker: int) -> str:
        """For the clerk, with a unit; "" for nothing."""
        ...

    def hear(self, worker: int, text: str) -> None:
        """Read a clerk's message, before the unit's outcome. Raises `ValueError` for anything else;
        any other exception ends the run."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Requirements on an executor chosen by name, and one worker's share of a machine."""

    jobs: int | None = None
    """Workers at most; None: as many as it deems right."""
    place: str = ""
    """What follows the name: `--executor NAME:PLACE`."""
    waits: bool = False
    """`start` is as `Concurrent` wants it, not as `Processes` does."""
    each: int = 1
    """Units that a worker does at once, where it waits."""
    memory: int = 0
    """Bytes that a worker may well need; 0: not known."""
    gpus: float = 0.0
    keeper: Keeper | None = None
    """Where it waits: what is kept here for all of them. An executor that cannot take it along
    raises `InputError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSpec:
    """An executor by name; other packages name theirs as entry points `refute.executors`."""

    name: str
    summary: str
    """One line for people."""
    make: Callable[[Workers], Executor]
    """Raises `InputError` for what it cannot do."""


EXECUTORS: Registry[ExecutorSpec] = Registry(
    "refute.executors", (), "executor", lambda one: isinstance(one, ExecutorSpec)
)


def _processes(workers: Workers) -> Executor:
    if workers.waits:
        told = "is for work that computes; this waits for a model or for tests"
        raise InputError(f"--executor processes {told}")
    if workers.place:
        raise InputError(f"--executor processes:{workers.place}: processes are of this machine")
    return Processes(workers.jobs)


PROCESSES = ExecutorSpec(
    name="processes", summary="Worker processes on this machine.", make=_processes
)


@dataclass(frozen=True, slots=True)
class Concurrent:
    """One asyncio loop, for work that waits: for a model, for tests.

    `start` returns an asynchronous context manager that gives `(unit, leave) -> Awaitable[Record]`:
    a unit's place among the `at_once` goes to the next as soon as its work calls `leave`; what it
    does after that (grading, say) holds up nobody.
    """

    at_once: int

    def run(self, units: Sequence[Any], start: Callable[[], Any], done: Done) -> None:
        """See `Executor.run`."""
        asyncio.run(self.run_here(units, start, done))

    async def run_here(
        self,
        units: Sequence[Unit],
        start: Callable[
            [], AbstractAsyncContextManager[Callable[[Unit, Leave], Awaitable[Record]]]
        ],
        done: Done,
    ) -> None:
        """`run` in the running event loop. `done` is called in a thread."""
        places, telling = asyncio.Semaphore(self.at_once), asyncio.Lock()

        async def seated(do: Callable[[Unit, Leave], Awaitable[Record]], unit: Unit) -> Record:
            await places.acquire()
            held = True

            def leave() -> None:
                nonlocal held
                if held:
                    held = False
                    places.release()

            try:
                return await do(unit, leave)
            finally:
                leave()

        async def one(do: Callable[[Unit, Leave], Awaitable[Record]], unit: Unit) -> None:
            result: Record | Failed
            try:
                result = await seated(do, unit)
            except Exception as error:
                result = Failed(one_line(error), error=error)
            async with telling:
                await asyncio.to_thread(done, unit, result)

        async with start() as do:
            try:
                async with asyncio.TaskGroup() as group:
                    for unit in units:
                        group.create_task(one(do, unit))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None


def one_line(error: Exception) -> str:
    """One line; an error that is nobody's but ours says so."""
    text = " ".join(str(error).split())
    known = isinstance(error, Unavailable | ContextTooLong)
    return text if known and text else f"{type(error).__name__}: {text}"


def executor_of(given: Executor | str | None, workers: Workers) -> Executor | None:
    """The executor `NAME[:PLACE]`, or the one that was given; None: the run's own.

    Raises `InputError` for one that does not do such work.
    """
    if isinstance(given, str):
        name, _, place = given.partition(":")
        return EXECUTORS.get(name).make(replace(workers, place=place))
    if given is not None and workers.waits:
        raise InputError("an executor for work that waits is given by its name, as in ray:ADDRESS")
    return given


def on_gpus(workers: Workers, asked: Asked) -> Workers:
    """With a GPU for each where the models are in the process (`hf:`)."""
    models = (asked.model or "", asked.tester or "")
    return replace(workers, gpus=1.0) if any(m.startswith("hf:") for m in models) else workers
