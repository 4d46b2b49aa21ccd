"""A worker on a Ray cluster: it sets itself up once, and answers units.

Ray hands the driver whatever a worker returns by unpickling it. So what is returned here is made of
texts and bytes alone: of a record its line of the journal, which the driver reads and checks as it
does a journal's; of an exception its name and its message.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from refute_lab.runs.executors import Clerk, one_line
from refute_lab.runs.journal import PutOff, WithFiles, as_data
from refute_lab.runs.run import versions

Answer = (
    tuple[str, bytes, dict[str, bytes]]
    | tuple[str, str, dict[str, bytes]]
    | tuple[str, str, str, str]
)
"""`("done", line, files)`, `("put off", reason, lines)`, or `("failed", reason, name of the
exception, its message)`."""


def done(result: Any) -> Answer:
    """A unit's record as it is sent, or why there is none yet."""
    if isinstance(result, PutOff):
        return "put off", result.reason, dict(result.lines)
    files = dict(result.files) if isinstance(result, WithFiles) else {}
    record = result.record if isinstance(result, WithFiles) else result
    return "done", json.dumps(as_data(record), separators=(",", ":")).encode(), files


def failed(error: Exception) -> Answer:
    """An exception as it is sent."""
    return "failed", one_line(error), type(error).__name__, " ".join(str(error).split())


class Computing:
    """A worker for work that computes; see `Processes`."""

    def __init__(self, start: Callable[[], Callable[[Any], Any]], clerk: None) -> None:
        self._start = start

    def ready(self) -> dict[str, str] | Answer:
        """Set up; says which versions are here."""
        try:
            self._do = self._start()
        except Exception as error:
            return failed(error)
        return versions()

    def do(self, unit: Any, brief: str) -> tuple[Answer, str]:
        """Do a unit; there is nothing to be brief about."""
        try:
            return done(self._do(unit)), ""
        except Exception as error:
            return failed(error), ""


class Waiting:
    """A worker for work that waits; see `Concurrent`. What holds a unit's place ends with it.

    With what became of a unit goes what the clerk says.
    """

    def __init__(self, start: Callable[[], Any], clerk: Clerk | None) -> None:
        self._start, self._clerk = start, clerk

    async def ready(self) -> dict[str, str] | Answer:
        """Set up; says which versions are here."""
        self._ended = asyncio.Event()
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._holder = asyncio.create_task(self._hold(opened))
        try:
            await opened
        except Exception as error:
            return failed(error)
        return versions()

    async def _hold(self, opened: asyncio.Future[None]) -> None:
        """Keep open what the units need. They are done in the context that it leaves."""
        try:
            with self._clerk.opened() if self._clerk else nullcontext():
                async with self._start() as self._do:
                    self._context = contextvars.copy_context()
                    opened.set_result(None)
                    await self._ended.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)

    async def do(self, unit: Any, brief: str) -> tuple[Answer, str]:
        """Do a unit."""
        if self._clerk is not None:
            self._clerk.told(brief)
        task = asyncio.get_running_loop().create_task(
            self._do(unit, lambda: None), context=self._context.copy()
        )
        try:
            answer = done(await task)
        except Exception as error:
            answer = failed(error)
        return answer, self._says()

    async def close(self) -> str:
        """Close what was opened."""
        self._ended.set()
        await self._holder
        return self._says()

    def _says(self) -> str:
        return "" if self._clerk is None else self._clerk.says()
