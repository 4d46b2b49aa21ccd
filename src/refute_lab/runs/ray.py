"""Executor `ray`: workers on the machines of a Ray cluster. The driver alone writes the journal.

A worker is an actor that sets itself up once and has a unit in hand at a time (where it waits, a
few): no more is under way than the workers hold. One that is lost, with its machine or alone, costs
the units in its hand, which go to the next; as the cluster grows, so do the workers.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import queue
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import refute.errors
from refute.core.extras import need
from refute.core.processes import Failed, cores
from refute.core.remarks import remark
from refute.errors import InputError, RefuteError, Unavailable
from refute_lab.runs import PutOff, Sent, WithFiles, as_data
from refute_lab.runs.executors import (
    Clerk,
    Done,
    Executor,
    ExecutorSpec,
    Workers,
    one_line,
    versions,
)

Answer = tuple[str, bytes, dict[str, bytes]] | tuple[str, str] | tuple[str, str, str, str]
"""`("done", line, files)`, `("put off", reason)`, or `("failed", reason, name of the
exception, its message)`."""


def done(result: Any) -> Answer:
    """A unit's record as it is sent, or why there is none yet."""
    if isinstance(result, PutOff):
        return "put off", result.reason
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


# -- ray -------------------------------------------------------------------------------------------


_AHEAD = 4
"""Workers asked for beyond what the cluster holds: what an autoscaler goes by."""
_LOOK = 2.0
"""Seconds between two looks at how large the cluster is."""
_LOST, _RAISED = 4, 2
"""Tries of a unit whose workers are lost, and of one that raises."""
_BAD_STARTS = 5
"""Workers in a row that do not start before no more are asked for."""
_ANSWERS = 10.0
"""Seconds for the cluster's head to answer."""
_GRACE = 10.0
"""Seconds for workers to end by themselves."""
_MODE = "RAY_AUTH_MODE"
"""Ray 2.60 gives clusters a token, which a driver sends to an address only where this says so."""
_STORE = 200 << 20
"""Bytes of the object store of a cluster of our own: units and records are small."""


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """An `Executor` on the cluster at `workers.place`: `HOST:PORT` of its head, `auto` for the one
    that runs here; "" for that of RAY_ADDRESS, else for one of this machine alone."""

    workers: Workers

    def run(self, units: Sequence[Any], start: Callable[[], Any], done: Done) -> None:
        """See `Executor.run`."""
        if units:
            with _connected(self.workers) as fixed:
                _Driver(self.workers, fixed, units, done).run(start)


def _make(workers: Workers) -> Executor:
    if workers.place.startswith("//"):
        told = "the driver has to run on the cluster: see docs/cluster.md on Ray jobs"
        raise InputError(f"--executor ray:{workers.place}: {told}")
    need("cluster", "--executor ray")
    return RayWorkers(workers)


RAY = ExecutorSpec(name="ray", summary="Workers on a Ray cluster: ray[:HOST:PORT].", make=_make)


@contextmanager
def _connected(workers: Workers) -> Iterator[int | None]:
    """Connected to the cluster; how many workers it can hold, where that is known and stays so.
    Raises `Unavailable`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else it tells somebody of us
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if ray.is_initialized():  # the caller's own
        yield None
        return
    address = workers.place or os.environ.get("RAY_ADDRESS", "") or "local"
    own = address == "local"
    jobs = workers.jobs or cores()
    size = {"num_cpus": jobs, "object_store_memory": _STORE, "include_dashboard": False}
    answered = False
    try:
        if re.fullmatch(r"[\w.-]+:\d+", address):  # where nobody listens Ray waits for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), _ANSWERS).close()
            answered = True
        with chdir("/"):  # the current folder comes first on its workers' `sys.path`
            ray.init(address, log_to_driver=False, logging_level="ERROR", **(size if own else {}))
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        told = " ".join(str(error).split())[:200]
        if answered and _MODE not in os.environ:
            told += f" (it answers; if it wants its token, set {_MODE}=token)"
        raise Unavailable(f"no Ray cluster at {address}: {told}") from None
    try:
        yield jobs if own else None
    finally:
        ray.shutdown()


@dataclass(slots=True, eq=False)
class _Worker:
    """An actor, and the units in its hand."""

    handle: Any
    number: int
    ready: bool = False
    units: set[int] = field(default_factory=set)


class _Driver:
    """Hands units to workers, and hears of what becomes of them."""

    def __init__(
        self, workers: Workers, fixed: int | None, units: Sequence[Any], done: Done
    ) -> None:
        self._wanted, self._fixed = workers, fixed
        self._units, self._done = units, done
        self._waiting = deque(range(len(units)))
        self._left = len(units)
        self._lost = dict.fromkeys(range(len(units)), 0)
        self._raised = dict.fromkeys(range(len(units)), 0)
        self._workers: list[_Worker] = []
        self._keeper = workers.keeper
        self._hired = 0
        self._bad_starts, self._why = 0, ""
        self._room, self._looked = 0, 0.0
        self._told = False
        self._heard: queue.SimpleQueue[tuple[_Worker, int | None, Any]] = queue.SimpleQueue()

    def run(self, start: Callable[[], Any]) -> None:
        """Until every unit is done. Raises what `done` raises."""
        import ray

        from refute_lab.runs.ray import Computing, Waiting

        each = self._wanted.each if self._wanted.waits else 1
        options: dict[str, Any] = {
            "num_cpus": 1,
            "num_gpus": self._gpus() or None,
            "memory": self._wanted.memory or None,
            "max_restarts": 0,
            "scheduling_strategy": "SPREAD",
        }
        if self._wanted.waits:
            options["max_concurrency"] = each + 1  # one more to close it
        actor = ray.remote(Waiting if self._wanted.waits else Computing).options(**options)
        given = ray.put(start), ray.put(self._keeper and self._keeper.clerk())
        try:
            while self._left:
                self._hire(lambda: actor.remote(*given), each)
                self._hand_out(each)
                with suppress(queue.Empty):
                    self._hear(*self._heard.get(timeout=_LOOK))
            self._dismiss()
        finally:
            for one in self._workers:
                ray.kill(one.handle)

    # -- workers -----------------------------------------------------------------------------------

    def _gpus(self) -> float:
        """Return a worker's GPUs, if the cluster has any."""
        import ray

        if self._wanted.gpus and not ray.cluster_resources().get("GPU"):
            remark(["the cluster has no GPU: models are computed on its processors"])
            return 0.0
        return self._wanted.gpus

    def _hire(self, make: Callable[[], Any], each: int) -> None:
        """As many workers as there is work for, and room."""
        useful = -(-(self._left) // each)
        at_most = min(useful, self._wanted.jobs or useful, self._space())
        if self._bad_starts >= _BAD_STARTS:
            at_most = 0
            if not self._workers:
                self._done(self._units[0], Failed(self._why, fatal=True))
        while len(self._workers) < at_most:
            one = _Worker(make(), self._hired)
            self._hired += 1
            self._workers.append(one)
            self._listen(one, None, one.handle.ready.remote())

    def _space(self) -> int:
        """Return the number of workers to ask for."""
        if self._fixed is not None:
            return self._fixed
        if time.monotonic() - self._looked > _LOOK:
            self._looked, self._room = time.monotonic(), self._holds()
            if not self._room and not self._told:
                self._told = True
                remark(["no machine of the cluster has room for a worker; waiting for one"])
        return self._room + _AHEAD

    def _holds(self) -> int:
        """Count the workers that fit into the cluster's machines now."""
        import ray

        memory, gpus = self._wanted.memory, self._wanted.gpus
        room = 0
        for node in ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                fits = [int(has.get("CPU", 0))]
                fits += [int(has.get("memory", 0) // memory)] if memory else []
                fits += [int(has.get("GPU", 0) // gpus)] if gpus and has.get("GPU") else []
                room += min(fits)
        return room

    def _hand_out(self, each: int) -> None:
        for one in self._workers:
            while one.ready and self._waiting and len(one.units) < each:
                number = self._waiting.popleft()
                one.units.add(number)
                brief = self._keeper.brief(one.number) if self._keeper else ""
                self._listen(one, number, one.handle.do.remote(self._units[number], brief))

    def _dismiss(self) -> None:
        """Let the workers end by themselves, with what they opened."""
        import ray
        from ray.exceptions import RayError

        ready = [one for one in self._workers if one.ready]
        if self._wanted.waits:
            closing = {one.handle.close.remote(): one for one in ready}
            for closed in ray.wait([*closing], num_returns=len(closing), timeout=_GRACE)[0]:
                with suppress(RayError):  # one that ended before: its units are done
                    self._account(closing[closed], ray.get(closed))
        ended = [one.handle.__ray_terminate__.remote() for one in ready]
        ray.wait(ended, num_returns=len(ended), timeout=_GRACE)

    # -- what is heard of them ---------------------------------------------------------------------

    def _listen(self, one: _Worker, number: int | None, answer: Any) -> None:
        answer.future().add_done_callback(lambda said: self._heard.put((one, number, said)))

    def _hear(self, one: _Worker, number: int | None, said: Any) -> None:
        from ray.exceptions import RayError

        if one not in self._workers:
            return  # it was lost, and its units are with others
        try:
            answer = said.result()
        except RayError as error:
            self._lose(one, " ".join(str(error).split())[:200])
            return
        if number is None:
            self._begin(one, answer)
        else:
            self._end(one, number, answer)

    def _begin(self, one: _Worker, answer: Any) -> None:
        if isinstance(answer, tuple):
            _, reason, *told = answer
            if self._wanted.waits and (error := _known(*told)):
                raise error
            self._lose(one, reason)
        elif answer != (ours := versions()):
            there = ", ".join(f"{name} {version}" for name, version in answer.items())
            here = ", ".join(f"{name} {version}" for name, version in ours.items())
            raise InputError(f"a machine of the cluster has {there}, this one {here}")
        else:
            one.ready, self._bad_starts = True, 0

    def _end(self, one: _Worker, number: int, said: Any) -> None:
        one.units.discard(number)
        (kind, *rest), text = said
        try:
            self._account(one, text)
        except InputError:
            raise  # a file here cannot be written
        except ValueError as flaw:
            self._tell(number, Failed(f"what came back with it is no account: {flaw}"))
            return
        if kind == "done":
            self._tell(number, Sent(*rest))
            return
        if kind == "put off":
            self._tell(number, PutOff(*rest))
            return
        reason, *told = rest
        error = _known(*told) if self._wanted.waits else None
        self._raised[number] += 1
        if error is None and self._raised[number] < _RAISED and not self._wanted.waits:
            self._waiting.append(number)
        else:
            self._tell(number, Failed(reason, error=error))

    def _account(self, one: _Worker, text: str) -> None:
        """Return a worker's message for its keeper."""
        if text and self._keeper is not None:
            self._keeper.hear(one.number, text)

    def _lose(self, one: _Worker, why: str) -> None:
        """A lost or useless worker; its units are for others."""
        import ray

        self._workers.remove(one)
        with suppress(Exception):
            ray.kill(one.handle)
        if not one.ready:
            self._bad_starts, self._why = self._bad_starts + 1, why
        for number in one.units:
            self._lost[number] += 1
            if self._lost[number] < _LOST:
                self._waiting.appendleft(number)
            else:
                self._tell(number, Failed(f"its worker was lost {_LOST} times: {why}"))

    def _tell(self, number: int, result: Sent | PutOff | Failed) -> None:
        self._left -= 1
        self._done(self._units[number], result)


def _known(name: str, message: str) -> RefuteError | None:
    """An exception of refute's by its name, as a worker told it."""
    kind = getattr(refute.errors, name, None)
    return kind(message) if isinstance(kind, type) and issubclass(kind, RefuteError) else None
