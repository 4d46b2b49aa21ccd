"""Warm processes: each has imported one module, with its package, and is copied for every job.

Loaded by path into the server (`server.py`): standard library only. What was imported is the
program's and hostile, so nothing that a warm process says is believed, and it says nothing: there
is no channel to it. Its filter (`seccomp.warm_filter`) makes the kernel ask the server before
certain system calls, and the process waits in the call meanwhile. So the server

- grants each fork, one for a job, and between the jobs the warm process waits in the call of the
  next one: no process exists that the server did not ask for, and the kernel gives it the pid;
- hands payload and result file to the copy, which asks for them by a call of its own, through the
  kernel, and only while the warm process waits again: no other process ever holds them;
- knows of each thread, shared mapping and timer that the import makes, and that no descriptor is
  left open: where there is anything by which copies could reach each other, there are no copies.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import select
import signal
import socket
import struct
from typing import Any

_NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif: id, pid, flags, call, ..., arguments
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_ADD = struct.Struct("=QIIII")  # struct seccomp_notif_addfd: id, flags, ours, theirs, flags
_RECEIVE, _SEND, _ADDFD = 0xC0502100, 0xC0182101, 0x40182103  # ioctl
_CONTINUE, _SETFD = 1, 1
_THREAD = 0x00010000
_PATIENCE = 2.0  # seconds for a copy that was asked for, not counting what comes meanwhile
_QUESTIONS = 1000  # that may come meanwhile
_MOST_REMEMBERED = 10_000
MOST = 4  # warm processes of a server

PAYLOAD, RESULTS = 3, 4
"""The descriptors that a copy is given."""


class InDoubt(Exception):
    """A warm process did what none does in good faith: it and its copies are to be ended."""


class Warm:
    """The server's side of one warm process."""

    def __init__(self, pid: int, listener: int, confined: Any, space: int) -> None:
        self.pid = pid
        self.listener = listener
        self.space = space
        """Limit of its address space, in bytes."""
        self.running = pid
        """Process whose calls are not watched: the importing process, then the copy with a job."""
        self.waits: int | None = None
        """The warm process's question whether it may fork: it waits for a job."""
        self.greeting: tuple[int, int] | None = None
        """The question of a new copy and its pid."""
        self.fit = True
        self.doubtful = False
        number = confined.filters.number
        self._hello = number("prctl", confined.machine)
        self._clone = number("clone", confined.machine)
        names = ("kill", "tgkill", "prlimit64")
        self._aimed = {number(name, confined.machine) for name in names}

    def attend(self) -> bool:
        """Take one question and answer it, or keep it: True."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notice)
        except OSError:  # who asked has ended
            return False
        question, pid, _, call, _, _, first, *_ = _NOTICE.unpack(notice)
        first &= 0xFFFFFFFF
        allowed = True
        if call == self._hello:
            allowed = False
            if pid != self.pid and not self.running and self.greeting is None:
                self.greeting = question, pid
                return True
            self.doubtful = True
        elif call == self._clone and not first & _THREAD:
            allowed = False
            if pid == self.pid:
                if self.waits is None and self.running in (0, pid):
                    self.waits = question
                    return True
                self.doubtful = True  # something woke it
        elif call in self._aimed:
            allowed = first == self.running != 0
        elif self.running == self.pid:  # a thread, a shared mapping, a timer
            self.fit = False
        elif not self.running:
            self.doubtful, allowed = True, False
        try:
            self._answer(question, allowed)
        except OSError:  # it no longer waits
            pass
        return False

    def _answer(self, question: int, allowed: bool) -> None:
        error, flags = (0, _CONTINUE) if allowed else (-errno.EPERM, 0)
        fcntl.ioctl(self.listener, _SEND, bytearray(_ANSWER.pack(question, 0, error, flags)))

    def _give(self, question: int, fd: int, number: int = -1) -> int:
        """Open `fd` in the process that asks, at `number` or at the first that is free."""
        flags, place = (0, 0) if number < 0 else (_SETFD, number)
        request = bytearray(_ADD.pack(question, flags, fd, place, 0))
        return int(fcntl.ioctl(self.listener, _ADDFD, request))

    def seal(self, null: int, most: int) -> bool:
        """After the import: whether copies have nothing in common. `most`: of its descriptors.

        All descriptors that it could have are taken, so none was left; the first three are ours.
        """
        question = self.waits
        if not self.fit or self.doubtful or question is None:
            return False
        try:
            if any(self._give(question, null) != number for number in range(3, most)):
                return False
            for number in range(3):
                self._give(question, null, number)
        except OSError:
            return False
        return True

    def copy(self) -> int:
        """Have it fork; the copy's pid, once it waits for a job. Raises `InDoubt`."""
        question, self.waits, self.greeting, self.running = self.waits, None, None, 0
        try:
            self._answer(question or 0, True)
        except OSError:
            raise InDoubt from None
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        idle, asked = 0.0, 0
        while self.waits is None or self.greeting is None:
            events = poll.poll(50)
            if any(not event & select.POLLIN for _, event in events):
                raise InDoubt  # none of them is left
            if events:
                asked += 1
                self.attend()
            else:
                idle += 0.05
                one_ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                self.doubtful |= one_ended is not None
            if self.doubtful or asked > _QUESTIONS or idle > _PATIENCE:
                raise InDoubt
        return self.greeting[1]

    def employ(self, payload: int, results: int) -> None:
        """Give the copy its job. Raises `InDoubt`."""
        assert self.greeting is not None
        question, self.running = self.greeting
        try:
            self._give(question, payload, PAYLOAD)
            self._give(question, results, RESULTS)
            answer = _ANSWER.pack(question, 0, 0, 0)
            fcntl.ioctl(self.listener, _SEND, bytearray(answer))
        except OSError:
            raise InDoubt from None

    def close(self) -> None:
        """Forget it; later requests are answered with an unknown call."""
        os.close(self.listener)


class Kept:
    """The warm processes of a server by what they have imported, the one used last at the end."""

    def __init__(self) -> None:
        self.warm: dict[tuple[int, ...], Warm] = {}
        self.never: set[object] = set()
        """Imports that cannot be kept, and modules for which it would not pay."""
        self.possible = True
        """True: this kernel lets a process ask another."""

    def get(self, key: tuple[int, ...]) -> Warm | None:
        """The one that has imported this."""
        found = self.warm.pop(key, None)
        if found is not None:
            self.warm[key] = found
        return found

    def add(self, key: tuple[int, ...], warm: Warm) -> None:
        """Keep one more, and end the one that was not used for longest."""
        while len(self.warm) >= MOST:
            oldest = self.warm.pop(next(iter(self.warm)))
            end(oldest)
        self.warm[key] = warm

    def refuse(self, *imports: object) -> None:
        """Not these again."""
        if len(self.never) > _MOST_REMEMBERED:
            self.never.clear()
        self.never.update(imports)

    def end(self) -> None:
        """End all of them."""
        while self.warm:
            end(self.warm.popitem()[1])

    def forget(self) -> None:
        """They have been ended."""
        while self.warm:
            self.warm.popitem()[1].close()


def end(warm: Warm) -> None:
    """End a warm process without copies."""
    os.kill(warm.pid, signal.SIGKILL)
    os.waitpid(warm.pid, 0)
    warm.close()


def send(door: socket.socket, listener: int) -> None:
    """In the warm process, before anything of the program: its listener for the server."""
    fds = array.array("i", [listener])
    door.sendmsg([b"w"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])


def received(door: socket.socket) -> int:
    """The listener that comes through; -1: there is none here."""
    door.settimeout(5)
    try:
        _, ancillary, _, _ = door.recvmsg(1, socket.CMSG_SPACE(4))
    except OSError:
        return -1
    fds = array.array("i")
    for _, _, content in ancillary:
        fds.frombytes(content)
    return fds[0] if fds else -1
