"""Confinement of the fork server and its children, and removal of what they leave behind.

Loaded by path into the server (`server.py`): standard library only, nothing of `refute`.
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import stat
import sys
from typing import Any


class Confinement:
    """The measures of one server. `linux`, `filters` and `tidy` are the modules of these parts.

    `linux` is None elsewhere. `config`: what the client asked for; `scratch` in it becomes the
    private directory.
    """

    scratch_bytes = 64 << 20

    def __init__(
        self, channel: socket.socket, config: dict[str, Any], linux: Any, filters: Any, tidy: Any
    ) -> None:
        self.channel = channel
        self.config = config
        self.linux = linux
        self.filters = filters
        self.tidy = tidy
        self.machine = os.uname().machine
        self.protections: dict[str, bool] = {}
        self.children: Any = None
        self.program_filter: Any = None
        self.own_pids = False
        self.outer = ""
        self.scratch_inode = (0, 0)
        if linux and self.machine in linux.MACHINES:
            self._copy = linux.copier(signal.SIGCHLD, self.machine)

    def enter(self) -> None:
        """Take every measure that the machine allows; record which hold."""
        wanted = set(self.config["measures"])
        held = self.protections
        for name in ("namespaces", "unprivileged user", "landlock", "seccomp"):
            held[name] = False
        linux = self.linux
        is_root = os.geteuid() == 0
        identity = linux.NOBODY if linux and is_root and self._open_to_all() else None
        if linux and "namespaces" in wanted:
            open_to_all = all(_is_readable_by_all(path) for path in self.config["readable"])
            identity = 1 if linux.enter_namespaces() and open_to_all else None
            self._become_init()
            self.config["scratch"] = "/scratch"
            linux.private_root(
                self.config["readable"], "/scratch", self.scratch_bytes, self.machine
            )
            self.own_pids = held["namespaces"] = True
        else:
            self._make_scratch(identity)
            self._leave_janitor()
        self._open_children()
        os.chdir(self.config["scratch"])
        self.scratch_inode = self.tidy.inode(".")
        os.environ["HOME"] = os.environ["TMPDIR"] = self.config["scratch"]
        if identity is not None:
            linux.drop_user(identity)
        held["unprivileged user"] = identity is not None or not is_root
        if linux:
            if self.machine in linux.MACHINES:
                linux.drop_capabilities(self.machine)
            linux.die_with_parent()  # the parent only waits; it has one thread
            linux.adopt_orphans()
            linux.hide_memory()
            linux.no_new_privileges()
        if linux and "landlock" in wanted:
            readable = ["/"] if held["namespaces"] else self._readable_here()
            held["landlock"] = _works(linux.restrict_files, readable, self._writable())
        known = self.filters.machine_is_supported(self.machine)
        if linux and known and "seccomp" in wanted:
            code = self.filters.server_filter(self.machine)
            held["seccomp"] = _works(linux.install_filter, code)
            if held["seccomp"]:
                code, place = self.filters.program_filter(self.machine)
                self.program_filter = linux.FilterOfOwn(code, place)

    def _become_init(self) -> None:
        """Fork: the child is process 1 of the new pid namespace, and this process waits for it."""
        pid = os.fork()
        if pid:
            self.channel.close()
            _, status = os.waitpid(pid, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        self.linux.die_with_parent()
        os.setsid()  # a group of its own: a group's signals cross the border of a namespace

    def _make_scratch(self, identity: int | None) -> None:
        """A private directory on the host's file system, where there is no private one.

        It lies in another, which stays the caller's: `nobody` cannot put a link in its place.
        """
        outer = os.path.join(self.config["scratch"], self.config["name"])
        path = os.path.join(outer, "scratch")
        os.mkdir(outer, 0o700 if identity is None else 0o711)
        os.mkdir(path, 0o700)
        if identity is not None:
            os.chown(path, identity, identity)
        self.config["scratch"], self.outer = path, outer

    def _leave_janitor(self) -> None:
        """Fork: the child runs on; this process waits for its end, whatever ends it, and clears up:
        it kills what the child left running and removes the private directory."""
        if self.linux:
            self.linux.adopt_orphans()
        pid = os.fork()
        if not pid:
            os.setsid()
            return
        self.channel.close()
        self._open_children()
        known = self.tidy.inode(self.outer)
        _, status = os.waitpid(pid, 0)
        self._kill_descendants()
        self.tidy.remove(self.outer, known)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

    def _open_to_all(self) -> bool:
        """Return whether `nobody` could read the interpreter's library (not when it is below
        /root)."""
        for path in self.config["readable"]:
            while path != "/":
                if not os.stat(path).st_mode & stat.S_IXOTH:
                    return False
                path = os.path.dirname(path)
        return True

    def _open_children(self) -> None:
        """The list of this process's children, opened before Landlock closes /proc."""
        if not self.own_pids:
            try:
                path = f"/proc/self/task/{os.getpid()}/children"
                self.children = open(path)  # noqa: SIM115 (held open for good)
            except OSError:
                self.children = None

    def _readable_here(self) -> list[str]:
        extra = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
        paths = [*self.config["readable"], *extra, self.config["scratch"]]
        return [path for path in paths if os.path.exists(path)]

    def _writable(self) -> list[str]:
        return [path for path in (self.config["scratch"], "/dev/null") if os.path.exists(path)]

    # -- children ----------------------------------------------------------------------------------

    def fork(self) -> int:
        """As `os.fork`, of this process, which has one thread: `enter` forked it."""
        if self.linux and self.machine in self.linux.MACHINES:
            pid = int(self._copy())
            if pid < 0:
                raise OSError("no process can be made")
            return pid
        return os.fork()

    def begin_child(self) -> None:
        """In a forked child, first of all: it ends with the server, and signals only itself."""
        if not self.own_pids and self.linux:
            self.linux.die_with_parent()
        if not self.program_filter:
            os.setpgid(0, 0)  # signals to its group do not reach the server

    def filter_child(self) -> None:
        """In a forked child, last before the program: its system calls."""
        if self.program_filter:
            self.program_filter.install()

    def warms(self) -> bool:
        """Return whether warm processes can be kept in: by a pid namespace and a filter of their
        calls."""
        return self.own_pids and self.program_filter is not None

    def filter_warm(self) -> int:
        """In a forked warm process, as `filter_child`; where its filter's questions are read."""
        code = self.filters.warm_filter(self.machine)
        return int(self.linux.install_asking_filter(code, self.machine))

    def copying(self) -> tuple[Any, Any]:
        """Return two functions: a warm process calls one to be copied, its copies the other to get
        a job."""
        linux, filters = self.linux, self.filters
        return linux.copier(filters.FORK, self.machine), functools.partial(linux.say, filters.HELLO)

    def is_clean(self) -> bool:
        """Return whether nothing was left in the private directory."""
        try:
            return not os.listdir(self.config["scratch"])
        except OSError:
            return False

    def sweep(self, kill: bool = True) -> bool:
        """End every descendant (`kill`: False where a filter lets a program make none, and others
        are to live) and empty the private directory; True when something resisted."""
        if not kill:
            return self._clear()
        if self.own_pids:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass
        else:
            self._kill_descendants()
        try:
            while os.waitpid(-1, 0 if self.own_pids else os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        return self._clear()

    def _clear(self) -> bool:
        """Empty the private directory; True when something resisted."""
        if self.own_pids and self.is_clean():  # a mount: nothing can be in its place
            return False
        return not self.tidy.empty(self.config["scratch"], self.scratch_inode)

    def _kill_descendants(self) -> None:
        """Without a pid namespace: end the orphans, which this process adopted, until none is
        left."""
        try:
            for _ in range(1000):
                self.children.seek(0)
                pids = [int(pid) for pid in self.children.read().split()]
                if not pids:
                    return
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        except (OSError, AttributeError):  # no such file here
            pass


def _is_readable_by_all(path: str) -> bool:
    """Return whether another user may read the directory or file (the way to it does not
    matter)."""
    mode = os.stat(path).st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & wanted == wanted


def _works(function: Any, *arguments: Any) -> bool:
    try:
        function(*arguments)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return False
    return True
