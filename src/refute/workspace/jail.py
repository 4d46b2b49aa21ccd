"""The jail: one process that holds the namespaces of a workspace and runs commands inside them.

Run as a script, ``python -I -S jail.py``: standard library only. The first line on stdin is the
configuration; the first line on stdout says what holds (``{"protections": ..., "tree": ...}``) or
why nothing does (``{"failed": reason}``). Then requests and replies alternate, each a line of JSON
whose ``size`` bytes of payload follow. When stdin ends, everything in here is killed.

Inside: the machine's programs and the environment read-only, the tree as an overlay whose changes
are kept in memory, private /tmp, /dev, /proc, and a network of its own with nothing but loopback.
The commands run without capabilities and cannot signal or trace this process, which is process 1.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import types
from typing import Any

SECRET = "/.refute"
"""In a private root: `base`, the tree as it was, read-only; `scratch`, for git and the probe."""

_TICK = 0.05
_SCRATCH_BYTES = 512 << 20
_FROM_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types", "alternatives", "fonts",
             "ssl/certs", "ssl/openssl.cnf", "protocols", "services", "debian_version",
             "os-release")  # fmt: skip
_FROM_USR = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share",
             "local")  # fmt: skip
_OWN_ETC = {
    "passwd": "root:x:0:0:root:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "",
}
_PROC_READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_PROC_HIDDEN = ("kcore", "keys", "timer_list", "sched_debug", "kmsg")


def _load(*parts: str) -> Any:
    """A module of this package, by path: nothing of `refute` is importable in here."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), *parts) + ".py"
    module = types.ModuleType("_refute_" + parts[-1])
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec", dont_inherit=True), module.__dict__)
    return module


class Jail:
    """The one process; see the module's docstring."""

    def __init__(self, config: dict[str, Any], client: int) -> None:
        self.config = config
        self.client = client
        self.beneath = _load("beneath")
        self.bounded = _load("bounded")
        self.tidy = _load("..", "sandbox", "tidy")
        on_linux = sys.platform.startswith("linux")
        self.linux: Any = _load("..", "sandbox", "isolation") if on_linux else None
        self.machine = platform.machine()
        self.tree: str = config["tree"]
        self.base: str = config["base"]
        self.scratch = os.path.join(config["outside"], "scratch")
        self.tmp = os.path.join(config["outside"], "tmp")
        self.walled = False
        self.kept_in_tmp: set[str] = set()
        self.protections = dict.fromkeys(
            ("namespaces", "overlay", "network", "files", "landlock", "processes"), False
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
            self._build_root()
            self._loopback()
            for name in ("namespaces", "network", "files", "processes"):
                self.protections[name] = True
        else:
            self._set_up_outside()
            if self.linux:
                self.linux.adopt_orphans()
                if "landlock" in wanted:
                    self.protections["landlock"] = self._landlock_works()
                    self.protections["files"] = self.protections["landlock"]
            self.protections["processes"] = os.path.isdir("/proc/self")
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)  # process 1 ignores what it has no handler for
        if self.linux:
            self.linux.hide_memory()
        self.fresh()

    def _become_init(self) -> None:
        """Fork: the child is process 1 of the new pid namespace, and this process waits for it."""
        pid = os.fork()
        if pid:
            for fd in (0, 1):
                os.close(fd)
            _, status = os.waitpid(pid, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        self.linux.die_with_parent()
        os.setsid()

    def _build_root(self) -> None:
        linux, root = self.linux, self.config["jail"]
        linux.keep_mounts_private()
        sources = {path: os.open(path, os.O_PATH) for path in self._shown()}
        base = os.open(self.base, os.O_PATH)
        linux.mount_memory(root, "size=8m,nr_inodes=16k,mode=755")
        for path in ("/tmp", "/dev/shm"):
            os.makedirs(root + path)
            linux.mount_memory(root + path, f"size={self.config['disk']},mode=1777")
        self.tmp = "/tmp"
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            if os.path.islink("/" + name):
                os.symlink(os.readlink("/" + name), f"{root}/{name}")
        for path in sorted({*sources, *self.config["hidden"]}):
            if path not in sources:
                if os.path.isdir(root + path):
                    linux.mount_memory(root + path, "size=64k,nr_inodes=512,mode=755")
                continue
            writable = path.startswith("/dev/") or path in self.config["writable"]
            linux.bind(sources[path], root + path, read_only=not writable)
            os.close(sources[path])
            self._keep(path)
        self._own_files(root)
        self._mount_proc(root)
        linux.bind(base, f"{root}{SECRET}/base", read_only=True)
        os.close(base)
        for name in ("scratch", "changes"):
            os.makedirs(f"{root}{SECRET}/{name}")
        size = f"size={_SCRATCH_BYTES},mode=755"
        linux.mount_memory(f"{root}{SECRET}/scratch", size)
        os.makedirs(root + self.tree, exist_ok=True)
        self._keep(self.tree)
        linux.enter_root(root, self.machine)
        self.base, self.scratch = SECRET + "/base", SECRET + "/scratch"
        self._show_tree()

    def _shown(self) -> list[str]:
        """What of the machine can be seen, without what lies below another such path."""
        wanted = [*self.config["readable"], *self.config["writable"], "/etc/localtime"]
        wanted += ["/usr/" + name for name in _FROM_USR]
        wanted += ["/" + n for n in ("bin", "sbin", "lib", "lib32", "lib64")
                   if not os.path.islink("/" + n)]  # fmt: skip
        wanted += ["/etc/" + name for name in _FROM_ETC]
        wanted += ["/dev/" + n for n in ("null", "zero", "full", "random", "urandom")]
        kept: list[str] = []
        for path in sorted({os.path.abspath(p) for p in wanted if os.path.exists(p)}):
            above = [k for k in kept if _below(path, k)]
            hidden = [h for h in self.config["hidden"] if _below(path, h)]
            if not above or any(_below(h, above[-1]) for h in hidden):
                kept.append(path)
        return kept

    def _keep(self, path: str) -> None:
        if path.startswith("/tmp/"):
            self.kept_in_tmp.add(path.split("/")[2])

    def _own_files(self, root: str) -> None:
        os.makedirs(root + "/etc", exist_ok=True)
        for name, text in _OWN_ETC.items():
            with open(f"{root}/etc/{name}", "w") as file:
                file.write(text.format(home="/tmp/home"))
        links = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
                 "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}  # fmt: skip
        for name, target in links.items():
            os.symlink(target, f"{root}/dev/{name}")
        os.mkdir(root + "/dev/pts")
        try:
            options = "newinstance,ptmxmode=0666,mode=620"
            self.linux.mount("devpts", root + "/dev/pts", "devpts", 0, options)
        except OSError:
            pass  # pseudo-terminals are missing, nothing else

    def _mount_proc(self, root: str) -> None:
        """A /proc of the own pid namespace, without what a root user could turn knobs with."""
        os.mkdir(root + "/proc")
        try:
            self.linux.mount("proc", root + "/proc", "proc", 2 | 4 | 8)
        except OSError:
            return  # a container's masked /proc: the commands have none
        for name in _PROC_READ_ONLY:
            path = f"{root}/proc/{name}"
            if os.path.exists(path):
                self._cover(path, path)
                self.linux.make_read_only(path)
        for name in _PROC_HIDDEN:
            path = f"{root}/proc/{name}"
            if os.path.exists(path):
                self._cover("/dev/null", path)

    def _cover(self, source: str, target: str) -> None:
        fd = os.open(source, os.O_PATH)
        try:
            self.linux.mount(f"/proc/self/fd/{fd}", target, None, 4096)
        finally:
            os.close(fd)

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
        self._show_tree()

    def _landlock_works(self) -> bool:
        pid = os.fork()
        if pid == 0:
            try:
                self._close_files()
            except BaseException:
                os._exit(1)
            os._exit(0)
        return os.waitpid(pid, 0)[1] == 0

    def _close_files(self) -> None:
        readable = [p for p in (*self._shown(), self.base, "/proc", "/dev") if os.path.exists(p)]
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
        self.kill_all()
        if self.walled:
            self.linux.unmount(self.tree)
            if self.protections["overlay"]:
                self.linux.unmount(SECRET + "/changes")
            self.linux.unmount("/dev/shm")
            self.linux.mount_memory("/dev/shm", f"size={self.config['disk']},mode=1777")
        else:
            self.tidy.remove(self.tree, self.tidy.inode(self.tree))
        self._show_tree()
        for name in os.listdir(self.tmp):
            if name not in self.kept_in_tmp:
                self._remove(os.path.join(self.tmp, name))
        self.fresh()

    def fresh(self, files: Any = (), given: bytes = b"") -> None:
        """Empty the scratch folder, put files into its channel, and see to the home folder."""
        self.tidy.empty(self.scratch, self.tidy.inode(self.scratch))
        os.mkdir(self.scratch + "/channel")
        for name, size in files:
            self.beneath.put(self.scratch, f"channel/{name}", given[:size])
            given = given[size:]
        home = os.path.join(self.tmp, "home")
        if not stat.S_ISDIR(_mode(home)):
            if os.path.lexists(home):
                os.unlink(home)
            os.mkdir(home)

    def _remove(self, path: str) -> None:
        if stat.S_ISDIR(_mode(path)):
            self.tidy.remove(path, self.tidy.inode(path))
        else:
            os.unlink(path)

    # -- commands ----------------------------------------------------------------------------------

    def execute(self, request: dict[str, Any], given: bytes) -> tuple[dict[str, Any], bytes]:
        """Run one command to its end, or to a limit; then nothing of it is left running."""
        started = time.monotonic()
        out, err = (
            self.bounded.HeadAndTail(request["keep"]),
            self.bounded.HeadAndTail(request["keep"]),
        )
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
                preexec_fn=self._confine,
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

    def _confine(self) -> None:
        """In the child, before the command: limits that it cannot lift."""
        # twice, so that `_overrun` sees a fork bomb and ends it; alone it would go on for ever
        limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NPROC, 2 * self.config["processes"])]
        limits += [(resource.RLIMIT_FSIZE, self.config["disk"])]
        if not self.walled:
            limits = limits[:1]  # RLIMIT_NPROC counts all processes of the user
        for number, value in limits:
            _, hard = resource.getrlimit(number)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (value, value))
        if self.linux:
            if self.machine in self.linux.MACHINES:
                self.linux.drop_capabilities(self.machine)
            self.linux.no_new_privileges()
            if self.protections["landlock"]:
                self._close_files()

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
                if 0 in ready or self.client in ready:  # the caller is gone
                    self.kill_all()
                    os._exit(0)
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
        """Whether all processes together are too many or too big; root has no other limit here."""
        pids = self._descendants()
        if len(pids) > self.config["processes"]:
            return "processes"
        pages = 0
        for pid in pids:
            try:
                with open(f"/proc/{pid}/statm") as file:
                    _, resident, shared, *_ = map(int, file.read().split())
            except (OSError, ValueError):
                continue
            pages += resident - shared
        return "memory" if pages * resource.getpagesize() > self.config["memory"] else ""

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
                name = (
                    type(error).__name__ if type(error) is not self.beneath.Escapes else "Escapes"
                )
                reply = {"error": name, "errno": error.errno, "message": error.strerror}
                payload = b""
            send({**reply, "size": len(payload)}, payload)

    def answer(self, request: dict[str, Any], given: bytes) -> tuple[dict[str, Any], bytes]:
        """One request: `execute`, `take`, `put`, `gather`, `fresh`, `reset`."""
        kind = request["do"]
        if kind == "execute":
            return self.execute(request, given)
        if kind == "take":
            return {}, self.beneath.take(self.tree, request["path"])
        if kind == "put":
            self.beneath.put(self.tree, request["path"], given)
        elif kind == "gather":
            files = self.beneath.take_all(self.scratch + "/channel", _SCRATCH_BYTES)
            return {"files": [[n, len(d)] for n, d in files.items()]}, b"".join(files.values())
        elif kind == "fresh":
            self.fresh(request["files"], given)
        elif kind == "reset":
            self.reset()
        return {}, b""


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


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
        return
    send(
        {
            "protections": jail.protections,
            "tree": jail.tree,
            "base": jail.base,
            "scratch": jail.scratch,
            "tmp": jail.tmp,
        }
    )
    jail.serve()
    jail.kill_all()


if __name__ == "__main__":
    main()
