"""The fork server: started once per worker, isolated once, then one forked child per job.

Run as a script with the arguments FD and CONFIG, by ``python -P -s -S`` (before Python 3.11 without
``-P``), and without a collector of garbage until it serves: standard library only, and in the words
of Python 3.8. It never holds a program, an input or an output: those travel in sealed memory files
whose descriptors it hands to the child. It watches a child by its CPU clock and the result file's
header, kills what overruns, and continues behind the call that was cut short, in a fresh child.

Protocol, one datagram each way over a UNIX socket: the request is `REQUEST` with the descriptors
of the payload and the result file; the reply is `REPLY`, and behind it, where calls were cut short,
JSON: ``[[step, kind, detail], ...]``. Between them come signs of life, `ALIVE`. The first
datagram, sent unasked, is JSON: ``{"protections": {...}}`` or ``{"failed": reason}``.
"""

from __future__ import annotations

import array
import functools
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

REQUEST = struct.Struct("<IIIQQQddddI?IQQ")
"""start, total and calls + 1 in steps; capacity, memory, output in bytes; cpu, wall, cpu of an
import, wall of all that is left; stop after; whether cuts are tried again. Of the module that the
first program is: its bytes at the payload's head, which it is recognised by, and by which without
its text (see `warm`)."""

REPLY = struct.Struct("<I?dd")
"""The next step; whether something resisted the clearing up; wall seconds left; CPU seconds."""
ALIVE = b"{}"

_LEFT = ("killed", "exited with status 0")  # also what the child does after a MemoryError
_SHOT = ("killed", "signal 9 (SIGKILL)")
SHOTS = 3  # at one step: then it is the program's doing, not an administrator's or the kernel's
MOST_CUTS = 250  # in one reply, which must fit one datagram
STARVED = 15  # a process that gets one CPU second in this many (and more) is still given its time
NEXT = 1.0  # CPU seconds, at least, to load what another program has been loaded for or is like
READY = ("ready", "")  # how the import of a warm process ends
BASELINE_SLACK = 32 << 20  # what the server still maps after its address space was measured


def load_neighbour(name: str, *needed: types.ModuleType) -> types.ModuleType:
    """A module of this directory, by path: nothing of `refute` is importable in here, but for what
    it imports itself of these modules, while it is loaded.

    Compiled once and kept like any module that is imported: a run starts several servers.
    """
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    module = types.ModuleType(f"_refute_{name}")
    code = SourceFileLoader(f"refute.sandbox.{name}", path).get_code(f"refute.sandbox.{name}")
    assert code is not None
    names = {one.__name__.replace("_refute_", "refute.sandbox."): one for one in needed}
    sys.modules.update(names)
    exec(code, module.__dict__)
    for one in names:
        del sys.modules[one]
    return module


class Server:
    """One isolated process that forks a child per job."""

    def __init__(self, channel: socket.socket, config: dict[str, Any]) -> None:
        self.channel = channel
        self.config = config
        self.child = load_neighbour("child")
        states, tidy = load_neighbour("states"), load_neighbour("cleanup")
        self.values = load_neighbour("values", load_neighbour("nodes"), states)
        self.child.naming = load_neighbour("naming")  # type: ignore[attr-defined]
        self.child.loading = load_neighbour("loading")  # type: ignore[attr-defined]
        self.child.observing = load_neighbour("observing", states, tidy)  # type: ignore[attr-defined]
        self.warm = load_neighbour("warm")
        self.kept = self.warm.Kept()
        on_linux = sys.platform.startswith("linux")
        linux = load_neighbour("isolation") if on_linux else None
        parts = (linux, load_neighbour("seccomp"), tidy)
        self.confined: Any = load_neighbour("confinement").Confinement(channel, config, *parts)
        made = config, self.child, self.values, self.confined
        self.around: Any = load_neighbour("births")
        self.births = self.around.Births(*made)
        self.baseline = 0
        self.next_beat = 0.0
        self.imports: dict[int, float] = {}  # CPU seconds of each module's first, by its place
        self.spent = 0.0  # CPU seconds of children, up to the last reply
        self.left = 0.0  # wall seconds for what is still to be run
        self.tainted = False  # whether something resisted the clearing up behind a child
        self.client = self.around.watch_process(config["client"])

    # -- serving -----------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Import what programs import, before there is a confinement to do it in."""
        here = os.path.dirname(os.path.abspath(__file__))  # in front without -P
        sys.path[:] = [path for path in sys.path if path not in ("", here)] + self.config["site"]
        import site  # of which -S has kept the paths out: it is the names alone, `exit` and others

        for add in (site.setquit, site.setcopyright, site.sethelper):
            add()
        for name in self.config["preload"]:
            try:
                __import__(name)
            except ImportError:
                pass
        try:
            with open("/proc/self/statm") as file:
                self.baseline = (int(file.read().split()[0]) * mmap.PAGESIZE) + BASELINE_SLACK
        except OSError:
            self.baseline = 1 << 30

    def serve(self) -> None:
        """Answer requests until the channel closes."""
        sys.path[:] = [*self.config["import_path"], *sys.path]
        with open(os.devnull, "r+") as null:
            for fd in (0, 1, 2):
                os.dup2(null.fileno(), fd)
        self.births.prepare()
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        if self.client >= 0:
            poll.register(self.client, select.POLLIN)
        while True:
            if any(fd == self.client for fd, _ in poll.poll()):
                break
            try:
                data, ancillary, _, _ = self.channel.recvmsg(256, socket.CMSG_SPACE(8))
            except OSError:
                break
            if not data:
                break
            fds = array.array("i")
            fds.frombytes(ancillary[0][2])
            self.next_beat = time.monotonic() + self.config["heartbeat"]
            try:
                reply = self.job(fds[0], fds[1], REQUEST.unpack(data))
            finally:
                for fd in fds:
                    os.close(fd)
            self.channel.send(reply)
        self.kept.end()  # before this process does, so that what they used is counted

    def job(self, payload: int, results: int, request: tuple[Any, ...]) -> bytes:
        """Run steps until all are done, the result file is full, or too many were cut short."""
        start, total, width, capacity = request[:4]
        self.left, stop_after, retry = request[9:12]
        self.tainted = False
        begun, committed = start, self.child.FIRST
        header = self.child.HEADER
        cuts: list[list[Any]] = []
        cuts_here = 0  # cuts of the program in progress
        shots, shot_at = 0, -1
        while start < total and self.left > 0:
            first = start
            end = self.attempt(payload, results, request, start, committed)
            self.tainted = self._sweep() or self.tainted
            at, step, phase = header.unpack(os.pread(results, header.size, 0))
            if not (committed <= at <= capacity and first <= step <= total):
                at, step, phase = committed, first, self.child.CALLING
                end = ("killed", "wrote over the result channel")
            committed = at
            if step >= total:  # all done; a thread that went on running changes no outcome
                break
            if phase == self.child.FULL and step > begun:  # else it lies: one output always fits
                return self.reply(step, cuts)
            if end[0] == "spent":
                break
            index, call = divmod(step, width)
            alone = step == first or (first % width == 0 and step == first + 1)
            if end == _SHOT:
                shots, shot_at = (shots + 1 if step == shot_at else 1), step
            if end == _SHOT and retry and shots < SHOTS:
                start = step
            elif not alone and (retry or end == _LEFT):
                start = step  # only a cut in a fresh process counts against a call
            elif call == 0 or phase == self.child.IMPORTING:
                cuts.append([index * width, *end])
                start = (index + 1) * width
            else:
                cuts.append([step, *end])
                start, cuts_here = step + 1, cuts_here + 1
                if stop_after and cuts_here >= stop_after:
                    start = (index + 1) * width
            if start // width != first // width:
                cuts_here = 0
            if len(cuts) >= MOST_CUTS:
                return self.reply(start, cuts)
        return self.reply(total, cuts)

    def reply(self, following: int, cuts: list[list[Any]]) -> bytes:
        """Return the outcome of a job, without the content of the result file."""
        before, self.spent = self.spent, self.around.spent_by_children()
        head = REPLY.pack(following, self.tainted, self.left, self.spent - before)
        return head + json.dumps(cuts).encode() if cuts else head

    def attempt(
        self, payload: int, results: int, request: tuple[Any, ...], start: int, committed: int
    ) -> tuple[str, str]:
        """Run from step `start` in one process, a copy of a warm one where that can be: how it
        ended, or how the import of the first program did."""
        header = self.child.HEADER
        os.pwrite(results, header.pack(committed, start, self.child.IMPORTING), 0)
        total, width, capacity, memory = request[1:5]
        space = self.baseline + capacity + os.lseek(payload, 0, os.SEEK_END) + memory
        warm, end = self.warm_process(payload, request)
        if end is not None and (end[0] == "spent" or start < width):
            return end
        if warm is None:
            born = functools.partial(self.births.program, payload, results, request[12], space)
            return self.watch(born, total, request, results, start)
        begun = time.monotonic()
        try:
            pid = warm.copy()
            self.births.limit_copy(pid, min(space, warm.space))
            warm.employ(payload, results)
            end = self.watch(lambda: pid, total, request, results, start, warm)
            if not warm.doubtful:
                return end
        except (self.warm.InDoubt, OSError):
            self.left -= time.monotonic() - begun
        self.kept.refuse(_key(request), request[14])
        self.confined.sweep()
        self.kept.forget()
        return self.attempt(payload, results, request, start, committed)

    def warm_process(
        self, payload: int, request: tuple[Any, ...]
    ) -> tuple[Any, tuple[str, str] | None]:
        """The warm process for a job, made now if need be; or None, and how its import was cut
        short where it was."""
        head, _, place = request[12:]
        key = _key(request)
        if not (head and self.kept.possible and self.confined.warms()):
            return None, None
        warm = self.kept.get(key)
        if warm is not None or key in self.kept.never or place in self.kept.never:
            return warm, None
        self.kept.refuse(key)
        space = self.baseline + BASELINE_SLACK + sum(request[3:5])
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                pid = self.births.warm(payload, head, theirs, self.warm.send, space)
            listener = self.warm.received(ours)
        if listener < 0:
            self.kept.possible = False
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None, None
        warm = self.warm.Warm(pid, listener, self.confined, space)
        end = self.watch(lambda: pid, 0, request, -1, 0, warm)
        if end == READY:
            self.imports.setdefault(place, self.around.cpu_time(pid))
        if end != READY:
            warm.close()
            if end[0] == "spent":  # another run may have more time
                self.kept.never.discard(key)
        elif (
            not warm.seal(0, self.births.descriptors)
            or not self.confined.is_clean()
            or self.around.cpu_time(pid) < self.config["quick"]
        ):
            self.kept.refuse(place)
            self.warm.end(warm)
        else:
            self.kept.never.discard(key)
            self.kept.add(key, warm)
            return warm, None
        self.tainted = self._sweep() or self.tainted
        return None, None if end[0] in ("killed", READY[0]) else end

    def _sweep(self) -> bool:
        """Clear up behind a child: the filter that keeps warm processes in lets it make no other,
        so that they can live on."""
        return bool(self.confined.sweep(kill=not self.kept.warm))

    def watch(
        self,
        born: Callable[[], int],
        total: int,
        request: tuple[Any, ...],
        results: int,
        start: int,
        warm: Any = None,
    ) -> tuple[str, str]:
        """Wait for the child's end, or kill it when a step or the run overruns: (kind, detail).

        `born`: gives its pid. It is made when all is ready to wait for it: what this process
        writes to while the child lives is copied.
        `start`: its first step. `warm`: whose copy it is. Without `results` it is that process
        itself, until it is `READY`.
        """
        cpu, wall, loading = request[6:9]
        tick = min(0.05, max(0.002, cpu / 20))
        most = 5 * tick  # to count between two looks: a frozen machine is not the program's fault
        seen, cpu_then, wall_then = (-1, False), 0.0, time.monotonic()
        cpu_used = waited = 0.0
        retry, place = request[11], request[14]
        # CPU seconds of the first import in this process; for what is only screened, of the first
        # in any: a text that hangs while it is loaded must not take as long as a slow package may.
        loaded = None if retry else self.imports.get(place)
        header, calling = self.child.HEADER, self.child.CALLING
        with self.around.Exit(self.channel, self.client, warm) as exited:
            pid = exited.watch(born)
            while True:
                if exited.wait(tick):
                    _, status = os.waitpid(pid, 0)
                    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else status >> 8
                    if code < 0:
                        return "killed", f"signal {-code} ({self.around.signal_name(-code)})"
                    return "killed", f"exited with status {code}"
                if exited.orphaned:  # the client is gone
                    os.kill(pid, signal.SIGKILL)
                    self.confined.sweep()
                    os._exit(0)
                mark = (0, False)
                if results >= 0:
                    _, step, phase = header.unpack(os.pread(results, header.size, 0))
                    mark = (step, phase == calling)
                elif warm.waits is not None:
                    return READY
                wall_now = time.monotonic()
                cpu_now = self.around.cpu_time(pid)
                cpu_used += min(cpu_now - cpu_then, most)
                waited += min(wall_now - wall_then, most)
                self.left -= min(wall_now - wall_then, most)
                cpu_then, wall_then = cpu_now, wall_now
                self._give_sign_of_life(wall_now)
                # A step's clock starts twice, at its import and at its call, and never again:
                # programs can write there (any phase, any step), reads can be torn.
                if mark > seen and self.left > 0:
                    if loaded is None and mark[0] > start:
                        loaded = cpu_used
                        if place:
                            self.imports.setdefault(place, loaded)
                    seen, cpu_used, waited = mark, 0.0, 0.0
                    if mark[0] >= total > 0:  # nothing is left to do but to exit
                        cpu, wall = min(cpu, 0.2), min(wall, 0.5)
                    continue
                kind = ""
                # What one program imports is there for the next: only its own text takes time then.
                most_load = loading if loaded is None else min(loading, max(NEXT, 4 * loaded))
                more = 0.0 if seen[1] else max(0.0, most_load - cpu)
                if self.left <= 0:
                    kind = "spent"
                elif cpu_used >= cpu + more:
                    kind = "cpu"
                elif waited >= wall + more + STARVED * cpu_used:
                    kind = "wall"
                if kind:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return kind, ""

    def _give_sign_of_life(self, now: float) -> None:
        """Now and then, also when a job takes long because many of its calls are cut short."""
        if now < self.next_beat:
            return
        self.next_beat = now + self.config["heartbeat"]
        try:
            self.channel.send(ALIVE, socket.MSG_DONTWAIT)
        except OSError:  # the client is stopped, or gone: seen elsewhere
            pass


def _key(request: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the key in which a warm process must agree with a job: memory, capacity, imports."""
    return (*request[3:5], request[13])


def main() -> None:
    """Isolate, say hello, serve."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    server = Server(channel, json.loads(sys.argv[2]))
    if os.getpid() != os.getsid(0):
        os.setsid()  # what a terminal or shell sends to the group is for the client
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.warm_up()
    try:
        server.confined.enter()
    except OSError as error:
        channel.send(json.dumps({"failed": str(error)}).encode())
        os._exit(1)
    channel.send(json.dumps({"protections": server.confined.protections}).encode())
    server.serve()
    os._exit(0)


if __name__ == "__main__":
    main()
