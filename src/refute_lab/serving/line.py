"""The line before the sandboxes: bounded, fair between tenants, and left by who has gone."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Job = Callable[[], Awaitable[Any]]
_LONGEST_WAIT = 60
"""Seconds, the most that a client is told to wait."""
_WEIGHT = 0.1
"""Of a new duration in the mean."""


class Busy(Exception):
    """There is no room in the line; `seconds`: when to try again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class TooMany(Exception):
    """So many jobs at once do not fit into the line even when it is empty."""


_Request = deque[tuple["asyncio.Future[Any]", Job]]
"""The jobs of one request that have not begun."""


class Line:
    """Jobs that wait for one of `places`. For one event loop.

    Tenants take turns, and so do the requests of a tenant: neither many requests nor a large batch
    holds up the others. `most`: jobs of one tenant that may wait.
    """

    def __init__(self, places: int, most: int) -> None:
        self.places = places
        self.most = most
        self.running = 0
        self.seconds = 0.0
        """What a job takes, the mean of the last ones."""
        self._tenants: OrderedDict[str, deque[_Request]] = OrderedDict()
        """Who has jobs in the line, who is next first; the same for the requests of each."""
        self._begun: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Jobs in the line, of all tenants."""
        return sum(map(self._count, self._tenants))

    @contextmanager
    def entered(self, tenant: str, jobs: Sequence[Job]) -> Iterator[list[asyncio.Future[Any]]]:
        """Line up the jobs of one request, all of them or none; a future for each.

        Those that have not begun when the caller goes on are dropped; one that has begun ends by
        its own limits, and keeps its place until then. Raises `Busy` and `TooMany`.
        """
        free = 0 if self._tenants else max(0, self.places - self.running)
        if len(jobs) > self.most + self.places:
            raise TooMany
        over = self._count(tenant) + len(jobs) - self.most - free
        if over > 0:
            seconds = over * (self.seconds or 1.0) / self.places
            raise Busy(max(1, min(_LONGEST_WAIT, math.ceil(seconds))))
        loop = asyncio.get_running_loop()
        request = deque((loop.create_future(), job) for job in jobs)
        futures = [future for future, _ in request]
        if request:
            self._tenants.setdefault(tenant, deque()).append(request)
        self._fill()
        try:
            yield futures
        finally:
            self._leave(tenant, request)
            for future in futures:
                future.cancel()

    async def drained(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while self._begun:
            await asyncio.wait(set(self._begun))

    def _count(self, tenant: str) -> int:
        return sum(map(len, self._tenants.get(tenant, ())))

    def _leave(self, tenant: str, request: _Request) -> None:
        if not request:  # which also is in no line any more
            return
        others = [other for other in self._tenants[tenant] if other is not request]
        self._tenants[tenant] = deque(others)
        if not others:
            del self._tenants[tenant]

    def _fill(self) -> None:
        """Begin what there is a place for."""
        while self.running < self.places and self._tenants:
            tenant, requests = self._tenants.popitem(last=False)
            request = requests.popleft()
            future, job = request.popleft()
            if request:
                requests.append(request)
            if requests:
                self._tenants[tenant] = requests
            self.running += 1
            task = asyncio.get_running_loop().create_task(self._do(future, job))
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)

    async def _do(self, future: asyncio.Future[Any], job: Job) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            result = await job()
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)
        finally:
            self.running -= 1
            taken = clock() - began
            self.seconds += (_WEIGHT if self.seconds else 1.0) * (taken - self.seconds)
            self._fill()
