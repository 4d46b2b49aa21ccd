"""Call a verb in a process of its own: it can be cancelled, and takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from refute.core.starting import start_module
from refute.doors.worker import Done, Event, Failed, Progress, Request

_LONGEST = 256 << 20
"""Bytes of one event: documents of large folders are long."""
_BEAT = 5.0
"""Seconds without news until a message says that the work continues."""
_ENDING: set[asyncio.Task[int]] = set()
Told = Callable[[float, str], Awaitable[None]]
"""Receives the seconds so far, and the progress of the work."""


async def _silent(seconds: float, line: str) -> None: ...


async def call(
    verb: str,
    arguments: Mapping[str, Any],
    *,
    root: Path,
    seconds: float,
    asked: Mapping[str, Any] | None = None,
    outside: bool = False,
    told: Told = _silent,
) -> Done | Failed:
    """Run the verb in the folder `root`. After `seconds` it is asked to stop: verbs over functions
    return what they have. Cancelled, it is stopped too."""
    try:
        process = await _started(root)
    except OSError as error:
        return Failed("unavailable", f"{root}: {error.strerror}")
    assert process.stdin is not None
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    start = loop.time()
    stop = loop.call_later(seconds, process.stdin.close)
    last = "working"
    try:
        request = Request(verb, dict(arguments), dict(asked or {}), outside)
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        while True:
            event = await _next(process.stdout)
            if isinstance(event, Done):
                return event
            if isinstance(event, Failed):
                return _named(event, seconds if loop.time() - start >= seconds else None)
            last = event.message if isinstance(event, Progress) else last
            await told(loop.time() - start, last)
    finally:
        stop.cancel()
        process.stdin.close()  # which ends it: see `worker`
        ending = asyncio.create_task(process.wait())
        _ENDING.add(ending)
        ending.add_done_callback(_ENDING.discard)


async def all_ended() -> None:
    """Wait for the processes of calls that are over: some still clean up."""
    if _ENDING:
        await asyncio.wait(_ENDING)


async def _started(root: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *start_module("refute.doors.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=root,
        limit=_LONGEST,
        start_new_session=True,  # the terminal's Ctrl-C is not for it
    )


async def _next(stream: asyncio.StreamReader) -> Event | None:
    """The next event; None where there is none for a while."""
    try:
        async with asyncio.timeout(_BEAT):
            line = await stream.readline()
    except TimeoutError:
        return None
    if not line:
        return Failed("internal", "the process of the call ended without an answer")
    event: Event = msgspec.json.decode(line, type=Progress | Done | Failed)
    return event


def _named(failed: Failed, limit: float | None) -> Failed:
    if limit is None:
        return failed
    return Failed("stopped", f"time_limit of {limit:g} s reached before there was a result")
