"""Sandboxes for many problems at once, and work that waits for a sandbox's server in steps.

A `LocalSandbox` does one job at a time. A job of the pool waits for a free place, never for a
certain sandbox. A thread waits for a server, or an event loop that does other work meanwhile: to
wake a thread for each program costs more than the trusted side's own work.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from refute.core.problems import Invocation
from refute.errors import SandboxUnavailable
from refute.sandbox.contract import (
    DEFAULT_LIMITS,
    Limits,
    NotRun,
    Outcome,
    Program,
    Sandbox,
    takes_code,
)

Result = TypeVar("Result")

SILENCE = 60.0
"""Seconds without a word of a server, which gives signs of life twelve times as often."""
Waits = Generator[socket.socket | None, None, Result]
"""Steps, each with what the next waits for: that a socket can be read; None: that a server starts,
which takes a thread for a while. A caller that continues at once waits in the next step."""


def finished(steps: Waits[Result]) -> Result:
    """All of the steps in this thread, which waits."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def run_in_steps(
    box: Sandbox, program: Program, calls: Sequence[Invocation], limits: Limits
) -> Waits[list[Outcome]]:
    """As `Sandbox.run`; one step where the sandbox knows no smaller ones."""
    steps = getattr(box, "steps", None)
    if steps is None:
        return box.run(program, calls, limits)
    results = yield from steps([program], calls, limits)
    return results[0]  # type: ignore[no-any-return]


async def waited(steps: Waits[Result]) -> Result:
    """Run all steps in this event loop, which does other work meanwhile."""

    try:
        turn = _next(steps)
        while not isinstance(turn, _End):
            if turn is None:
                turn = await _in_thread(steps)
                continue
            try:
                await _readable(turn)
            except TimeoutError:
                steps.throw(silent())
            turn = _next(steps)
        return turn.value
    finally:
        steps.close()


async def _in_thread(steps: Waits[Result]) -> socket.socket | _End[Result] | None:
    """The next step in a thread. A caller that goes away waits for it all the same: a server that
    starts belongs to a sandbox, which no other job may have meanwhile."""
    import asyncio

    step = asyncio.ensure_future(asyncio.to_thread(_next, steps))
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        while not step.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([step])
        raise


def silent() -> SandboxUnavailable:
    """Return the error for a server that gives no sign of life."""
    return SandboxUnavailable(f"no word from the server for {SILENCE:g} s")


@dataclass(frozen=True, slots=True)
class _End(Generic[Result]):
    value: Result


def _next(steps: Waits[Result]) -> socket.socket | _End[Result] | None:
    try:
        return next(steps)
    except StopIteration as end:
        return _End(end.value)


async def _readable(channel: socket.socket) -> None:
    """Wait until it can be read. Raises `TimeoutError`."""
    import asyncio

    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    place = channel.fileno()
    loop.add_reader(place, _set, ready)
    silence = loop.call_later(SILENCE, _give_up, ready)
    try:
        await ready
    finally:
        silence.cancel()
        loop.remove_reader(place)


def _set(ready: Any) -> None:
    if not ready.done():
        ready.set_result(None)


def _give_up(ready: Any) -> None:
    if not ready.done():
        ready.set_exception(TimeoutError())


# -- deadline --------------------------------------------------------------------------------------


def end_after(seconds: float | None) -> float:
    """`time.monotonic()` when so many seconds are over; None: never.

    A verb takes it as it begins, before anything is read, and hands it on: all processes of a
    machine share this clock.
    """
    return math.inf if seconds is None else time.monotonic() + seconds


@dataclass(slots=True)
class Timed(Sandbox):
    """A sandbox on top of another: what is not done in time is `NotRun`.

    One place holds the promise in wall time, for calls that sleep, slow imports and busy machines.
    """

    box: Sandbox
    deadline: float = math.inf
    """`time.monotonic()` at which to stop."""
    spent: bool = False
    """True: something was not run for lack of time."""

    def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        if self.deadline == math.inf:
            return self.box.run_variants(programs, calls, limits)
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.spent = self.spent or bool(calls)
            return [[NotRun() for _ in calls] for _ in programs]
        if limits.run_wall is None or limits.run_wall > left:
            limits = replace(limits, run_wall=left)
        rows = self.box.run_variants(programs, calls, limits)
        self.spent = self.spent or time.monotonic() >= self.deadline
        return rows

    @contextmanager
    def sooner(self, seconds: float) -> Iterator[None]:
        """Inside, time is up so many seconds sooner: they are kept back for what comes after."""
        self.deadline -= seconds
        try:
            yield
        finally:
            self.deadline += seconds

    @property
    def over(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.deadline

    @property
    def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return takes_code(self.box)

    def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return self.box.protections()

    def close(self) -> None:
        """The sandbox belongs to the caller."""


class AsyncSandbox(Protocol):
    """`Sandbox` for coroutines: any number of calls at once, results as there."""

    async def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = DEFAULT_LIMITS
    ) -> list[Outcome]:
        """See `Sandbox.run`."""
        return await self.do(lambda box: box.run(program, calls, limits))

    async def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        return await self.do(lambda box: box.run_variants(programs, calls, limits))

    async def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return await self.do(takes_code)

    async def do(self, job: Callable[[Sandbox], Result]) -> Result:
        """Run `job` on a sandbox that no other job uses meanwhile, and return its result; it may
        run twice."""
        ...


class InlineSandbox(AsyncSandbox):
    """One sandbox in this very thread, which waits for it.

    For a worker process, which has one problem at a time. It is not closed here.
    """

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    async def do(self, job: Callable[[Sandbox], Result]) -> Result:
        """See `AsyncSandbox.do`; it runs once."""
        return job(self._box)


def _local() -> Sandbox:
    from refute.sandbox.local import LocalSandbox

    return LocalSandbox()


class SandboxPool(AsyncSandbox):
    """`size` sandboxes and as many threads.

    Sandboxes start on first use. One whose server died is replaced and the job run once more; when
    the fresh one fails as well, `SandboxUnavailable` is raised. Use as a context manager, or call
    `close`. A caller that is cancelled leaves its job to end by the job's own limits.
    """

    def __init__(self, size: int, make: Callable[[], Sandbox] = _local) -> None:
        """`make`: makes a sandbox; called in the thread that will use it first."""
        if size < 1:
            raise ValueError(f"a pool of {size} sandboxes")
        self._make = make
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="sandbox")
        self._places = threading.BoundedSemaphore(size)
        self._free: list[Sandbox] = []
        self._closed = False

    async def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return await self.do(lambda box: box.protections())

    async def do(self, job: Callable[[Sandbox], Result]) -> Result:
        """Run `job` in a thread of the pool; it may run twice."""
        import asyncio

        return await asyncio.wrap_future(self.submit(job))

    def submit(self, job: Callable[[Sandbox], Result]) -> Future[Result]:
        """As `do`, for callers without an event loop."""
        if self._closed:
            raise SandboxUnavailable("the pool of sandboxes is closed")
        return self._threads.submit(self._once, job)

    async def do_in_steps(self, job: Callable[[Sandbox], Waits[Result]]) -> Result:
        """As `do`, in this event loop and without a thread where a place is free. For what takes
        next to no time but that of its programs: it runs in the loop."""
        if self._closed or not self._places.acquire(blocking=False):
            return await self.do(lambda box: finished(job(box)))
        try:
            try:
                with self._taken() as box:
                    return await waited(job(box))
            except SandboxUnavailable:
                with self._taken() as box:
                    return await waited(job(box))
        finally:
            self._places.release()

    def _once(self, job: Callable[[Sandbox], Result]) -> Result:
        with self._places:
            try:
                with self._taken() as box:
                    return job(box)
            except SandboxUnavailable:
                with self._taken() as box:
                    return job(box)

    @contextmanager
    def _taken(self) -> Iterator[Sandbox]:
        """A sandbox for one job, the one that was used last; closed where it is not to be had."""
        try:
            box = self._free.pop()
        except IndexError:
            box = self._make()
        try:
            yield box
        except SandboxUnavailable:
            box.close()
            raise
        except BaseException:
            self._give_back(box)
            raise
        self._give_back(box)

    def _give_back(self, box: Sandbox) -> None:
        self._free.append(box)
        if self._closed:
            self._end_free()

    def _end_free(self) -> None:
        while self._free:
            try:
                box = self._free.pop()
            except IndexError:  # another thread was faster
                return
            box.close()

    def close(self) -> None:
        """Wait for the jobs under way, give up the waiting ones, end every sandbox; idempotent."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._end_free()

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
