"""Run a command inside a jail to its end or to a limit, and leave no process of it.

Loaded by path inside the jail, too: standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any


class OutputBuffer:
    """The beginning and the end of a stream of bytes, at most `limit` together."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        """The next bytes of the stream."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half + 65536:
            self._trim()

    def _trim(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            self._cut += over
            del self._tail[:over]

    def content(self) -> bytes:
        """Return the kept bytes; a line in the middle says how many were left out."""
        self._trim()
        gap = b"\n[... %d bytes left out ...]\n" % self._cut if self._cut else b""
        return bytes(self._head) + gap + bytes(self._tail)


_TICK = 0.05


class Commands:
    """Runs commands one after another as children of this process.

    `walled`: this process is process 1 of its own pid namespace. `client`: a pidfd of the process
    that is served, or -1; stdin's end or its end ends everything. `confine` is called in each
    child before the command, with whether it may see git's folder. `processes` and `memory`
    (bytes) limit all of a command's processes together.
    """

    def __init__(
        self,
        *,
        walled: bool,
        client: int,
        confine: Callable[[bool], None],
        processes: int,
        memory: int,
    ) -> None:
        self.walled = walled
        self.client = client
        self.confine = confine
        self.processes = processes
        self.memory = memory

    def execute(self, request: dict[str, Any], given: bytes) -> tuple[dict[str, Any], bytes]:
        """Run one command to its end, or to a limit; then nothing of it is left running."""
        started = time.monotonic()
        out, err = OutputBuffer(request["keep"]), OutputBuffer(request["keep"])
        stdin = os.memfd_create("stdin") if given and hasattr(os, "memfd_create") else -1
        if stdin >= 0:
            os.write(stdin, given)
            os.lseek(stdin, 0, os.SEEK_SET)
        try:
            process = subprocess.Popen(
                request["argv"],
                stdin=stdin if stdin >= 0 else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if request["merge"] else subprocess.PIPE,
                cwd=request["cwd"],
                env=request["env"],
                start_new_session=True,
                preexec_fn=lambda: self.confine(request["history"]),
            )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return {"status": 127, "cause": "", "seconds": 0.0, "out": 0}, str(error).encode()
        finally:
            if stdin >= 0:
                os.close(stdin)
        cause = self._watch(process, started + request["timeout"], out, err)
        status = _end_of(process)
        self.kill_all()
        seconds = time.monotonic() - started
        first, second = out.content(), err.content()
        reply = {"status": status, "cause": cause, "seconds": seconds, "out": len(first)}
        return reply, first + second

    def _watch(self, process: Any, deadline: float, out: Any, err: Any) -> str:
        """Read what it prints until it ends or has to be ended; returns why it was ended."""
        poll = select.poll()
        kept = {process.stdout.fileno(): out}
        if process.stderr is not None:
            kept[process.stderr.fileno()] = err
        for fd in kept:
            os.set_blocking(fd, False)
            poll.register(fd, select.POLLIN)
        poll.register(0, select.POLLIN)
        ended = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        for fd in (ended, self.client):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        looked = 0.0
        try:
            while True:
                ready = {fd for fd, _ in poll.poll(_TICK * 1000)}
                if 0 in ready or self.client in ready:
                    raise SystemExit  # the caller is gone
                for fd in ready & set(kept):
                    if not _drain(fd, kept[fd]):
                        poll.unregister(fd)
                _reap(process)
                if process.returncode is not None:
                    return ""
                now = time.monotonic()
                if now >= deadline:
                    return "timeout"
                if now >= looked + _TICK:
                    looked = now
                    if cause := self._overrun():
                        return cause
        finally:
            self.kill_all(wait=False)
            for fd, buffer in kept.items():
                _drain(fd, buffer)
            if ended >= 0:
                os.close(ended)

    def _overrun(self) -> str:
        """Return the exceeded limit of all processes together, or ""; root has no other limit
        here."""
        pids = self._descendants()
        if len(pids) > self.processes:
            return "processes"
        if self._held(pids) <= self.memory:
            return ""
        # What several map was counted for each. Their exact shares take longer to find out, and are
        # counted double where one ends meanwhile: so twice.
        exact = (self._held(self._descendants(), exact=True) for _ in range(2))
        return "memory" if all(held > self.memory for held in exact) else ""

    def _held(self, pids: list[int], *, exact: bool = False) -> int:
        """Bytes of memory that `pids` hold: at most, or with each one's share of what is shared."""
        held = self._segments()
        for pid in pids:
            sizes = _sizes(f"/proc/{pid}/status")
            if exact:
                shares = _sizes(f"/proc/{pid}/smaps_rollup")
                if "Pss_Shmem" in shares:
                    sizes["RssShmem"] = shares["Pss_Shmem"]
                elif not _sizes(f"/proc/{pid}/status").get("RssShmem"):
                    continue  # it has ended meanwhile
            names = ("RssAnon", "VmSwap", "HugetlbPages", "RssShmem")
            held += sum(sizes.get(name, 0) for name in names)
        return held

    def _segments(self) -> int:
        """Bytes of System V segments, which live without a mapping."""
        if not self.walled:
            return 0  # they may be anybody's
        try:
            with open("/proc/sysvipc/shm") as file:
                return sum(int(line.split()[14]) for line in list(file)[1:])
        except (OSError, ValueError, IndexError):
            return 0

    def _descendants(self) -> list[int]:
        own = os.getpid()
        if self.walled:
            try:
                return [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) != own]
            except OSError:
                return []
        parents: dict[int, list[int]] = {}
        try:
            names = [name for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return []
        for name in names:
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(name))
        found, todo = [], [own]
        while todo:
            below = parents.get(todo.pop(), [])
            found += below
            todo += below
        return found

    def kill_all(self, wait: bool = True) -> None:
        """End every process but this one; orphans come to this process and are reaped."""
        deadline = time.monotonic() + 20
        while True:
            if self.walled:
                try:
                    os.kill(-1, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            else:
                for pid in self._descendants():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            if not wait:
                return
            if not _reap() or time.monotonic() > deadline:
                return
            time.sleep(0.001)


def _sizes(path: str) -> dict[str, int]:
    """Name -> bytes of the lines that give a size; empty where the process is gone."""
    found: dict[str, int] = {}
    try:
        with open(path) as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.endswith(" kB\n"):
                    found[name] = int(rest[:-4]) * 1024
    except (OSError, ValueError):
        pass
    return found


def _drain(fd: int, kept: Any) -> bool:
    """Read what is there; returns whether more may come."""
    for _ in range(64):
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        kept.add(data)
    return True


def _reap(process: Any = None) -> bool:
    """Collect the ended children, orphans included; returns whether others are left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if process is not None and pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)


def _end_of(process: Any) -> int:
    """The exit status of a process that ended or was killed just now."""
    if process.returncode is None:
        _, status = os.waitpid(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return int(process.returncode)
