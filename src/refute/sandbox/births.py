"""Children of the fork server: their birth, their limits, clock and end, other surroundings.

Loaded by path into the server (`server.py`): standard library only. A page that a child writes to
is copied for it, and to use an object of Python is to write to it (its references are counted).
So what children have in common is done in the server before the first of them, and a child does as
little as can be before its program: it is the larger part of what a small program costs.
"""

from __future__ import annotations

import gc
import marshal
import mmap
import os
import random
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any


class Exit:
    """Waits for the end of a child: by a pid descriptor, or by polling where there is none.

    `orphaned` is set when the client has gone meanwhile. Questions to a `warm` process's server
    are answered while it waits.
    """

    def __init__(self, channel: socket.socket, client: int, warm: Any) -> None:
        self.pid = self.fd = -1
        self.warm = warm
        self.orphaned = False
        self.poll = select.poll()
        self.poll.register(channel, 0)  # hang-up only
        if client >= 0:
            self.poll.register(client, select.POLLIN)
        if warm is not None:
            self.poll.register(warm.listener, select.POLLIN)

    def watch(self, born: Callable[[], int]) -> int:
        """Watch the child whose pid `born` gives: the pid."""
        self.pid = born()
        try:
            self.fd = os.pidfd_open(self.pid)
            self.poll.register(self.fd, select.POLLIN)
        except (AttributeError, OSError):
            pass
        return self.pid

    def __enter__(self) -> Exit:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def wait(self, seconds: float) -> bool:
        """True once the child has ended (it is not yet reaped)."""
        deadline = time.monotonic() + seconds
        while True:
            pause = max(0.0, deadline - time.monotonic()) if self.fd >= 0 else 0.0005
            events = dict(self.poll.poll(pause * 1000))
            if self.fd in events:
                return True
            if self.warm is not None and self.warm.listener in events:
                if not events.pop(self.warm.listener) & select.POLLIN:
                    self.poll.unregister(self.warm.listener)  # all have ended
                elif self.warm.attend():
                    return False
            if events:
                self.orphaned = True
                return False
            if self.fd >= 0:
                if time.monotonic() >= deadline:
                    return False
                continue
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            if time.monotonic() >= deadline:
                return False


def watch_process(pid: int) -> int:
    """A descriptor that is readable once the process has ended; -1 where there is no such thing.

    The channel's hang-up is not enough: a process forked from the client may hold it open.
    """
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def cpu_time(pid: int) -> float:
    """CPU seconds of a process so far; 0.0 where they are not to be had."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, ValueError):
        return 0.0


def spent_by_children() -> float:
    """CPU seconds of all processes that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limits(*wanted: tuple[str, int]) -> list[tuple[int, int]]:
    """The resource limits of these that exist here, lowered to what this process may set."""
    found = []
    for name, value in wanted:
        number = getattr(resource, name, None)
        if number is None:
            continue
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(number, (resource.getrlimit(number)[0], hard))
        except (OSError, ValueError):  # macOS refuses some
            continue
        found.append((number, value))
    return found


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "?"


DESCRIPTORS = 64  # of a child
_ANY = 1 << 62
_REHEARSALS = 10
_TEXT = """def f(n, *more, **named):
    total = 0
    for i in range(3):
        total += i * n
    if n > 7:
        raise ValueError(n)
    return [total, (str(n), {"a": 1.5})] if n else total
"""
"""Stands for a program: of this file, so that the server may run it."""


class Births:
    """Makes the children of one server. `child`: the module of what they run; `codec`: `values`."""

    def __init__(self, config: dict[str, Any], child: Any, codec: Any, confined: Any) -> None:
        self.descriptors = DESCRIPTORS
        self._config = config
        self._child = child
        self._codec = codec
        self._confined = confined
        self._inherited: list[tuple[int, int]] = []
        self._own: list[tuple[int, int]] = []
        self._space: list[tuple[int, int]] = []

    def prepare(self) -> None:
        """Before the first child, once the server is confined: from now on the heap is as all
        children find it."""
        self._inherited = limits(
            ("RLIMIT_CORE", 0),
            ("RLIMIT_NOFILE", DESCRIPTORS),
            ("RLIMIT_FSIZE", self._confined.scratch_bytes),
        )
        for number, value in self._inherited:
            resource.setrlimit(number, (value, value))
        self._own = limits(("RLIMIT_NPROC", self._config["processes"]))
        self._space = limits(("RLIMIT_AS", _ANY))
        os.environ.pop("LD_BIND_NOW", None)  # has done its work
        self._child.none_installed()
        self._child.loading.find_late(self._config["path_code"])
        self._rehearse()
        if self._config["elsewhere"]:
            _go_elsewhere(self._config["elsewhere"])
        random.seed(self._config["seed"])
        gc.freeze()
        gc.enable()

    def _rehearse(self) -> None:
        """Do what children do: what Python looks up and specializes once, it does here."""
        calls = marshal.dumps([(0, (n,), {}) for n in (0, 1, 2, 3, 8)], 2)
        rows = [([0], "f", "<program>", None, None, None)]
        content = marshal.dumps(([_TEXT], rows, calls, 5, 1 << 20, False))
        header = self._child.HEADER, self._child.FIRST, 0, self._child.IMPORTING
        for _ in range(_REHEARSALS):
            with mmap.mmap(-1, 1 << 16) as view:
                header[0].pack_into(view, 0, *header[1:])
                self._child.run_job(content, 0, view, self._codec)
        del sys.modules[self._child.MODULE]

    def program(self, payload: int, results: int, head: int, space: int) -> int:
        """Fork a child that does a job: its pid."""
        pid = self._confined.fork()
        if pid == 0:
            try:
                view = mmap.mmap(results, 0)
                content = self._child.read_all(payload)
                self._confined.begin_child()
                os.closerange(3, 256)
                self._limit(space)
                self._confined.filter_child()
                if self._config["elsewhere"]:
                    _work_elsewhere()
                self._child.run_job(content, head, view, self._codec)
            except BaseException:
                os._exit(97)
            os._exit(0)
        return int(pid)

    def warm(self, payload: int, head: int, door: socket.socket, send: Any, space: int) -> int:
        """Fork a process that knows a module, and nothing of any job: its pid. `send`: sends the
        listener of its filter through the door."""
        pid = os.fork()
        if pid == 0:
            try:
                content = os.pread(payload, head, 0)
                self._limit(space)
                send(door, self._confined.filter_warm())
                os.closerange(3, 256)
                random.seed(self._config["seed"])
                self._child.be_warm(content, *self._confined.copying(), self._codec)
            except BaseException:
                os._exit(97)
            os._exit(0)
        return pid

    def limit_copy(self, pid: int, space: int) -> None:
        """The limits of a copy of a warm process, which may have lowered its own. Raises
        `OSError`."""
        spaces = [(number, min(space, most)) for number, most in self._space]
        for number, value in (*self._inherited, *self._own, *spaces):
            resource.prlimit(pid, number, (value, value))

    def _limit(self, space: int) -> None:
        for number, value in self._own:
            resource.setrlimit(number, (value, value))
        for number, most in self._space:
            value = min(space, most)
            resource.setrlimit(number, (value, value))


# -- other surroundings (`Limits.elsewhere`) -------------------------------------------------------

_LATER = 400 * 86_400 + 40_271.0
"""Seconds by which the clock is ahead: another year, weekday and time of day."""


def _go_elsewhere(variables: dict[str, str]) -> None:
    """Before the first child. What modules took from here when they were loaded stays with them."""
    home = os.path.join(os.environ["HOME"], "home")
    os.environ.update(variables, HOME=home)
    time.tzset()
    os.umask(0o077)
    reading, writing = os.pipe()
    os.write(writing, b"7\n" * 99)
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    _set_the_clock()


def _work_elsewhere() -> None:
    """In each child."""
    os.mkdir("folder")
    os.chdir("folder")


def _set_the_clock() -> None:
    """As far as Python's own functions tell the time."""
    import datetime  # preloaded: nothing of a project stands in its place

    now, local, utc, written = time.time, time.localtime, time.gmtime, time.strftime
    time.time = lambda: now() + _LATER
    time.time_ns = lambda: int(time.time() * 1e9)
    time.localtime = lambda seconds=None: local(time.time() if seconds is None else seconds)
    time.gmtime = lambda seconds=None: utc(time.time() if seconds is None else seconds)
    time.strftime = lambda form, at=None: written(form, time.localtime() if at is None else at)
    time.asctime = lambda at=None: time.strftime("%a %b %d %H:%M:%S %Y", at)
    time.ctime = lambda seconds=None: time.asctime(time.localtime(seconds))

    class Kind(type):
        def __instancecheck__(self, one: object) -> bool:
            return isinstance(one, self.__mro__[1])

        def __subclasscheck__(self, kind: type) -> bool:
            return issubclass(kind, self.__mro__[1])

    class Date(datetime.date, metaclass=Kind):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

    class Datetime(datetime.datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        @classmethod
        def utcnow(cls) -> Any:
            zone = datetime.timezone.utc  # noqa: UP017 - here are older interpreters, too
            return cls.now(zone).replace(tzinfo=None)

    for kind, name in ((Date, "date"), (Datetime, "datetime")):
        kind.__name__ = f"datetime.{name}"  # as `repr` shows it
        kind.__qualname__, kind.__module__ = name, "datetime"
        setattr(datetime, name, kind)
