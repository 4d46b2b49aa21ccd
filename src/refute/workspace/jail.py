"""The jail: one process that holds the namespaces of a workspace and runs commands inside them.

Run as a script, by ``python -I -S``: standard library only. The first line on stdin is the
configuration; the first line on stdout says what holds (``{"protections": ..., "tree": ...}``) or
why nothing does (``{"failed": reason}``). Then requests and replies alternate, each a line of JSON
whose ``size`` bytes of payload follow. When stdin ends, everything in here is killed.

Inside: the machine's programs and the environment read-only, the tree as an overlay whose changes
are kept in memory, private /tmp, /dev, /proc, and a network of its own with nothing but loopback.
The commands run without capabilities and cannot signal or trace this process, which is process 1.
`reset` leaves nothing of what they did: no file above the tree either, no changed mode, no segment
of shared memory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import sys
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

NOT_STARTED = 3
"""Exit status; the caller may try again, with the same folders."""

SECRET = "/.refute"
"""In a private root: `base`, the tree as it was, read-only; `scratch`, for git and the probe."""


def _load(*parts: str) -> Any:
    """A module of this package, by path: nothing of `refute` is importable in here.

    Compiled once and kept like any module that is imported: each workspace starts a jail.
    """
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), *parts) + ".py"
    module = types.ModuleType("_refute_" + parts[-1])
    code = SourceFileLoader(module.__name__, path).get_code(module.__name__)
    assert code is not None
    exec(code, module.__dict__)
    return module


class Jail:
    """The one process; see the module's docstring."""

    def __init__(self, config: dict[str, Any], client: int) -> None:
        self.config = config
        self.client = client
        self.rooted = _load("rooted_files")
        self.private_root = _load("private_root")
        self.running = _load("commands")
        self.tidy = _load("..", "sandbox", "cleanup")
        self.filters = _load("..", "sandbox", "seccomp")
        on_linux = sys.platform.startswith("linux")
        self.linux: Any = _load("..", "sandbox", "isolation") if on_linux else None
        self.machine = os.uname().machine
        self.tree: str = config["tree"]
        self.base: str = config["base"]
        self.scratch = os.path.join(config["outside"], "scratch")
        self.tmp = os.path.join(config["outside"], "tmp")
        self.walled = False
        self.folders: dict[str, int] = {}
        self.kept: set[str] = set()
        self.protections = dict.fromkeys(
            ("namespaces", "overlay", "network", "files", "landlock", "processes", "syscalls"),
            False,
        )

    # -- walls, once -------------------------------------------------------------------------------

    def isolate(self) -> None:
        """Take every measure that was asked for and that the machine allows."""
        wanted = set(self.config["measures"])
        if self.linux and "namespaces" in wanted and self.machine in self.linux.MACHINES:
            try:
                self.linux.enter_namespaces()
                self.walled = True
            except OSError:
                if self.tree == self.base and self.tree not in self.config["writable"]:
                    raise  # the caller asks again, with a place for a copy
        if self.walled:
            self._become_init()
            self._limit_namespaces()
            self._enter_root()
            self._loopback()
            for name in ("namespaces", "network", "files", "processes"):
                self.protections[name] = True
        else:
            self._set_up_outside()
            if self.linux:
                self.linux.adopt_orphans()
                if "landlock" in wanted:
                    self.protections["landlock"] = _works(self._close_files)
                    self.protections["files"] = self.protections["landlock"]
            self.protections["processes"] = os.path.isdir("/proc/self")
        self.protections["syscalls"] = bool(self.linux) and _works(self._deny_calls)
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)  # process 1 ignores what it has no handler for
        if self.linux:
            self.linux.hide_memory()
        self.commands = self.running.Commands(
            walled=self.walled,
            client=self.client,
            confine=self._confine,
            processes=self.config["processes"],
            memory=self.config["memory"],
        )
        self.fresh()

    def _become_init(self) -> None:
        """Fork: the child is process 1 of the new pid namespace, and this process waits for it."""
        beside = os.open(os.path.dirname(self.config["outside"]), os.O_PATH | os.O_DIRECTORY)
        pid = os.fork()
        if pid:
            for fd in (0, 1):
                os.close(fd)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF
            if code != NOT_STARTED:  # this process has lost its root, too
                os.fchdir(beside)
                self.remove(os.path.basename(self.config["outside"]))
            os._exit(code)
        os.close(beside)
        self.linux.die_with_parent()
        os.setsid()

    def _enter_root(self) -> None:
        self.folders, self.kept = self.private_root.build(
            self.linux, self.config, self.base, SECRET
        )
        self.linux.enter_root(self.config["jail"], self.machine)
        self.base, self.scratch, self.tmp = SECRET + "/base", SECRET + "/scratch", "/tmp"
        self._show_tree()

    def _limit_namespaces(self) -> None:
        """No further user namespaces: they would give the commands capabilities again."""
        try:
            with open("/proc/sys/user/max_user_namespaces", "w") as file:
                file.write("0")
        except OSError:
            pass

    def _loopback(self) -> None:
        """Bring up 127.0.0.1 of the empty network: servers under test listen there."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            name = struct.pack("16sh", b"lo", 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
            fcntl.ioctl(probe, 0x8914, name.ljust(40, b"\0"))  # SIOCSIFFLAGS

    def _set_up_outside(self) -> None:
        """Without namespaces: a plain copy of the tree and folders on the host's file system."""
        for path in (self.scratch, self.tmp):
            os.makedirs(path, exist_ok=True)
        outside = self.config["outside"]
        self.folders = {outside: 0o700, self.tmp: 0o700}
        self.kept = {self.scratch, self.tmp, self.tree, outside + "/layer"}
        self._show_tree()

    def _close_files(self, history: bool = False) -> None:
        seen = [*self.private_root.shown(self.config), "/proc", "/dev"]
        readable = [p for p in (*seen, *([self.base] if history else ())) if os.path.exists(p)]
        writable = [self.tree, self.tmp, self.scratch, *self.config["writable"]]
        writable += ["/dev/null", "/dev/shm"]
        writable = [path for path in writable if os.path.exists(path)]
        self.linux.restrict_files([*readable, *writable], writable)

    # -- the tree ----------------------------------------------------------------------------------

    def _show_tree(self) -> None:
        """The tree as it was: an overlay over it, or a copy of it; or itself, while it is built."""
        if self.tree in self.config["writable"]:
            return
        if not self.walled:
            shutil.copytree(self.base, self.tree, symlinks=True)
            return
        changes = SECRET + "/changes"
        if "overlay" in self.config["measures"]:
            self.linux.mount_memory(changes, f"size={self.config['disk']},mode=755")
            try:
                os.mkdir(changes + "/upper")
                os.mkdir(changes + "/work")
                self._mount_overlay(changes)
                self.protections["overlay"] = True
                return
            except OSError:
                self.linux.unmount(changes)
        self.linux.mount_memory(self.tree, f"size={self.config['disk']},mode=755")
        shutil.copytree(self.base, self.tree, symlinks=True, dirs_exist_ok=True)

    def _mount_overlay(self, changes: str) -> None:
        layers = f"lowerdir={self.base},upperdir={changes}/upper,workdir={changes}/work"
        for extra in (",userxattr", ""):
            try:
                self.linux.mount("overlay", self.tree, "overlay", 2 | 4, layers + extra)
                return
            except OSError as error:
                problem = error
        raise problem

    def reset(self) -> None:
        """Back to the tree as it was, with empty temporary folders."""
        self.commands.kill_all()
        if self.walled:
            self.linux.unmount(self.tree)
            if self.protections["overlay"]:
                self.linux.unmount(SECRET + "/changes")
            self.linux.own_ipc()
        else:
            self.tidy.remove(self.tree, self.tidy.inode(self.tree))
        self._show_tree()
        for folder, mode in self.folders.items():
            os.chmod(folder, mode)
            for name in os.listdir(folder):
                if f"{folder}/{name}" not in self.kept:
                    self.remove(f"{folder}/{name}")
        self.fresh()

    def fresh(self, files: Any = (), given: bytes = b"") -> None:
        """Empty the scratch folder, put files into its channel, and see to the home folder."""
        os.chmod(self.scratch, 0o755)
        self.tidy.empty(self.scratch, self.tidy.inode(self.scratch))
        os.mkdir(self.scratch + "/channel")
        for name, size in files:
            self.rooted.put(self.scratch, f"channel/{name}", given[:size])
            given = given[size:]
        home = os.path.join(self.tmp, "home")
        if not stat.S_ISDIR(_mode(home)):
            if os.path.lexists(home):
                os.unlink(home)
            os.mkdir(home)

    def remove(self, path: str) -> None:
        """Delete what lies there, whatever it is."""
        if stat.S_ISDIR(_mode(path)):
            self.tidy.remove(path, self.tidy.inode(path))
        else:
            os.unlink(path)

    def _confine(self, history: bool) -> None:
        """In the child, before the command: limits that it cannot lift. `history`: it sees the
        tree as it was, and git's folder of it."""
        # twice, so that `Commands` sees a fork bomb and ends it; alone it would go on for ever
        limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NPROC, 2 * self.config["processes"])]
        limits += [(resource.RLIMIT_FSIZE, self.config["disk"])]
        if not self.walled:
            limits = limits[:1]  # RLIMIT_NPROC counts all processes of the user
        for number, value in limits:
            _, hard = resource.getrlimit(number)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (value, value))
        if self.linux:
            if self.walled and not history:
                self.linux.own_mounts()
                for path in (self.base, SECRET + "/changes"):
                    self.linux.mount("tmpfs", path, "tmpfs", 1 | 2 | 4, "size=4k,mode=0")
            if self.machine in self.linux.MACHINES:
                with contextlib.suppress(OSError):  # a kernel without keyrings
                    self.linux.own_keyring(self.machine)
                self.linux.drop_capabilities(self.machine)
            self.linux.no_new_privileges()
            if self.protections["landlock"]:
                self._close_files(history)
            if self.protections["syscalls"]:
                self._deny_calls()

    def _deny_calls(self) -> None:
        self.linux.no_new_privileges()
        self.linux.install_filter(self.filters.jail_filter(self.machine))

    # -- serving -----------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer requests until stdin ends."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        if self.client >= 0:
            poll.register(self.client, select.POLLIN)
        while True:
            if any(fd == self.client for fd, _ in poll.poll()):
                return
            line = sys.stdin.buffer.readline()
            if not line:
                return
            request = json.loads(line)
            given = sys.stdin.buffer.read(request.get("size", 0))
            try:
                reply, payload = self.answer(request, given)
            except OSError as error:
                name = type(error).__name__ if type(error) is not self.rooted.Escapes else "Escapes"
                reply = {"error": name, "errno": error.errno, "message": error.strerror}
                payload = b""
            send({**reply, "size": len(payload)}, payload)

    def answer(self, request: dict[str, Any], given: bytes) -> tuple[dict[str, Any], bytes]:
        """One request: `execute`, `take`, `put`, `gather`, `fresh`, `reset`."""
        kind = request["do"]
        if kind == "execute":
            reply, output = self.commands.execute(request, given)
            return reply, output
        if kind == "take":
            return {}, self.rooted.take(self.tree, request["path"])
        if kind == "put":
            self.rooted.put(self.tree, request["path"], given)
        elif kind == "gather":
            files = self.rooted.take_all(self.scratch + "/channel", self.private_root.SCRATCH_BYTES)
            return {"files": [[n, len(d)] for n, d in files.items()]}, b"".join(files.values())
        elif kind == "fresh":
            self.fresh(request["files"], given)
        elif kind == "reset":
            self.reset()
        return {}, b""


def _works(measure: Callable[[], None]) -> bool:
    """Return whether a measure can be taken: a child tries."""
    pid = os.fork()
    if pid == 0:
        try:
            measure()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def send(message: dict[str, Any], payload: bytes = b"") -> None:
    """Write one reply."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n" + payload)
    sys.stdout.buffer.flush()


def main() -> None:
    """Isolate, say what holds, serve."""
    config = json.loads(sys.stdin.buffer.readline())
    client = -1
    if hasattr(os, "pidfd_open"):
        try:
            client = os.pidfd_open(config["client"])
        except OSError:
            pass
    jail = Jail(config, client)
    try:
        jail.isolate()
    except Exception as error:
        send({"failed": f"{type(error).__name__}: {error}"})
        sys.stdout.flush()
        os._exit(NOT_STARTED)
    send(
        {
            "protections": jail.protections,
            "tree": jail.tree,
            "base": jail.base,
            "scratch": jail.scratch,
            "tmp": jail.tmp,
        }
    )
    try:
        jail.serve()
    finally:
        jail.commands.kill_all()
        if not jail.walled:
            jail.remove(config["outside"])


if __name__ == "__main__":
    main()
