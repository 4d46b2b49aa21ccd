"""A child of the sandbox's server from outside: when it ends, its clock, the limits that there are.

This file is loaded by path inside the sandbox, so it imports the standard library only and nothing
of `refute`, and is in the words of Python 3.8.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
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
