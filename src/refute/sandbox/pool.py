"""A few sandboxes behind an async interface, for many problems that are worked on at once.

A `LocalSandbox` does one job at a time. A job of the pool waits for a free place, never for a
certain sandbox.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

from refute.core.problems import Invocation
from refute.errors import SandboxUnavailable
from refute.sandbox.contract import DEFAULT_LIMITS, Limits, Outcome, Program, Sandbox, takes_code
from refute.sandbox.waiting import Waits, finished, waited

__all__ = ["AsyncSandbox", "InlineSandbox", "SandboxPool"]

Result = TypeVar("Result")


class AsyncSandbox(Protocol):
    """`Sandbox` for coroutines: any number of calls at once, results as there."""

    async def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = ...
    ) -> list[Outcome]:
        """See `Sandbox.run`."""
        ...

    async def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = ...
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        ...

    async def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        ...

    async def do(self, job: Callable[[Sandbox], Result]) -> Result:
        """What `job` returns for a sandbox that no other job uses meanwhile; it may run twice."""
        ...


class InlineSandbox:
    """One sandbox in this very thread, which waits for it; implements `AsyncSandbox`.

    For a worker process, which has one problem at a time. It is not closed here.
    """

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    async def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = DEFAULT_LIMITS
    ) -> list[Outcome]:
        """See `Sandbox.run`."""
        return self._box.run(program, calls, limits)

    async def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        return self._box.run_variants(programs, calls, limits)

    async def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return takes_code(self._box)

    async def do(self, job: Callable[[Sandbox], Result]) -> Result:
        """See `AsyncSandbox.do`; it runs once."""
        return job(self._box)


def _local() -> Sandbox:
    from refute.sandbox.local import LocalSandbox

    return LocalSandbox()


class SandboxPool:
    """`size` sandboxes and as many threads; implements `AsyncSandbox`.

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

    async def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return await self.do(lambda box: box.protections())

    async def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return await self.do(takes_code)

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
