"""Work that waits for a sandbox's server, in steps.

For a thread that waits with it, or for an event loop that goes on meanwhile: to wake a thread for
each program costs more than what the trusted side does with it.
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from refute.core.problems import Invocation
from refute.errors import SandboxUnavailable
from refute.sandbox.contract import Limits, Outcome, Program, Sandbox

__all__ = ["SILENCE", "Waits", "finished", "run_in_steps", "silent", "waited"]

Result = TypeVar("Result")
SILENCE = 60.0
"""Seconds without a word of a server, which gives signs of life twelve times as often."""
Waits = Generator[socket.socket | None, None, Result]
"""Steps, each with what the next waits for: that a socket can be read; None: that a server starts,
which takes a thread for a while. Who goes on at once waits in the next step."""


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
    """All of the steps in this event loop, which goes on meanwhile."""

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
    """What is said of a server that does not say a word."""
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
