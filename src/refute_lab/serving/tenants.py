"""Who may ask, and how much: tokens, each of a tenant; the bytes of its requests that are here, the
tasks that it asked for lately, and the line before the sandboxes, fair between tenants."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from refute.errors import InputError
from refute_lab.rewards import Task
from refute_lab.rewards.task import Kind
from refute_lab.serving.requests import Bounds, Program, read_one

EVERYBODY = "everybody"
"""The tenant of a server without tokens."""
_SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What a header may hold as a bearer's token (RFC 6750)."""


class Tokens:
    """Tokens by their digests, so that a look-up takes as long for one that is nearly right."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens`: token -> tenant."""
        self._tenants = {_digest(token): tenant for token, tenant in tokens.items()}

    def __len__(self) -> int:
        return len(self._tenants)

    def tenant(self, authorization: str | None) -> str | None:
        """The tenant that a header ``Authorization: Bearer TOKEN`` names; None: nobody."""
        if not self._tenants:
            return EVERYBODY
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._tenants.get(_digest(token.strip()))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def read_tokens(text: str, source: str) -> Tokens:
    """Lines ``TENANT TOKEN``; empty ones and those that begin with ``#`` say nothing. A tenant may
    have several tokens. `source`: what the text is of, for messages. Raises `InputError`, whose
    message holds no token."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where, parts = f"{source}, line {number}", line.split()
        if len(parts) != 2:
            raise InputError(f"{where}: a line is TENANT TOKEN")
        tenant, token = parts
        if not _NAME.fullmatch(tenant):
            raise InputError(f"{where}: a tenant's name is of letters, digits, '_', '.' and '-'")
        if not _TOKEN.fullmatch(token) or len(token) < _SHORTEST:
            raise InputError(
                f"{where}: a token has {_SHORTEST} characters and more, of letters, digits and "
                "._~+/=- (openssl rand -hex 32)"
            )
        if found.setdefault(token, tenant) != tenant:
            raise InputError(f"{where}: the token is another tenant's too")
    if not found:
        raise InputError(f"{source}: no token; a line is TENANT TOKEN")
    return Tokens(found)


# -- held ------------------------------------------------------------------------------------------


class Full(Exception):
    """The tenant has as much here as it may."""


class Held:
    """Counts bytes for each tenant, up to `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()

    @contextmanager
    def share(self, tenant: str) -> Iterator[Share]:
        """Hold one request's share until it is answered."""
        share = Share(self, tenant)
        try:
            yield share
        finally:
            self._held[tenant] -= share.bytes
            if not self._held[tenant]:
                del self._held[tenant]

    def add(self, tenant: str, count: int) -> None:
        """Raises `Full`."""
        if self._held[tenant] + count > self.most:
            raise Full
        self._held[tenant] += count


class Share:
    """See `Held.share`."""

    def __init__(self, held: Held, tenant: str) -> None:
        self._held = held
        self._tenant = tenant
        self.bytes = 0

    def add(self, count: int) -> None:
        """Raises `Full`."""
        self._held.add(self._tenant, count)
        self.bytes += count


# -- known -----------------------------------------------------------------------------------------


_MOST = 64
"""Tasks of a tenant that are kept."""
_LARGEST = 1 << 14
"""Bytes of the text of one."""


class _Told(msgspec.Struct, forbid_unknown_fields=True):
    program: str
    task: msgspec.Raw
    partial: bool = False


class Known:
    """Reads requests for one verdict. What it keeps of a tenant, no other tenant meets."""

    def __init__(self, bounds: Bounds) -> None:
        """For one thread: that of the event loop."""
        self._bounds = bounds
        self._tasks: dict[tuple[str, Kind | None], OrderedDict[bytes, Task]] = {}

    def read(self, tenant: str, body: bytes, kind: Kind | None = None) -> Program:
        """See `refute_lab.serving.requests.read_one`. Raises `Malformed` and `InputError`."""
        told = _told(body)
        if told is None:
            return read_one(body, self._bounds, kind)
        tasks = self._tasks.setdefault((tenant, kind), OrderedDict())
        text = bytes(told.task)
        task = tasks.get(text)
        if task is not None:
            tasks.move_to_end(text)
            return Program(told.program, task, told.partial)
        read = read_one(body, self._bounds, kind)
        if isinstance(read.task, Task) and read.task.is_small:
            tasks[text] = read.task
            if len(tasks) > _MOST:
                tasks.popitem(last=False)
        return read


def _told(body: bytes) -> _Told | None:
    """The request with the task as text; None where it is another request, or not a right one."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return told if len(told.task) <= _LARGEST else None


# -- line ------------------------------------------------------------------------------------------


Job = Callable[[], Awaitable[Any]]
_LONGEST_WAIT = 60
"""Seconds, the most that a client must wait."""
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

        Those that have not begun when the caller continues are dropped; one that has begun ends by
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
