"""Executors: where the work units of a run are done. The driver alone writes the journal.

A unit is small, holds all that its work needs, and may be done twice (a worker that dies takes its
unit with it); what comes back is a record, a dataclass of plain data. So an executor may be
anything that can do units somewhere and hand records back: processes, an event loop, a cluster.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import refute
from refute.core.processes import Failed, cores, run_tasks
from refute.core.registry import Registry
from refute.core.remarks import remark
from refute.core.storage import parse_json, write_atomically
from refute.errors import (
    AnswersPending,
    BudgetExceeded,
    ContextTooLong,
    InputError,
    LimitReached,
    Unavailable,
)
from refute_lab.runs import (
    ErrorRecord,
    Journal,
    PutOff,
    R,
    Record,
    Schema,
    Sent,
    WithFiles,
    read_record,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Requirements on an executor chosen by name, for work that computes: what waits for a model
    is done in one process."""

    jobs: int | None = None
    """Workers at most; None: as many as it deems right."""
    place: str = ""
    """Text after the name: `--executor NAME:PLACE`."""
    memory: int = 0
    """Bytes that a worker may well need; 0: not known."""


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
    """The executor `NAME[:PLACE]`, or the one that was given; None: the run's own. Raises
    `InputError`."""
    if isinstance(given, str):
        name, _, place = given.partition(":")
        return EXECUTORS.get(name).make(replace(workers, place=place))
    return given


# -- run -------------------------------------------------------------------------------------------
# One run: settings and journal in a folder, and units of work that an executor does.


Settings = TypeVar("Settings")

PATIENCE = 5
"""Units that may fail before a run without any result is given up."""


def versions() -> dict[str, str]:
    """Return the versions that a header names: the program that made the records."""
    return {
        "refute": refute.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def resumed(settings: Settings, header: Mapping[str, Any], given: Collection[str]) -> Settings:
    """Settings (a dataclass, also with others in its fields) as the header of a run has them, but
    for the names `given` again. Where the two differ the journal refuses to resume."""
    changed: dict[str, Any] = {}
    for one in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, one.name)
        if is_dataclass(value):
            changed[one.name] = resumed(value, header, given)
        elif one.name in header and one.name not in given:
            stored = header[one.name]
            changed[one.name] = tuple(stored) if isinstance(stored, list) else stored
    again: Settings = replace(settings, **changed)  # type: ignore[type-var]
    return again


@dataclass(slots=True)
class Ending:
    """The units that are left without a result."""

    put_off: list[Exception] = field(default_factory=list)
    """Exceptions of the units that have to wait."""
    failed: int = 0
    """Their records say why."""

    @property
    def reason(self) -> str:
        """The reason of the wait, in one line."""
        return str(self.put_off[-1]) if self.put_off else ""


class Run(Generic[R]):
    """An open run. Use as a context manager: leaving it by an exception says how to resume. A
    new run without results leaves nothing behind."""

    def __init__(
        self,
        directory: Path,
        header: Mapping[str, Any],
        schema: Schema[R],
        *,
        again: str = "",
    ) -> None:
        """Start the run, or resume the one that is there; see `Journal`, also for what is raised.
        `again`: the command that resumes it."""
        self.again = again
        self.journal = Journal(directory, header, schema)

    @property
    def directory(self) -> Path:
        """The run's folder."""
        return self.journal.directory

    @property
    def records(self) -> dict[str, R | ErrorRecord]:
        """The records so far, by id."""
        return self.journal.records

    def do(
        self,
        units: Mapping[str, Unit],
        start: Callable[[], Any],
        executor: Executor,
        *,
        progress: Callable[[int], None] = lambda done: None,
        stands: Callable[[Unit, R], bool] = lambda unit, record: True,
        unavailable: type[Exception] = Unavailable,
    ) -> Ending:
        """Do the units, by their ids, that have no result; `progress` receives how many have one.

        What `start` gives does a pair of id and unit (see the executor).

        An error record does not count as a result, and a record that no longer `stands` is made
        anew. A unit without answers or budget gets no record: the next start takes it up. Any other
        failure becomes an error record. Bad input ends the run, and so does whatever is
        unavailable where the first few units all fail for want of it.
        """
        left = self._left(units, stands)
        todo = _Todo(self.journal, len(units) - len(left), progress, unavailable)
        executor.run(left, start, todo.done)
        return todo.ending

    async def do_here(
        self,
        units: Mapping[str, Unit],
        start: Callable[[], Any],
        executor: Concurrent,
        *,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Ending:
        """`do` in the running event loop."""
        left = self._left(units, lambda unit, record: True)
        todo = _Todo(self.journal, len(units) - len(left), progress)
        await executor.run_here(left, start, todo.done)
        return todo.ending

    def _left(
        self, units: Mapping[str, Unit], stands: Callable[[Unit, R], bool]
    ) -> list[tuple[str, Unit]]:
        def has_result(name: str, unit: Unit) -> bool:
            record = self.records.get(name)
            if record is None or isinstance(record, ErrorRecord):
                return False
            return stands(unit, record)

        return [(name, unit) for name, unit in units.items() if not has_result(name, unit)]

    def close(self) -> None:
        """Release the run; idempotent."""
        self.journal.close()

    def __enter__(self) -> Run[R]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        nothing = isinstance(error, Exception) and self.journal.begun and not self.records
        if error is not None and self.again and not nothing:
            remark([f"stopped; resume with: {self.again}"])
        self.close()
        if nothing:
            self.journal.discard()


class _Todo(Generic[R]):
    """Outcomes of the units of one call of `Run.do`."""

    def __init__(
        self,
        journal: Journal[R],
        finished: int,
        progress: Callable[[int], None],
        unavailable: type[Exception] = Unavailable,
    ) -> None:
        self.ending = Ending()
        self._journal, self._finished = journal, finished
        self._progress, self._unavailable = progress, unavailable
        self._any_result = False
        progress(finished)

    def done(
        self, unit: tuple[str, Any], result: Record | WithFiles | PutOff | Sent | Failed
    ) -> None:
        """Write down what became of a unit."""
        name, _ = unit
        if isinstance(result, Sent):
            result = self._read(name, result)
        if isinstance(result, PutOff):
            self.ending.put_off.append(AnswersPending(result.reason))
            return
        if isinstance(result, WithFiles):  # the files first: a record says that they are there
            for path, data in result.files.items():
                self._write(path, data)
            result = result.record
        if isinstance(result, Failed):
            if result.fatal:
                raise self._unavailable(result.reason)
            if isinstance(result.error, AnswersPending | BudgetExceeded):
                self.ending.put_off.append(result.error)
                return
            self._give_up(result.error)
            self._journal.append(ErrorRecord(name, result.reason))
        elif isinstance(result, ErrorRecord | self._journal.schema.type):
            self._any_result = True
            self._journal.append(result)
        else:
            raise TypeError(
                f"{type(result).__name__} is not a {self._journal.schema.type.__name__}"
            )
        self._finished += 1
        self._progress(self._finished)

    def _read(self, name: str, sent: Sent) -> WithFiles | Failed:
        """Return another machine's record of a unit."""
        try:
            record = read_record(parse_json(sent.line), self._journal.schema)
        except ValueError as error:
            return Failed(f"what came back is not a record: {error}")
        if record.id != name:
            return Failed(f"what came back is a record of {record.id!r}")
        return WithFiles(record, sent.files)

    def _write(self, path: str, data: bytes) -> None:
        write_atomically(self._place(path), data)

    def _place(self, path: str) -> Path:
        parts = PurePosixPath(path).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError(f"{path!r}: no file of a run's folder")
        target = self._journal.directory.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _give_up(self, error: Exception | None) -> None:
        """Raise where no other unit would fare better."""
        if isinstance(error, InputError):
            raise error
        self.ending.failed += 1
        hopeless = self.ending.failed >= PATIENCE and not self._any_result
        if hopeless and isinstance(error, Unavailable | LimitReached):
            raise error
