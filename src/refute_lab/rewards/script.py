"""Runs inside the sandbox: a program as a script, with a text as its standard input.

Loaded by `stdio` as the code that the sandbox calls: standard library only. The program shares the
process and may do to this code what it likes: what comes back is only what it says that it printed.
"""

from __future__ import annotations

import atexit
import builtins
import os
import sys
import types
from typing import Any

MOST = 16 << 20
"""Bytes of output that are looked at."""


def run(source: str, stdin: str) -> str:
    """Run the program and return its output. Raises its exception, `SystemExit` for a status other
    than 0."""
    given, printed = os.open("stdin", os.O_RDWR | os.O_CREAT), os.open("stdout", _NEW)
    with open(given, "wb", closefd=False) as file:
        file.write(stdin.encode("utf-8", "surrogatepass"))
    os.lseek(given, 0, os.SEEK_SET)
    os.dup2(given, 0)
    os.dup2(printed, 1)
    for name in ("stdin", "stdout"):
        os.unlink(name)
    reader: Any = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    writer: Any = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdin = sys.__stdin__ = reader  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = writer  # type: ignore[misc]
    sys.argv = ["program.py"]
    module = types.ModuleType("__main__")
    module.__file__ = "program.py"
    sys.modules["__main__"] = module
    builtins.open = _open
    really, os._exit = os._exit, _leave  # type: ignore[assignment]
    try:
        exec(compile(source, "<program>", "exec", dont_inherit=True), module.__dict__)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        os._exit = really
    threading: Any = sys.modules.get("threading")  # where the program has threads, it is imported
    for thread in threading.enumerate() if threading is not None else ():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in {sys.stdout, sys.__stdout__}:
        if stream is not None and not stream.closed:
            stream.flush()
    return os.pread(printed, MOST, 0).decode("utf-8", "replace")


_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC
_opened = open


def _open(file: Any, *args: Any, **kwargs: Any) -> Any:
    """`open`, where the names of the streams are known: there is no /dev and no /proc here."""
    if type(file) is str:
        file = _STREAMS.get(file, file)
    return _opened(file, *args, **kwargs)


_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def _leave(status: int) -> None:
    """`os._exit`: the process has yet to say what was printed."""
    raise SystemExit(status)
