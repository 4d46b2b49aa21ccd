"""Programs are not installed here: what starts one ends as on a machine without that program.

Loaded by path inside the sandbox: standard library only. No program can be started (see
`seccomp`); this says so in the words that callers expect. Many packages ask `git` or `uname` for
something while they are imported and go on when it is not there, but not when they are told that
they may not. There is a shell, to which every command is unknown. Nothing is opened by this: a
process that undoes it is where it was before.
"""

from __future__ import annotations

import errno
import os
from itertools import count
from typing import Any

try:  # once, in the server: it takes a third of the time in which a program is made ready
    import _posixsubprocess
except ImportError:
    _posixsubprocess = None  # type: ignore[assignment]

_SHELL = [b"/bin/sh"]
_UNKNOWN = 127 << 8
"""What is waited for from a shell that does not find a command."""
_NO_PROCESS = 1 << 22
"""Linux gives no process this number or one above it."""


def none_installed() -> None:
    """From now on `subprocess` (and `os.popen`, `asyncio`) finds no program in this process."""
    if _posixsubprocess is None:
        return
    unheard: set[int] = set()
    numbers = count(_NO_PROCESS)
    wait = os.waitpid

    def fork_exec(arguments: Any, executables: Any, *others: Any) -> int:
        if [*executables] != _SHELL:
            name = os.fspath(arguments[0])
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        pid = next(numbers)
        unheard.add(pid)
        return pid

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        if pid in unheard:
            unheard.remove(pid)
            return pid, _UNKNOWN
        return wait(pid, options)

    for module, name, other in (
        (_posixsubprocess, "fork_exec", fork_exec),
        (os, "waitpid", waitpid),
    ):
        setattr(module, name, other)
