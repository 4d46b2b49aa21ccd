"""Linux isolation by system call: namespaces, a private root, Landlock, capabilities, seccomp.

Loaded by path inside the sandbox server: standard library only. Every function raises OSError when
the machine does not allow its measure; the server then reports the measure as absent and continues
without it.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import struct
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SYS_MOUNT_SETATTR, _SYS_PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT = 444, 445, 446
_SYS_SECCOMP, _SYS_CLONE = {"x86_64": 317, "aarch64": 277}, {"x86_64": 56, "aarch64": 220}
_SECCOMP_SET_MODE_FILTER, _SECCOMP_NEW_LISTENER = 1, 8
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_SYS_KEYCTL, _KEYCTL_JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4

MACHINES = frozenset(_SYS_CAPSET)
NOBODY = 65534

_MADE_UP = {
    "meminfo": "MemTotal:        4194304 kB\nMemFree:         2097152 kB\n"
    "MemAvailable:    3145728 kB\nBuffers:          131072 kB\nCached:           917504 kB\n"
    "SwapCached:            0 kB\nActive:          1048576 kB\nInactive:         524288 kB\n"
    "Shmem:             16384 kB\nSlab:             131072 kB\nSReclaimable:      65536 kB\n"
    "SUnreclaim:        65536 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n",
    "cpuinfo": "processor\t: 0\nmodel name\t: none\ncpu MHz\t\t: 1000.000\ncpu cores\t: 1\n\n",
    "stat": "cpu  1000 0 1000 8000 0 0 0 0 0 0\ncpu0 1000 0 1000 8000 0 0 0 0 0 0\n"
    "intr 0\nctxt 0\nbtime 1500000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
}
"""Files of /proc that packages read when they are imported, the same on every machine."""


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, *arguments: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *padded), f"prctl {option}")


def die_with_parent() -> None:
    """SIGKILL for this process when its parent dies. A change of user resets it: call it after."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def adopt_orphans() -> None:
    """Orphaned descendants become children of this process, so that it can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """No other process of this user may read this one's memory."""
    _prctl(_PR_SET_DUMPABLE, 0)


def no_new_privileges() -> None:
    """Needed before Landlock and seccomp; also makes set-uid programs harmless."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def enter_namespaces() -> bool:
    """New user, mount, pid (for children), network, ipc and host-name namespaces.

    Returns whether the inner user 1 is the host's `nobody` (only root may map it). The map is
    written by a helper that stays outside, for the same reason.
    """
    is_root = os.geteuid() == 0
    uid, gid = os.geteuid(), os.getegid()
    go_read, go_write = os.pipe()
    done_read, done_write = os.pipe()
    target = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(go_write)  # else it would wait for itself when there is nothing to do
        code = b"0"
        if os.read(go_read, 1) == b"g":
            for users in (2, 1) if is_root else (1,):  # root of a namespace may have one user only
                try:
                    _write_maps(target, uid, gid, users)
                except OSError:
                    continue
                code = str(users).encode()
                break
        os.write(done_write, code)
        os._exit(0)
    try:
        flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET
        _check(_libc.unshare(flags | _CLONE_NEWIPC | _CLONE_NEWUTS), "unshare")
        os.write(go_write, b"g")
        users = int(os.read(done_read, 1) or b"0")
        if not users:
            raise OSError(errno.EPERM, "cannot map users into a namespace")
    finally:
        for fd in (go_read, go_write, done_read, done_write):
            os.close(fd)
        os.waitpid(helper, 0)
    return users == 2


def _write_maps(pid: int, uid: int, gid: int, users: int) -> None:
    def put(name: str, text: str) -> None:
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)

    second = f"\n1 {NOBODY} 1" if users == 2 else ""
    if users == 1:
        put("setgroups", "deny")
    put("uid_map", f"0 {uid} 1{second}")
    put("gid_map", f"0 {gid} 1{second}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """The system call."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    result = _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _check(result, f"mount {target}")


def private_root(readable: list[str], scratch: str, scratch_bytes: int, machine: str) -> None:
    """Replace the file system by an empty one: `readable` read-only at their own paths, and
    `scratch`.

    `scratch` is a private tmpfs of `scratch_bytes`, and /tmp a link to it unless something readable
    lies below /tmp; /dev holds null, zero, random and urandom; /proc is a directory that cannot be
    listed, with a few files that are made up. `readable` must not be nested.
    """
    keep_mounts_private()
    base = "/tmp" if os.path.isdir("/tmp") else "/mnt"
    # `base` is about to be covered, so sources are reached through descriptors opened before
    devices = [f"/dev/{name}" for name in ("null", "zero", "random", "urandom")]
    sources = {path: os.open(path, os.O_PATH) for path in [*readable, *devices]}
    links = {p: os.readlink(p) for p in ("/lib", "/lib64") if os.path.islink(p)}
    mount_memory(base, "size=1m,nr_inodes=4k,mode=755")
    for path, link in links.items():
        os.symlink(link, base + path)
    for path, fd in sources.items():
        bind(fd, base + path, read_only=path not in devices)
        os.close(fd)
    _make_up_proc(base + "/proc")
    os.mkdir(base + scratch)
    mount_memory(base + scratch, f"size={scratch_bytes},nr_inodes=1k,mode=1777", programs=False)
    if not os.path.exists(base + "/tmp"):
        os.symlink(scratch, base + "/tmp")
    enter_root(base, machine)


def _make_up_proc(folder: str) -> None:
    if os.path.exists(folder):  # something readable lies below
        return
    os.mkdir(folder)
    for name, text in _MADE_UP.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", 0o444)
    os.chmod(folder, 0o111)


def keep_mounts_private() -> None:
    """Keep all later mounts in this mount namespace."""
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)


def mount_memory(target: str, options: str, *, programs: bool = True) -> None:
    """Mount an empty tmpfs; `programs`: files in it may be executed."""
    flags = _MS_NOSUID | _MS_NODEV | (0 if programs else _MS_NOEXEC)
    mount("tmpfs", target, "tmpfs", flags, options)


def bind(fd: int, target: str, *, read_only: bool) -> None:
    """Show the file or directory open as `fd` at `target`, which is made."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        open(target, "w").close()
    mount(f"/proc/self/fd/{fd}", target, None, _MS_BIND | _MS_REC)
    if read_only:
        make_read_only(target)


def own_mounts() -> None:
    """Enter a mount namespace: later mounts are visible to this process and its children only."""
    _check(_libc.unshare(_CLONE_NEWNS), "unshare")


def own_ipc() -> None:
    """An empty set of System V segments, semaphores and queues for this process and its children;
    the set that nobody uses any more is gone."""
    _check(_libc.unshare(_CLONE_NEWIPC), "unshare")


def own_keyring(machine: str) -> None:
    """A new and empty session keyring in the place of that of the user's session."""
    join = ctypes.c_long(_KEYCTL_JOIN_SESSION_KEYRING)
    _check(_syscall(_SYS_KEYCTL[machine], join, None), "keyctl")


def unmount(target: str) -> None:
    """Take away what is mounted at `target`, at once, also when it is in use."""
    _check(_libc.umount2(target.encode(), _MNT_DETACH), f"umount {target}")


def enter_root(base: str, machine: str) -> None:
    """Make the mount `base` the root directory, read-only, and let go of the old one."""
    os.mkdir(base + "/.old")
    old = (base + "/.old").encode()
    _check(_syscall(_SYS_PIVOT_ROOT[machine], base.encode(), old), "pivot_root")
    os.chdir("/")
    unmount("/.old")
    os.rmdir("/.old")
    mount("none", "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def make_read_only(target: str) -> None:
    """Make a mount and those below it read-only, without set-uid programs and devices."""
    attributes = _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV
    request = struct.pack("=QQQQ", attributes, 0, 0, 0)
    result = _syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, request, len(request)
    )
    if result == 0:
        return
    kept = os.statvfs(target).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    mount("none", target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)


def drop_user(identity: int) -> None:
    """Become user and group `identity`, for good."""
    os.setgroups([])
    os.setresgid(identity, identity, identity)
    os.setresuid(identity, identity, identity)


def drop_capabilities(machine: str) -> None:
    """Give up every capability, also the inner root's."""
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_syscall(_SYS_CAPSET[machine], header, struct.pack("=6I", *[0] * 6)), "capset")


_READ_FILE, _READ_DIR, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
_MAKE_DEVICES = 1 << 6 | 1 << 11
_FILE_RIGHTS = _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15
_WRITE_RIGHTS = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))


def restrict_files(readable: list[str], writable: list[str]) -> None:
    """Landlock: files can be read only below `readable`, and written only below `writable`."""
    version = _syscall(_SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    _check(version, "landlock")
    extra = sum(1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since)
    handled = _WRITE_RIGHTS | _READ_FILE | _READ_DIR | _EXECUTE | extra
    network = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", handled, network, scoped)[:size]
    ruleset = _check(
        _syscall(_SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)),
        "landlock",
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE | _EXECUTE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path, handled & ~_EXECUTE & ~_MAKE_DEVICES)
        no_new_privileges()
        _check(_syscall(_SYS_LANDLOCK_RESTRICT, ruleset, ctypes.c_uint32(0)), "landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH)
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, fd)
        _check(
            _syscall(_SYS_LANDLOCK_ADD, ruleset, 1, rule, ctypes.c_uint32(0)), f"landlock {path}"
        )
    finally:
        os.close(fd)


_PID = struct.Struct("=I")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install_filter(code: bytes) -> None:
    """Install a seccomp filter (BPF instructions, 8 bytes each) on this process."""
    program = _FilterProgram(len(code) // 8, code)
    result = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    _check(result, "seccomp")


class FilterOfOwn:
    """A filter that names the process which installs it. `place`: what stands for its pid."""

    def __init__(self, code: bytes, place: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(code, len(code))
        self._places = [at for at in range(0, len(code), 4) if code[at : at + 4] == place]
        address = ctypes.cast(self._buffer, ctypes.c_char_p)
        self._program = ctypes.byref(_FilterProgram(len(code) // 8, address))

    def install(self) -> None:
        """On this process."""
        pid = os.getpid()
        for at in self._places:
            _PID.pack_into(self._buffer, at, pid)
        _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._program, 0, 0), "seccomp")


def install_asking_filter(code: bytes, machine: str) -> int:
    """The same for a filter that asks; returns the descriptor from which the questions are read."""
    program = ctypes.byref(_FilterProgram(len(code) // 8, code))
    arguments = ctypes.c_ulong(_SECCOMP_SET_MODE_FILTER), ctypes.c_ulong(_SECCOMP_NEW_LISTENER)
    return _check(_syscall(_SYS_SECCOMP[machine], *arguments, program), "seccomp")


_libc_held = ctypes.PyDLL(None)  # keeps the lock of the interpreter, as `os.fork` does


def copier(flags: int, machine: str) -> Callable[[], int]:
    """Forks with `flags` and without a word to the interpreter: of a process with one thread, whose
    copy continues as if it were the same (no handlers run, random states stay). As `os.fork`."""
    zeros = [ctypes.c_ulong(0)] * 4
    call = ctypes.c_long(_SYS_CLONE[machine])
    return functools.partial(_libc_held.syscall, call, ctypes.c_ulong(flags), *zeros)


def say(option: int) -> bool:
    """Make a `prctl` that means something to a filter; whether it was answered."""
    return int(_libc.prctl(option, *[ctypes.c_ulong(0)] * 4)) == 0
