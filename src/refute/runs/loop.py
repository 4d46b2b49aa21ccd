"""One asyncio loop over the tasks of a run that mostly wait: for a model, for tests.

Many tasks are worked on at once; what is finished is journalled at once and leaves its place to the
next. What has to wait (answers of a batch, a spent budget) gets no record, so that the next start
takes it up again; what failed gets a record that says why, and is tried again as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.runs.journal import Journal

__all__ = ["Ending", "work_off"]

Record = dict[str, Any]

PATIENCE = 5
"""Tasks that may fail before a run without any result is given up."""


@dataclass(slots=True)
class Ending:
    """The tasks that are left without a result."""

    put_off: list[Exception] = field(default_factory=list)
    """What each task that has to wait is waiting for."""
    failed: int = 0
    """Their records say why."""

    @property
    def reason(self) -> str:
        """What is waited for, in one line."""
        return str(self.put_off[-1]) if self.put_off else ""


async def work_off(
    names: Sequence[str],
    do: Callable[[str, Callable[[], None]], Awaitable[Record]],
    *,
    journal: Journal,
    at_once: int,
    progress: Callable[[int], None],
    later: tuple[type[Exception], ...],
    hopeless: tuple[type[Exception], ...],
    unavailable: tuple[type[Exception], ...],
    failed: Callable[[str, Exception], Record],
) -> Ending:
    """Do the tasks that have no result in the journal; `progress` is told how many have.

    `do` gives the record of a task, whose `id` is the task's name. An exception of a kind in
    `later` puts the task off, one in `hopeless` (a damaged file, say: no other task would fare
    better) ends the run; any other becomes the record that `failed` makes of it (`status`
    "error"). Raises an exception of a kind in `unavailable` when the first few tasks all fail and
    that was the last reason: then no other could work.

    A task's place among the `at_once` goes to the next as soon as `do` calls `leave`, its second
    argument: what it does after that (grading, say) holds up nobody.
    """
    done = {name for name, record in journal.records.items() if record.get("status") != "error"}
    left = [name for name in names if name not in done]
    finished = len(names) - len(left)
    progress(finished)
    ending = Ending()
    places = asyncio.Semaphore(at_once)
    writing = asyncio.Lock()
    any_result = False

    async def seated(name: str) -> Record:
        await places.acquire()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                places.release()

        try:
            return await do(name, leave)
        finally:
            leave()

    async def one(name: str) -> None:
        nonlocal finished, any_result
        try:
            record = await seated(name)
            any_result = True
        except later as error:
            ending.put_off.append(error)
            return
        except hopeless:
            raise
        except Exception as error:
            ending.failed += 1
            if ending.failed >= PATIENCE and not any_result and isinstance(error, unavailable):
                raise
            record = failed(name, error)
        async with writing:
            await asyncio.to_thread(journal.append, record)
        finished += 1
        progress(finished)

    try:
        async with asyncio.TaskGroup() as group:
            for name in left:
                group.create_task(one(name))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return ending
