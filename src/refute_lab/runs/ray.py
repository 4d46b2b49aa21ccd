"""Executor `ray`: workers on the machines of a Ray cluster. The driver alone writes the journal.

A worker is an actor that sets itself up once and has a unit in hand at a time: no more is under way
than the workers hold. One that is lost, with its machine or alone, costs the unit in its hand,
which goes to the next; as the cluster grows, so do the workers.
"""

from __future__ import annotations

import json
import os
import queue
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from refute.core.extras import need
from refute.core.processes import Failed, cores
from refute.core.remarks import remark
from refute.errors import InputError, Unavailable
from refute_lab.runs import Sent, WithFiles, as_data
from refute_lab.runs.executors import (
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
    """A unit's record as it is sent."""
    files = dict(result.files) if isinstance(result, WithFiles) else {}
    record = result.record if isinstance(result, WithFiles) else result
    return "done", json.dumps(as_data(record), separators=(",", ":")).encode(), files


def failed(error: Exception) -> Answer:
    """An exception as it is sent."""
    return "failed", one_line(error)


class Computing:
    """A worker for work that computes; see `Processes`."""

    def __init__(self, start: Callable[[], Callable[[Any], Any]]) -> None:
        self._start = start

    def ready(self) -> dict[str, str] | Answer:
        """Set up; says which versions are here."""
        try:
            self._do = self._start()
        except Exception as error:
            return failed(error)
        return versions()

    def do(self, unit: Any) -> Answer:
        """Do a unit."""
        try:
            return done(self._do(unit))
        except Exception as error:
            return failed(error)


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
    """An actor, and the number of the unit in its hand."""

    handle: Any
    ready: bool = False
    unit: int | None = None


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
        self._bad_starts, self._why = 0, ""
        self._room, self._looked = 0, 0.0
        self._told = False
        self._heard: queue.SimpleQueue[tuple[_Worker, int | None, Any]] = queue.SimpleQueue()

    def run(self, start: Callable[[], Any]) -> None:
        """Until every unit is done. Raises what `done` raises."""
        import ray

        actor = ray.remote(Computing).options(
            num_cpus=1,
            memory=self._wanted.memory or None,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        given = ray.put(start)
        try:
            while self._left:
                self._hire(lambda: actor.remote(given))
                self._hand_out()
                with suppress(queue.Empty):
                    self._hear(*self._heard.get(timeout=_LOOK))
            self._dismiss()
        finally:
            for one in self._workers:
                ray.kill(one.handle)

    # -- workers -----------------------------------------------------------------------------------

    def _hire(self, make: Callable[[], Any]) -> None:
        """As many workers as there is work for, and room."""
        at_most = min(self._left, self._wanted.jobs or self._left, self._space())
        if self._bad_starts >= _BAD_STARTS:
            at_most = 0
            if not self._workers:
                self._done(self._units[0], Failed(self._why, fatal=True))
        while len(self._workers) < at_most:
            one = _Worker(make())
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

        memory, room = self._wanted.memory, 0
        for node in ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                fits = [int(has.get("CPU", 0))]
                fits += [int(has.get("memory", 0) // memory)] if memory else []
                room += min(fits)
        return room

    def _hand_out(self) -> None:
        for one in self._workers:
            if one.ready and self._waiting and one.unit is None:
                one.unit = self._waiting.popleft()
                self._listen(one, one.unit, one.handle.do.remote(self._units[one.unit]))

    def _dismiss(self) -> None:
        """Let the workers end by themselves."""
        import ray

        ended = [one.handle.__ray_terminate__.remote() for one in self._workers if one.ready]
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
            self._lose(one, answer[1])
        elif answer != (ours := versions()):
            there = ", ".join(f"{name} {version}" for name, version in answer.items())
            here = ", ".join(f"{name} {version}" for name, version in ours.items())
            raise InputError(f"a machine of the cluster has {there}, this one {here}")
        else:
            one.ready, self._bad_starts = True, 0

    def _end(self, one: _Worker, number: int, said: Any) -> None:
        one.unit = None
        kind, *rest = said
        if kind == "done":
            self._tell(number, Sent(*rest))
            return
        self._raised[number] += 1
        if self._raised[number] < _RAISED:
            self._waiting.append(number)
        else:
            self._tell(number, Failed(*rest))

    def _lose(self, one: _Worker, why: str) -> None:
        """A lost or useless worker; its unit is for others."""
        import ray

        self._workers.remove(one)
        with suppress(Exception):
            ray.kill(one.handle)
        if not one.ready:
            self._bad_starts, self._why = self._bad_starts + 1, why
        if (number := one.unit) is not None:
            self._lost[number] += 1
            if self._lost[number] < _LOST:
                self._waiting.appendleft(number)
            else:
                self._tell(number, Failed(f"its worker was lost {_LOST} times: {why}"))

    def _tell(self, number: int, result: Sent | Failed) -> None:
        self._left -= 1
        self._done(self._units[number], result)
