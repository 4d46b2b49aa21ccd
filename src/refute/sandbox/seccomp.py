"""Seccomp filters as classic BPF: an allowlist for the server, a stricter filter per program, and
one for the jail of a repository's tests.

Loaded by path inside the sandbox and the jail: standard library only. The tables hold the system
calls that CPython and its standard library need to compute, to use threads and to work with files
in the private directory; everything else (sockets to anywhere, mounts, ptrace, keyrings, bpf,
io_uring, flock, setsockopt, ...) fails with EPERM. To start a program fails with ENOENT, as if it
was not installed: that is what callers are ready for.
"""

from __future__ import annotations

import struct

# name: (x86-64, aarch64); -1 where the architecture has no such call
_ALLOWED: dict[str, tuple[int, int]] = {
    "read": (0, 63), "write": (1, 64), "open": (2, -1), "close": (3, 57), "stat": (4, -1),
    "fstat": (5, 80), "lstat": (6, -1), "poll": (7, -1), "lseek": (8, 62), "mmap": (9, 222),
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "ioctl": (16, 29), "pread64": (17, 67),
    "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66), "access": (21, -1),
    "pipe": (22, -1), "select": (23, -1), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "dup": (32, 23), "dup2": (33, -1), "pause": (34, -1),
    "nanosleep": (35, 101), "getitimer": (36, 102), "alarm": (37, -1), "setitimer": (38, 103),
    "getpid": (39, 172), "sendfile": (40, 71), "recvmsg": (47, 212), "sendmsg": (46, 211),
    "sendto": (44, 206), "recvfrom": (45, 207), "shutdown": (48, 210), "getsockname": (51, 204),
    "getpeername": (52, 205), "getsockopt": (55, 209), "clone": (56, 220),
    "fork": (57, -1), "vfork": (58, -1), "exit": (60, 93), "wait4": (61, 260), "kill": (62, 129),
    "uname": (63, 160), "fcntl": (72, 25), "fsync": (74, 82),
    "fdatasync": (75, 83), "truncate": (76, 45), "ftruncate": (77, 46), "getdents": (78, -1),
    "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "rename": (82, -1),
    "mkdir": (83, -1), "rmdir": (84, -1), "creat": (85, -1), "link": (86, -1), "unlink": (87, -1),
    "symlink": (88, -1), "readlink": (89, -1), "umask": (95, 166), "gettimeofday": (96, 169),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153),
    "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getppid": (110, 173), "getpgrp": (111, -1), "getgroups": (115, 158), "getresuid": (118, 148),
    "getresgid": (120, 150), "getpgid": (121, 155), "getsid": (124, 156),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "getpriority": (140, 141), "prctl": (157, 167),
    "arch_prctl": (158, -1), "gettid": (186, 178), "time": (201, -1), "futex": (202, 98),
    "sched_getaffinity": (204, 123), "getdents64": (217, 61), "set_tid_address": (218, 96),
    "restart_syscall": (219, 128), "fadvise64": (221, 223), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "exit_group": (231, 94),
    "epoll_wait": (232, -1), "epoll_ctl": (233, 21), "tgkill": (234, 131), "waitid": (247, 95),
    "openat": (257, 56), "mkdirat": (258, 34), "newfstatat": (262, 79), "unlinkat": (263, 35),
    "renameat": (264, 38), "linkat": (265, 37), "symlinkat": (266, 36), "readlinkat": (267, 78),
    "faccessat": (269, 48), "pselect6": (270, 72), "ppoll": (271, 73),
    "set_robust_list": (273, 99), "get_robust_list": (274, 100), "epoll_pwait": (281, 22),
    "eventfd2": (290, 19), "epoll_create1": (291, 20), "dup3": (292, 24), "pipe2": (293, 59),
    "preadv": (295, 69), "pwritev": (296, 70), "prlimit64": (302, 261), "renameat2": (316, 276),
    "getrandom": (318, 278), "membarrier": (324, 283), "copy_file_range": (326, 285),
    "statx": (332, 291), "rseq": (334, 293), "pidfd_open": (434, 434), "close_range": (436, 436),
    "faccessat2": (439, 439), "socketpair": (53, 199), "mlock": (149, 228), "munlock": (150, 229),
    "seccomp": (317, 277),
}  # fmt: skip

_CLONE3 = (435, 435)
_EXEC = ((59, 221), (322, 281))  # execve, execveat
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}

_LD_ABS, _JEQ, _JSET, _RET = 0x20, 0x15, 0x45, 0x06
_KILL, _ALLOW, _ERRNO, _ASK = 0x80000000, 0x7FFF0000, 0x00050000, 0x7FC00000
_EPERM, _ENOENT, _ENOSYS = 1, 2, 38
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_THREAD = 0x00010000
_CLONE_VFORK = 0x00004000  # of `posix_spawn`
_MAP_SHARED = 1
FORK = 0x00008000 | 17
"""Flags of a warm process's fork: CLONE_PARENT, so that the copy is the server's child, and
SIGCHLD."""
HELLO = 0x52656675
"""The `prctl` of a copy that waits for its job."""
_PR_SET_NAME, _PR_GET_NAME = 15, 16
_AF_UNIX = 1
_SOCK_NONBLOCK, _SOCK_CLOEXEC = 0o4000, 0o2000000
_STREAMS = tuple(
    1 | flags for flags in (0, _SOCK_NONBLOCK, _SOCK_CLOEXEC, _SOCK_NONBLOCK | _SOCK_CLOEXEC)
)
"""Datagram sockets of a pair would still send to any address, such as a socket of the host."""
# Duplicates, flags, a look at locks, seals; not F_SETOWN and F_SETSIG, which signal to others
_FCNTL = (0, 1, 2, 3, 4, 5, 1030, 1034)
_LOCKS = (6, 7)
"""F_SETLK and F_SETLKW do nothing and succeed: sqlite works on in the private directory, where
nobody else is, and no lock is held on a file of the host that a program may read."""
_IOCTL = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # isatty, size, FIONREAD, FIONBIO, cloexec


def machine_is_supported(machine: str) -> bool:
    """Return whether there is a table for the answer of `uname`."""
    return machine in _AUDIT_ARCH


def _instruction(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, k)


_NOT_THERE = _instruction(_RET, _ERRNO | _ENOENT)


def _load(argument: int) -> bytes:
    """The low 32 bits of an argument of the call: all that the kernel takes of an int."""
    return _instruction(_LD_ABS, _ARGUMENT + 8 * argument)


def _each(values: tuple[int, ...], answer: int = _ALLOW) -> bytes:
    """`answer` where the loaded number is one of `values`."""
    return b"".join(
        _instruction(_JEQ, value, 0, 1) + _instruction(_RET, answer) for value in values
    )


def _prologue(machine: str) -> bytes:
    return (
        _instruction(_LD_ABS, _ARCHITECTURE)
        + _instruction(_JEQ, _AUDIT_ARCH[machine], 1, 0)
        + _instruction(_RET, _KILL)
        + _instruction(_LD_ABS, _NUMBER)
    )


def server_filter(machine: str) -> bytes:
    """The allowlist under which server and programs run (BPF instructions)."""
    column = _COLUMN[machine]
    numbers = sorted(row[column] for row in _ALLOWED.values() if row[column] >= 0)
    code = _prologue(machine)
    code += _instruction(_JEQ, _CLONE3[column], 0, 1)  # glibc falls back to clone, which is checked
    code += _instruction(_RET, _ERRNO | _ENOSYS)
    for number in numbers:
        code += _instruction(_JEQ, number, 0, 1) + _instruction(_RET, _ALLOW)
    for row in _EXEC:
        code += _instruction(_JEQ, row[column], 0, 1) + _NOT_THERE
    return code + _instruction(_RET, _ERRNO | _EPERM)


def number(name: str, machine: str) -> int:
    """The number of an allowed system call; -1: this machine has no such call."""
    return _ALLOWED[name][_COLUMN[machine]]


def program_filter(machine: str) -> tuple[bytes, bytes]:
    """On top of the allowlist: threads but no processes, signals and limits for the process only.

    With it the bytes in it that stand for the process's own pid: a fork pays for these only.
    """
    pid = 0x5EC0C0DE  # stands for the pid, no other number in the filter
    itself = _load(0) + _each((pid,))
    thread = _thread(_instruction(_RET, _ALLOW))
    code = _stricter(
        machine,
        ("clone", thread),
        ("kill", itself),
        ("tgkill", itself),
        ("prlimit64", _load(0) + _each((0, pid))),
        ("prctl", _load(0) + _each((_PR_SET_NAME, _PR_GET_NAME))),
    )
    return code, struct.pack("=I", pid)


def warm_filter(machine: str) -> bytes:
    """The same for a warm process and its copies, but the server is asked where it depends on who
    calls, and told of what a copy would share with the next (see `warm`)."""
    ask = _instruction(_RET, _ASK)
    thread = _thread(ask) + _each((FORK,), _ASK)
    shared = _load(3) + _instruction(_JSET, _MAP_SHARED, 0, 1) + ask + _instruction(_RET, _ALLOW)
    return _stricter(
        machine,
        ("clone", thread),
        ("kill", ask),
        ("tgkill", ask),
        ("prlimit64", _load(0) + _each((0,)) + ask),
        ("prctl", _load(0) + _each((_PR_SET_NAME, _PR_GET_NAME)) + _each((HELLO,), _ASK)),
        ("mmap", shared),
        ("setitimer", ask),
        ("alarm", ask),
    )


def _thread(answer: bytes) -> bytes:
    """Of `clone`: this answer for a thread, and no program behind the pause that spawning takes."""
    thread = _load(0) + _instruction(_JSET, _CLONE_THREAD, 0, 1) + answer
    return thread + _instruction(_JSET, _CLONE_VFORK, 0, 1) + _NOT_THERE


def _stricter(machine: str, *rules: tuple[str, bytes]) -> bytes:
    """A filter that denies what no program needs, and where a rule of its own says nothing."""
    column = _COLUMN[machine]
    code = _prologue(machine)
    deny = _instruction(_RET, _ERRNO | _EPERM)
    for name, answer in (
        ("fork", deny),
        ("vfork", _NOT_THERE),
        ("pidfd_open", deny),
        ("seccomp", deny),
    ):
        if _ALLOWED[name][column] >= 0:
            code += _instruction(_JEQ, _ALLOWED[name][column], 0, 1) + answer
    unix = _load(0) + _instruction(_JEQ, _AF_UNIX, 1, 0) + deny
    for name, body in (
        *rules,
        ("fcntl", _load(1) + _each(_FCNTL) + _each(_LOCKS, _ERRNO | 0)),
        ("ioctl", _load(1) + _each(_IOCTL)),
        ("socketpair", unix + _load(1) + _each(_STREAMS)),
    ):
        body += deny
        if _ALLOWED[name][column] >= 0:
            jump = _instruction(_JEQ, _ALLOWED[name][column], 0, len(body) // 8)
            code += jump + body
    return code + _instruction(_RET, _ALLOW)


# -- a repository's tests --------------------------------------------------------------------------

_PAST_THE_JAIL = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "perf_event_open": (298, 241),
    "bpf": (321, 280), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
_SOCKET = (41, 198)
_FAMILIES = (0, 1, 2, 10, 16, 17)
"""Of sockets: none, Unix, IPv4, IPv6, netlink, packets; they live in a network namespace."""
_JGE, _X32, _EAFNOSUPPORT = 0x35, 0x40000000, 97


def jail_filter(machine: str) -> bytes:
    """A filter for calls that reach past the jail of a workspace, which allows all others.

    Keyrings belong to the user who started refute, whatever the namespace. io_uring and userfaultfd
    are ways into the kernel. Files in memory without a name count for no process once a socket
    holds them (/dev/shm exists, and is bounded). Sockets of most families know no network
    namespace. Raises KeyError for a machine without a table.
    """
    column = _COLUMN[machine]
    absent = _instruction(_RET, _ERRNO | _ENOSYS)
    code = _instruction(_LD_ABS, _ARCHITECTURE) + _instruction(_JEQ, _AUDIT_ARCH[machine], 1)
    code += absent + _instruction(_LD_ABS, _NUMBER) + _instruction(_JGE, _X32, 0, 1) + absent
    for numbers in _PAST_THE_JAIL.values():
        code += _instruction(_JEQ, numbers[column], 0, 1) + absent
    body = _load(0) + _each(_FAMILIES) + _instruction(_RET, _ERRNO | _EAFNOSUPPORT)
    code += _instruction(_JEQ, _SOCKET[column], 0, len(body) // 8) + body
    return code + _instruction(_RET, _ALLOW)
