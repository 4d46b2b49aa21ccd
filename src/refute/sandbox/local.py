"""`LocalSandbox`: the trusted side of the fork server (`server.py`) on this machine.

What it does not protect from is listed in `docs/sandbox.md`.
"""

from __future__ import annotations

import array
import json
import marshal
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from refute.core.problems import Invocation
from refute.core.starting import python_options
from refute.errors import SandboxUnavailable
from refute.sandbox import pool
from refute.sandbox.cleanup import inode, remove
from refute.sandbox.contract import (
    DEFAULT_LIMITS,
    ELSEWHERE,
    Code,
    Killed,
    Limits,
    Outcome,
    Program,
    Sandbox,
    TimedOut,
)
from refute.sandbox.interpreter import Interpreter, this_interpreter
from refute.sandbox.payloads import (
    Answers,
    Head,
    Heads,
    calls_packed,
    outcomes,
    programs_packed,
    read_frames,
    sealed,
    shared,
)
from refute.sandbox.pool import Waits, finished

ALL_MEASURES = frozenset({"namespaces", "landlock", "seccomp"})
"""Every layer of isolation that a machine may offer."""

_SERVER = Path(__file__).with_name("server.py")
_START = """import gc, sys
gc.disable()
sys.path[:] = [path for path in sys.path if path]
from importlib.machinery import SourceFileLoader
__file__ = sys.argv.pop(1)
exec(SourceFileLoader("refute.sandbox.server", __file__).get_code("refute.sandbox.server"))
"""
"""Runs the server as a script that is compiled once and kept: a run starts several. Nothing that
it imports is garbage, so that none is looked for until it serves."""
_REQUEST = struct.Struct("<IIIQQQddddI?IQQ")  # as `server.REQUEST`
_REPLY, _ALIVE = struct.Struct("<I?dd"), b"{}"  # as `server.REPLY` and `server.ALIVE`
_PRELOAD = (
    "bisect", "collections.abc", "copy", "functools", "heapq", "itertools", "math", "operator",
    "re", "string", "typing",
)  # fmt: skip
"""Modules that most programs import; each costs every fork a little, so rarer ones are left out."""
HEAVY = ("numpy",)
"""Modules that a second server imports up front, used for programs that mention them."""


_QUICK = 0.02
"""CPU seconds of an import below which it is made anew for each job."""

_Kind = tuple[tuple[str, ...], int, bool]
"""Key of a server: the modules that it has imported, its seed, and whether it is elsewhere."""


class LocalSandbox(Sandbox):
    """Runs programs on this machine, isolated as far as it allows (`protections`).

    Servers start on first use: a lean one, and another with numpy imported for programs that use
    it.
    """

    def __init__(
        self,
        *,
        readable: Iterable[Path | str] = (),
        import_path: Iterable[Path | str] = (),
        interpreter: Interpreter | None = None,
        measures: Iterable[str] = ALL_MEASURES,
        preload: Iterable[str] = HEAVY,
    ) -> None:
        """`readable`: directories that programs may read besides the interpreter's own.

        `import_path`: directories put in front of `sys.path` (made readable too). `interpreter`:
        what programs run on; None: the one that runs this. `measures`: which of `ALL_MEASURES` to
        try; fewer than all is for tests. `preload`: modules that a server of its own imports up
        front, for programs that mention them.
        """
        self._interpreter = this_interpreter() if interpreter is None else interpreter
        self._import_path = [str(Path(path).resolve()) for path in import_path]
        self._readable = [str(Path(path).resolve()) for path in readable]
        self._measures = frozenset(measures)
        self._preload = tuple(preload)
        self.cpu_seconds = 0.0
        """Of the processes that ran programs so far."""
        self._servers: dict[_Kind, _Connection] = {}
        self._heads = Heads()
        self._owner = os.getpid()
        self._held: list[str] = []  # measures that the first server got

    def close(self) -> None:
        """Kill everything; idempotent."""
        self._leave_to_owner()
        while self._servers:
            self._servers.popitem()[1].close()

    @property
    def takes_code(self) -> bool:
        """Return whether a program may be a code object: another version's compiler makes other
        ones."""
        return self._interpreter.version == sys.version_info[:2]

    def protections(self) -> dict[str, bool]:
        """Return the isolation measures that hold here (starts the server). Raises
        `SandboxUnavailable`."""
        return dict(self._server(((), 0, False)).protections)

    def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        return finished(self.steps(programs, calls, limits))

    def steps(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> Waits[list[list[Outcome]]]:
        """As `run_variants`, for who has other things to do meanwhile: yields what it waits for."""
        if not programs:
            return []
        # Of a project's environment nothing is imported before the server has confined itself.
        heavies = self._preload if self._interpreter.own else ()
        heavy = tuple(name for name in heavies if any(_mentions(p.code, name) for p in programs))
        kind = heavy, limits.seed, limits.elsewhere
        head = self._heads.of(programs[0])
        rest = (
            *programs_packed(programs, head.codes),
            calls_packed(calls),
            len(calls),
            limits.output,
            limits.alone,
        )
        payload = head.content + marshal.dumps(rest)
        width = len(calls) + 1
        total = len(programs) * width
        answers = Answers(total, limits)
        start = 0
        while start < total:
            if kind not in self._servers:
                yield None
            server = self._server(kind)
            try:
                start, tainted = yield from server.job(
                    payload, head, start, total, width, limits, answers
                )
                self.cpu_seconds += server.cpu_seconds
            except (
                BaseException
            ):  # also Ctrl-C: an answer under way must not meet the next question
                self._servers.pop(kind).close()
                raise
            if tainted:
                self._servers.pop(kind).close()
        results = []
        for first in range(0, total, width):
            results.append(outcomes(first, width, answers.bodies, answers.cuts))
        return results

    def _leave_to_owner(self) -> None:
        """In a process forked from the one that started the servers: they are not ours to use."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            for connection in self._servers.values():
                connection.channel.close()
            self._servers.clear()

    def _server(self, kind: _Kind) -> _Connection:
        self._leave_to_owner()
        if kind not in self._servers:
            try:
                connection = self._start(kind)
            except SandboxUnavailable:
                if "namespaces" not in self._measures or self._held:
                    raise
                self._measures -= {"namespaces"}
                connection = self._start(kind)
            weaker = [name for name in self._held if not connection.protections[name]]
            if weaker:  # what `protections` said must go on holding
                connection.close()
                raise SandboxUnavailable(f"a new server could not get {', '.join(weaker)} again")
            self._held = [name for name, held in connection.protections.items() if held]
            self._servers[kind] = connection
        return self._servers[kind]

    def _start(self, kind: _Kind) -> _Connection:
        """A server. One that ends without a word was ended from outside, which says nothing of what
        the machine allows: it is started again."""
        for _ in range(_STARTS - 1):
            try:
                return self._connect(kind)
            except _Ended:
                continue
        return self._connect(kind)

    def _connect(self, kind: _Kind) -> _Connection:
        heavy, seed, elsewhere = kind
        measures = self._measures
        python = self._interpreter
        readable = [*python.readable, *python.site, *_LIBRARIES]
        readable += [*self._readable, *self._import_path]
        config = {
            "measures": sorted(measures),
            "readable": _outermost(readable),
            "import_path": self._import_path,
            "site": list(python.site),
            "path_code": list(python.code),
            "scratch": tempfile.gettempdir(),
            "preload": [*_PRELOAD, *["datetime"] * elsewhere, *heavy],
            "quick": _QUICK,
            "seed": seed,
            "elsewhere": ELSEWHERE if elsewhere else {},
            "processes": 64 if "namespaces" in measures else 4096,
        }
        return _Connection(config, python)


class _Ended(SandboxUnavailable):
    """A server ended without a word of its own."""


class _Connection:
    """One server process and the socket to it."""

    cpu_seconds = 0.0
    """Of the processes that did the last job."""

    def __init__(self, config: dict[str, Any], python: Interpreter) -> None:
        config["client"], config["heartbeat"] = os.getpid(), pool.SILENCE / 12
        config["name"] = f"refute-{os.getpid()}-{os.urandom(8).hex()}"
        self._directory = os.path.join(config["scratch"], config["name"])
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, _SOCKET_KIND)
        fd = theirs.fileno()
        options = [*python_options(python.version), "-s", "-S"]
        command = [python.program, *options, "-c", _START, str(_SERVER)]
        command += [str(fd), json.dumps(config)]
        environment = {"LANG": "C.UTF-8", "TZ": "UTC", "PATH": os.defpath}
        environment["LD_BIND_NOW"] = "1"  # else each child looks its symbols up
        environment["PYTHONHASHSEED"] = str(config["seed"])
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            self.process = subprocess.Popen(
                command, pass_fds=(fd,), env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, close_fds=True,
            )  # fmt: skip
        except OSError as error:
            self.channel.close()
            raise SandboxUnavailable(f"cannot start {python.program}: {error}") from None
        finally:
            theirs.close()
        self.channel.settimeout(pool.SILENCE)
        try:
            hello: dict[str, Any] = json.loads(self._word())
        except BaseException:
            self.close()
            raise
        if "protections" not in hello:
            self.close()
            raise SandboxUnavailable(f"isolation failed: {hello.get('failed', 'no answer')}")
        self.protections: dict[str, bool] = hello["protections"]

    def _word(self) -> bytes:
        """The next word of the server."""
        try:
            data = self.channel.recv(_REPLY_BYTES)
        except TimeoutError:
            raise pool.silent() from None
        if not data:
            raise _Ended(f"the sandbox server ended: {self._last_words()}")
        return data

    def _last_words(self) -> str:
        assert self.process.stderr is not None
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "no reason"
        os.set_blocking(self.process.stderr.fileno(), False)
        lines = (self.process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
        return " ".join(lines[-1:]) or f"exit status {self.process.returncode}"

    def close(self) -> None:
        """End the server and all below it; it clears up behind itself. Idempotent."""
        self.channel.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        if self.process.returncode:  # it may be that who clears up was killed, too
            remove(self._directory, inode(self._directory))

    def job(
        self, payload: bytes, head: Head, start: int, total: int, width: int, limits: Limits,
        answers: Answers,
    ) -> Waits[tuple[int, bool]]:  # fmt: skip
        """Run from step `start`, fill `answers`; returns (next step, tainted)."""
        capacity = 2 * limits.output + (32 << 20)
        request = _REQUEST.pack(
            start, total, width, capacity, limits.memory, limits.output, limits.cpu,
            limits.wall_seconds, limits.loading_seconds, answers.left, limits.stop_after or 0,
            limits.retry, len(head.content), head.key, head.place,
        )  # fmt: skip
        with sealed(payload) as source, shared(capacity) as results:
            fds = array.array("i", [source.fileno(), results.fileno()])
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
            try:
                self.channel.sendmsg([request], ancillary)
                word = _ALIVE
                while word == _ALIVE:
                    yield self.channel
                    word = self._word()
            except OSError as error:
                raise SandboxUnavailable(f"the sandbox server is gone: {error}") from None
            read_frames(results.fileno(), capacity, start, answers)
        following, tainted, answers.left, self.cpu_seconds = _REPLY.unpack_from(word)
        cuts = word[_REPLY.size :]
        for step, kind, detail in json.loads(cuts) if cuts else ():
            answers.cuts[step] = TimedOut(kind) if kind in ("cpu", "wall") else Killed(detail)
            answers.bodies[step] = None
        return following, tainted


_SOCKET_KIND = getattr(socket, "SOCK_SEQPACKET", socket.SOCK_DGRAM)
_REPLY_BYTES = 1 << 20
_PATIENCE = 5.0
_STARTS = 3
"""Times that a server is started before it is given up."""


def _mentions(code: Code | tuple[Code, ...], name: str) -> bool:
    if isinstance(code, str):
        return name in code
    if isinstance(code, tuple):
        return any(_mentions(part, name) for part in code)
    return isinstance(code, CodeType) and name in code.co_names


_LIBRARIES = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip
"""Paths that an interpreter reads of the machine."""


def _outermost(paths: Iterable[str]) -> list[str]:
    """Real, existing paths without those that lie below another."""
    real = sorted({os.path.realpath(path) for path in paths if path and os.path.exists(path)})
    kept: list[str] = []
    for path in real:
        if not kept or not path.startswith(kept[-1].rstrip("/") + "/"):
            kept.append(path)
    return kept
