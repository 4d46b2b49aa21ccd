"""Run tasks in worker processes that may die: each sets itself up once, and is replaced.

`concurrent.futures` gives up the whole pool when one worker dies; here only its task fails.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from multiprocessing.synchronize import BoundedSemaphore
from typing import Any, Generic, TypeVar

from refute.source.syntax import lifted_limits

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failed:
    """A task that has no result: `reason` is one line; `fatal` when no other task could work."""

    reason: str
    fatal: bool = False
    error: Exception | None = None
    """Exception that was raised in this process."""


@dataclass(slots=True)
class _Seat(Generic[Task]):
    """One worker process, and the task it is working on."""

    process: BaseProcess
    channel: Connection
    task: Task | None = None


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_tasks(
    tasks: Iterable[Task],
    *,
    start: Callable[[], Callable[[Task], Result]],
    jobs: int,
    retries: int = 1,
) -> Generator[tuple[Task, Result | Failed], None, None]:
    """Yield each task with its result, in the order in which they finish.

    `start` is called once in each of `jobs` processes and returns the function that does the
    tasks; it must be picklable (processes are spawned). An exception that `start` raises is fatal;
    one that a task raises, or the end of its process, fails that task after `retries` more tries.
    Closing the generator ends the workers at once; they also end when this process dies.
    """
    waiting = [(task, 0) for task in tasks]
    waiting.reverse()
    tries: dict[int, int] = {}
    seats: list[_Seat[Task]] = []

    def seat() -> _Seat[Task]:
        with spawning() as context:
            ensure_running()  # of `multiprocessing`: when it starts, it lets interrupts through
            with _interrupts_held():
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs, start), daemon=False)
                process.start()
        theirs.close()
        return _Seat(process, ours)

    def give(to: _Seat[Task]) -> None:
        if waiting:
            task, tried = waiting.pop()
            to.task = task
            tries[id(task)] = tried
            to.channel.send(task)

    def failed(task: Task, reason: str) -> Failed | None:
        """None when the task is tried once more."""
        if tries[id(task)] < retries:
            waiting.append((task, tries[id(task)] + 1))
            return None
        return Failed(reason)

    try:
        for _ in range(max(1, min(jobs, len(waiting)))):
            if waiting:
                seats.append(seat())
        for one in seats:
            give(one)
        while busy := [one for one in seats if one.task is not None]:
            for channel in wait([one.channel for one in busy]):
                one = next(s for s in busy if s.channel is channel)
                task = one.task
                assert task is not None
                one.task = None
                result: Any
                try:
                    kind, result = one.channel.recv()
                except (EOFError, OSError):
                    one.process.join(5)
                    kind = "died"
                    result = f"its worker ended: {_ending(one.process.exitcode)}"
                    seats.remove(one)
                    _end([one])
                    one = seat()
                    seats.append(one)
                if kind == "fatal":
                    yield task, Failed(result, fatal=True)
                    return
                outcome = result if kind == "done" else failed(task, result)
                give(one)
                if outcome is not None:
                    yield task, outcome
    finally:
        _end(seats)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A Ctrl-C waits until a worker is started, so that it does not hit one that is starting."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit status {code}"


def _end(seats: Iterable[_Seat[Any]]) -> None:
    for one in seats:
        one.channel.close()
        one.process.terminate()
    for one in seats:
        one.process.join(5)
        if one.process.is_alive():
            one.process.kill()
            one.process.join()


def _work(channel: Connection, start: Callable[[], Callable[[Any], Any]]) -> None:
    """A worker process: set up, then answer tasks until the channel ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends us
    signal.signal(signal.SIGTERM, _stop)
    _die_with_parent()
    try:
        try:
            work = start()
        except Exception as error:
            channel.recv()
            channel.send(("fatal", _one_line(error)))
            return
        while True:
            task = channel.recv()
            try:
                with lifted_limits():
                    answer = ("done", work(task))
            except Exception as error:
                answer = ("failed", _one_line(error))
            channel.send(answer)
    except (EOFError, OSError):
        return
    finally:
        # a process ends once: finalizers are not broken off
        signal.signal(signal.SIGTERM, _go_on)


def _stop(*_: object) -> None:
    raise SystemExit(0)  # so that context managers and finalizers run


def _go_on(*_: object) -> None:
    """For a signal that has come already, SIG_IGN would print that it is too late."""


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


_SAFE = "PYTHONSAFEPATH"


@contextmanager
def spawning() -> Iterator[SpawnContext]:
    """The context that processes and what they share are made in, while this lasts."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield multiprocessing.get_context("spawn")
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


def shared_slots(count: int) -> BoundedSemaphore:
    """`count` places that tasks in several worker processes take turns in."""
    with spawning() as context:  # it starts a process that watches over what is shared
        return context.BoundedSemaphore(count)
