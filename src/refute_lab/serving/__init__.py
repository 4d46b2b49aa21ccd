"""`refute serve`: verdicts over HTTP, the same as `refute_lab.rewards` gives in process.

The event loop reads requests, checks them (`wire`) and lines them up (`line`); programs run in the
sandboxes of one `refute_lab.rewards.Grader`, and verdicts are made on the trusted side, there.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from refute.core.storage import parse_json
from refute.errors import InputError
from refute_lab.rewards import Task, Test
from refute_lab.rewards.task import Demands, TestData

MOST_MEMORY = 4 << 30
"""Bytes that a program may ask for."""

Read = TypeVar("Read")


class Malformed(Exception):
    """The text is not JSON; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Named:
    """The private tests of a dataset's problem, as a task."""

    dataset: str
    problem: str


@dataclass(frozen=True, slots=True)
class Program:
    """One program to be graded."""

    source: str
    task: Task | Named
    partial: bool
    """True: the reward is the share of tests that are passed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One generated test to be graded."""

    test: Test | str
    """A call, or the source of a file of asserts."""
    reference: str
    faulty: tuple[str, ...]
    how: dict[str, Any]
    """The other arguments of `refute_lab.rewards.grade_test`."""


Asked = Program | Trial
"""Request to a sandbox."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a request."""

    seconds: float
    """Elapsed seconds of a program."""
    datasets: tuple[str, ...] = ()

    @property
    def usual(self) -> float:
        """Elapsed seconds of a program whose task states none."""
        return min(self.seconds, Task.run_seconds)

    def check(self, task: Task) -> None:
        """Raises `InputError`."""
        times = [task.seconds, task.run_seconds, *(test.seconds or 0.0 for test in task.tests)]
        if max(times) > self.seconds:
            raise InputError(
                f"limits of {max(times):g} s: this server gives a program {self.seconds:g} s "
                "(most_seconds)"
            )
        if max(task.memory, *(test.memory or 0 for test in task.tests), 0) > MOST_MEMORY:
            raise InputError(f"limits: a program has {MOST_MEMORY} bytes of memory at most")

    def named(self, dataset: str, problem: str) -> Named:
        """Raises `InputError` where it is not served."""
        if dataset not in self.datasets:
            served = ", ".join(self.datasets) or "none (refute serve --dataset NAME)"
            raise InputError(f"dataset {dataset}: this server has {served}")
        if not problem:
            raise InputError("a dataset needs the id of a `problem`")
        return Named(dataset, problem)


class Grade(msgspec.Struct, forbid_unknown_fields=True):
    """One program, and a task or a problem of a dataset."""

    program: str
    """Source of a module."""
    task: Any = None
    dataset: str = ""
    problem: str = ""
    partial: bool = False
    """True: the reward is the share of tests that are passed."""


class GradeBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Many programs."""

    items: list[Grade]
    """The `task` of one may be the name of one of `tasks`."""
    tasks: dict[str, Any] = {}
    partial: bool = False
    """Of all items."""


class GradeTest(Demands, forbid_unknown_fields=True, kw_only=True):
    """A generated test: a call, or the source of a file of asserts."""

    test: str | TestData
    reference: str
    faulty: Annotated[list[str], Meta(min_length=1)]
    """Programs that the test should tell from it."""


_ANY_TEST = "assert True"
"""Stands for a file of asserts whose own words are not looked at yet."""


def read_trial(body: bytes, bounds: Bounds) -> Trial:
    """A request for what a test is worth. Raises `Malformed` and `InputError`."""
    read = decoded(body, GradeTest)
    how: dict[str, Any] = {
        name: getattr(read, name) for name in ("entry_point", "seconds", "memory")
    }
    compared: dict[str, Any] = {}
    if isinstance(read.test, str):
        parts: dict[str, Any] = {"kind": "asserts", "source": _ANY_TEST}
    else:
        compared = {"atol": read.atol, "checker": read.checker}
        parts = {"kind": "calls", "tests": [read.test]}
    task = _task({**parts, **how, **compared}, bounds)
    programs = len(read.faulty) + 1
    seconds = max(read.seconds, 0, *(test.seconds or 0 for test in task.tests))
    if programs * seconds > bounds.seconds:
        raise InputError(
            f"{programs} programs of {seconds:g} s: this server gives {bounds.seconds:g} s to all "
            "of them (most_seconds); ask for less `seconds`, or of fewer"
        )
    test = read.test if isinstance(read.test, str) else task.tests[0]
    return Trial(test, read.reference, tuple(read.faulty), {**how, **compared})


def read_one(body: bytes, bounds: Bounds) -> Program:
    """A request for one verdict. Raises `Malformed` and `InputError`."""
    return _program(decoded(body, Grade), bounds, {})


def read_batch(body: bytes, bounds: Bounds) -> list[Program]:
    """A request for many verdicts. Raises `Malformed` and `InputError`."""
    batch = decoded(body, GradeBatch)
    tasks = {name: _task(data, bounds, f"tasks.{name}: ") for name, data in batch.tasks.items()}
    return [
        _program(one, bounds, tasks, place=f"items[{index}]: ", partial=batch.partial)
        for index, one in enumerate(batch.items)
    ]


def decoded(body: bytes, form: type[Read]) -> Read:
    """A body of this form. Raises `Malformed` and `InputError`."""
    try:
        value = parse_json(body)
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {' '.join(str(error).split())}") from None
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise InputError(" ".join(str(error).split())) from None


def _program(
    one: Grade,
    bounds: Bounds,
    tasks: dict[str, Task],
    place: str = "",
    partial: bool = False,
) -> Program:
    partial = partial or one.partial
    if (one.task is None) == (not one.dataset):
        raise InputError(f"{place}needs a `task`, or a `dataset` and a `problem`")
    if one.dataset:
        try:
            return Program(one.program, bounds.named(one.dataset, one.problem), partial)
        except InputError as error:
            raise InputError(f"{place}{error}") from None
    if isinstance(one.task, str):
        if one.task not in tasks:
            raise InputError(f"{place}task {one.task!r} is none of `tasks`")
        return Program(one.program, tasks[one.task], partial)
    return Program(one.program, _task(one.task, bounds, place), partial)


def _task(data: Any, bounds: Bounds, place: str = "") -> Task:
    if isinstance(data, dict):
        data = {"run_seconds": bounds.usual, **data}
    try:
        task = Task.from_json(data)
        bounds.check(task)
        _ = task.is_small  # makes ready what is compared: a thread reads large bodies
    except InputError as error:
        raise InputError(f"{place}{error}") from None
    return task


# -- tenants ---------------------------------------------------------------------------------------
# Who may ask, and how much: tokens, each of a tenant; the bytes of its requests that are here, the
# tasks that it asked for lately, and the line before the sandboxes, fair between tenants.


EVERYBODY = "everybody"
"""The tenant of a server without tokens."""
_SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""Pattern of a bearer's token in a header (RFC 6750)."""


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
    def share(self, tenant: str) -> Iterator[Callable[[int], None]]:
        """Hold one request's share until it is answered; what it gives adds bytes to the share, and
        raises `Full`."""
        own = 0

        def add(count: int) -> None:
            nonlocal own
            if self._held[tenant] + count > self.most:
                raise Full
            self._held[tenant] += count
            own += count

        try:
            yield add
        finally:
            self._held[tenant] -= own
            if not self._held[tenant]:
                del self._held[tenant]


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
        self._tasks: dict[str, OrderedDict[bytes, Task]] = {}

    def read(self, tenant: str, body: bytes) -> Program:
        """See `refute_lab.serving.read_one`. Raises `Malformed` and `InputError`."""
        told = _told(body)
        if told is None:
            return read_one(body, self._bounds)
        tasks = self._tasks.setdefault(tenant, OrderedDict())
        text = bytes(told.task)
        task = tasks.get(text)
        if task is not None:
            tasks.move_to_end(text)
            return Program(told.program, task, told.partial)
        read = read_one(body, self._bounds)
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
        """Seconds that a job takes, the mean of the last ones."""
        self._tenants: OrderedDict[str, deque[_Request]] = OrderedDict()
        """Tenants with jobs in the line, the next first, and their requests in the same order."""
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


# -- serving ---------------------------------------------------------------------------------------
