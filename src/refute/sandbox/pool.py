"""A few sandboxes behind an async interface, for many problems that are worked on at once.

A `LocalSandbox` serves one thread at a time and blocks while a program runs. The pool gives each of
its threads a sandbox of its own; a job waits for a free thread, never for a certain sandbox.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from refute.errors import SandboxUnavailable
from refute.problems import Invocation
from refute.sandbox.contract import DEFAULT_LIMITS, Limits, Outcome, Program, Sandbox, takes_code

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
    """`size` sandboxes in as many threads; implements `AsyncSandbox`.

    Sandboxes start on first use. One whose server died is replaced and the job run once more; when
    the fresh one fails as well, `SandboxUnavailable` is raised. Use as a context manager, or call
    `close`. A caller that is cancelled leaves its job to end by the job's own limits.
    """

    def __init__(self, size: int, make: Callable[[], Sandbox] = _local) -> None:
        """`make`: makes a sandbox; called in the thread that will use it."""
        if size < 1:
            raise ValueError(f"a pool of {size} sandboxes")
        self._make = make
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="sandbox")
        self._own = threading.local()
        self._boxes: set[Sandbox] = set()
        self._lock = threading.Lock()
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
        """Run `job` in a thread of the pool, with that thread's sandbox; it may run twice."""
        import asyncio

        return await asyncio.wrap_future(self.submit(job))

    def submit(self, job: Callable[[Sandbox], Result]) -> Future[Result]:
        """As `do`, for callers without an event loop."""
        if self._closed:
            raise SandboxUnavailable("the pool of sandboxes is closed")
        return self._threads.submit(self._once, job)

    def _once(self, job: Callable[[Sandbox], Result]) -> Result:
        try:
            return job(self._box())
        except SandboxUnavailable:
            self._drop()
        try:
            return job(self._box())
        except SandboxUnavailable:
            self._drop()
            raise

    def _box(self) -> Sandbox:
        """This thread's sandbox."""
        box: Sandbox | None = getattr(self._own, "box", None)
        if box is None:
            box = self._own.box = self._make()
            with self._lock:
                self._boxes.add(box)
        return box

    def _drop(self) -> None:
        """Close this thread's sandbox; the next job makes another."""
        box: Sandbox | None = getattr(self._own, "box", None)
        self._own.box = None
        if box is not None:
            with self._lock:
                self._boxes.discard(box)
            box.close()

    def close(self) -> None:
        """Wait for the jobs under way, give up the waiting ones, end every sandbox; idempotent."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._boxes:
            self._boxes.pop().close()

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
