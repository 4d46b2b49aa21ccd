"""System calls that no command in a jail needs and that reach past it, as a seccomp filter.

Keyrings belong to the user who started refute, whatever the namespace; io_uring and userfaultfd are
ways into the kernel; files in memory without a name count for no process once a socket holds them
(/dev/shm is there, and bounded); sockets of most families know no network namespace. Loaded by path
inside the jail: standard library only.
"""

from __future__ import annotations

import struct

# (x86-64, aarch64)
_NOT_THERE = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "perf_event_open": (298, 241),
    "bpf": (321, 280), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
_SOCKET = {"x86_64": 41, "aarch64": 198}
_FAMILIES = (0, 1, 2, 10, 16, 17)
"""Of sockets: none, Unix, IPv4, IPv6, netlink, packets; they live in a network namespace."""
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_ENOSYS, _EAFNOSUPPORT = 38, 97
_X32 = 0x40000000


def denying_filter(machine: str) -> bytes:
    """The filter (BPF instructions of 8 bytes). Raises KeyError for a machine without a table."""
    absent = _line(_RETURN, _ERRNO | _ENOSYS)
    code = _line(_LOAD, 4) + _line(_EQUAL, _ARCHITECTURE[machine], 1) + absent
    code += _line(_LOAD, 0) + _line(_AT_LEAST, _X32, 0, 1) + absent
    for numbers in _NOT_THERE.values():
        code += _line(_EQUAL, numbers[_COLUMN[machine]], 0, 1) + absent
    families = b"".join(_line(_EQUAL, n, 0, 1) + _line(_RETURN, _ALLOW) for n in _FAMILIES)
    body = _line(_LOAD, 16) + families + _line(_RETURN, _ERRNO | _EAFNOSUPPORT)
    code += _line(_EQUAL, _SOCKET[machine], 0, len(body) // 8) + body
    return code + _line(_RETURN, _ALLOW)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
