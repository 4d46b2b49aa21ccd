"""Runs one job inside a forked child: programs on calls, outcomes as frames in a shared file.

Loaded by path inside the sandbox: standard library only. From the moment the first program is
loaded this process belongs to the program; nothing it writes is believed by the server or the
trusted side beyond "this is what the program said" (see `server` and `local` for what is checked).

The result file: a header `HEADER` (bytes committed, step in progress, phase), then frames `FRAME`
(step, length) each followed by `length` bytes. Step `v * (calls + 1)` is the import of program v,
and `v * (calls + 1) + 1 + i` its call i; an import leaves a frame only when it raised.
"""

from __future__ import annotations

import builtins
import errno
import marshal
import mmap
import os
import struct
import sys
import types
from itertools import count
from typing import Any

try:  # once, in the server: it takes a third of the time in which a program is made ready
    import _posixsubprocess
except ImportError:
    _posixsubprocess = None  # type: ignore[assignment]

_SHELL = [b"/bin/sh"]
_UNKNOWN = 127 << 8
"""Wait status of a shell that does not find a command."""
_NO_PROCESS = 1 << 22
"""Linux gives no process this number or one above it."""


def none_installed() -> None:
    """Make `subprocess` (and `os.popen`, `asyncio`) find no program in this process.

    No program can be started (see `seccomp`); this says so in the words that callers expect. Many
    packages ask `git` or `uname` for something while they are imported, and do without it when it
    is not installed, but fail when they may not start it. A shell exists, to which every command is
    unknown. This opens nothing: a process that undoes it is where it was before.
    """
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


HEADER = struct.Struct("<QIB")
FRAME = struct.Struct("<II")
MODULE = "refute_program"  # the name of one that nobody imports
FIRST = 16  # offset of the first frame
IMPORTING, CALLING, FULL = 0, 1, 2  # phases
MOST_KINDS = 30  # of an exception

loading: Any = None
naming: Any = None
observing: Any = None
"""The modules `loading`, `naming` and `observing`; the server sets them."""

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_SEQUENCES = frozenset({list, tuple, set, frozenset})


def be_warm(head: bytes, copy: Any, greet: Any, codec: Any) -> None:
    """Import the module and be copied for each job; returns in a copy that has done its job."""
    name, filename, codes = marshal.loads(head)
    text = codes[0] if isinstance(codes[0], str) else None
    code = [unpacked(codes, at, filename) for at in range(len(codes))]
    found = loading.import_text(name, filename, code, text)
    while True:
        pid = copy()
        if pid < 0:
            raise OSError("no copies")
        if pid == 0:
            break
    if not greet():
        raise OSError("no job")
    os.closerange(5, 256)  # the server's, who took all that there could be
    content, view = read_all(3), mmap.mmap(4, 0)
    os.closerange(3, 256)
    run_job(content, len(head), view, codec, (codes, found))


def run_job(payload: bytes, head: int, view: Any, codec: Any, imported: Any = None) -> None:
    """Run every step from the one in the header on. Returns when all is done.

    The payload's head, of so many bytes, is the module of the first program, whose codes come
    first. `codec` is the `values` module. `imported`: these codes, unpacked, and the modules that
    their import left, where they were imported before.
    """
    committed, step, _ = HEADER.unpack_from(view, 0)
    capacity = len(view)
    codes, programs, blob, count, limit, alone = marshal.loads(payload[head:])
    if imported is None:
        codes[:0] = marshal.loads(payload[:head])[2] if head else []
        ready = None
    else:
        ready = list(range(len(imported[0])))
        codes[:0] = imported[0]
    width = count + 1
    base_of: Any = None  # the parts of the program that is loaded for its variants
    variants: Any = None
    while step < len(programs) * width:
        index, first = divmod(step, width)
        base = index * width
        calls = marshal.loads(blob)
        parts, entry_point, filename, name, setup, bodies = programs[index]
        # What makes another variant of a module that is loaded has the time of a call.
        phase = IMPORTING if setup is None or base_of != parts else CALLING
        HEADER.pack_into(view, 0, committed, base + first, phase)
        try:
            if setup is None or base_of != parts:
                base_of = None
                text = codes[parts[0]] if isinstance(codes[parts[0]], str) else None
                code = [unpacked(codes, at, filename) for at in parts]
                if parts == ready and name is not None:
                    found, ready = imported[1], None  # once: calls may leave something behind
                elif name is None:
                    found = [execute(code, filename)]
                else:
                    found = loading.import_text(name, filename, code, text)
                if setup is not None:
                    variants, base_of = loading.SwappableProgram(found, code), parts
            if setup is not None:
                found = variants.found
                variants.become(marshal.loads(bodies), unpacked(codes, setup, filename))
            namespace = found[-1]
            function = resolve(found, entry_point)
        except BaseException as error:
            body = describe(error, filename, codec)
            if committed + 8 + len(body) > capacity:
                HEADER.pack_into(view, 0, committed, base, FULL)
                return
            FRAME.pack_into(view, committed, base, len(body))
            view[committed + 8 : committed + 8 + len(body)] = body
            committed += 8 + len(body)
            step = base + width
            HEADER.pack_into(view, 0, committed, step, IMPORTING)
            if body is _OUT_OF_MEMORY:
                return
            continue
        at = max(first - 1, 0)
        committed = _run_calls(
            function, namespace, calls[: at + 1] if alone else calls, at, base, view, capacity,
            committed, limit, filename, codec,
        )  # fmt: skip
        if committed < 0 or alone:
            return
        step = base + width


def _run_calls(
    function: Any, namespace: Any, calls: list[Any], first: int, base: int, view: Any, capacity:
    int, committed: int, limit: int, filename: str, codec: Any,
) -> int:  # fmt: skip
    """The hot loop: about a microsecond on top of a call. Returns -1 when the file is full."""
    dumps, pack, pack_header = marshal.dumps, FRAME.pack_into, HEADER.pack_into
    atoms, sequences, build = _ATOMS, _SEQUENCES, codec.from_node
    step = base + 1 + first
    pack_header(view, 0, committed, step, CALLING)
    for kind, arguments, keywords in calls[first:] if first else calls:
        try:
            if kind == 0:
                value = function(*arguments) if not keywords else function(*arguments, **keywords)
            elif kind == 1:
                value = function(*build(arguments), **build(keywords))
            elif kind == 3:
                value = observing.replay(namespace, arguments, keywords, filename)
            elif kind == 5:
                value = observing.observe(namespace, arguments, filename, codec)
            elif kind == 4:
                value = observing.runs(namespace, arguments, function)
            else:
                value = eval(compile(arguments, "<expression>", "eval"), namespace.__dict__)
            shape = type(value)
            if shape in atoms or (shape in sequences and set(map(type, value)) <= atoms):
                body = b"M" + dumps(value, 2)
            else:
                body = codec.encode(value)
        except MemoryError as error:
            body = describe(error, filename, codec)
            end = committed + 8 + len(body)
            if end > capacity:
                pack_header(view, 0, committed, step, FULL)
                return -1
            pack(view, committed, step, len(body))
            view[committed + 8 : end] = body
            pack_header(view, 0, end, step + 1, CALLING)
            return -1  # what the program still holds must not cost the next call: a fresh process
        except BaseException as error:
            body = describe(error, filename, codec)
        size = len(body)
        if size > limit:
            body = codec.digest(body)
            size = len(body)
        end = committed + 8 + size
        if end > capacity:
            pack_header(view, 0, committed, step, FULL)
            return -1
        pack(view, committed, step, size)
        view[committed + 8 : end] = body
        committed = end
        step += 1
        pack_header(view, 0, committed, step, CALLING)
    return committed


def read_all(fd: int) -> bytes:
    """The content of a file."""
    size, parts, at = os.lseek(fd, 0, os.SEEK_END), [], 0
    while at < size:  # one pread returns at most 2 GiB
        parts.append(os.pread(fd, size - at, at))
        at += len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def execute(code: list[types.CodeType], filename: str) -> types.ModuleType:
    """Execute a program that nobody imports, as a module of its own (not ``__main__``)."""
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    module.__package__ = ""
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    for part in code:
        exec(part, module.__dict__)
    return module


def unpacked(codes: list[Any], at: int, filename: str) -> types.CodeType:
    """A code object that was sent as text or marshalled; it is kept for the next that needs it."""
    code = codes[at]
    if isinstance(code, str):
        code = compile(code, filename, "exec", dont_inherit=True)
    elif isinstance(code, bytes):
        code = marshal.loads(code)
    codes[at] = code
    return code  # type: ignore[no-any-return]


def resolve(found: list[types.ModuleType], entry_point: str) -> Any:
    """Return the object of an entry point in the first module that has it. Raises NameError."""
    for module in found:
        try:
            return naming.find(module, entry_point)
        except AttributeError:
            continue
    raise NameError(f"name {entry_point!r} is not defined")


def describe(error: BaseException, filename: str, codec: Any) -> bytes:
    """Encode an exception: type name, message, the last line of the program on its way, and the
    names by which `except` would catch it."""
    line, kinds = None, []
    try:
        name = "?"
        if type(error) is MemoryError:
            error.__traceback__ = None  # lets go of what the program's frames hold
            return _OUT_OF_MEMORY
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == filename:
                line = trace.tb_lineno
            trace = trace.tb_next
        name = str.__str__(type.__dict__["__name__"].__get__(type(error)))[:200]
        kinds = naming.kinds(type(error))[-MOST_KINDS:]
        if line is None and isinstance(error, SyntaxError) and error.filename == filename:
            line = error.lineno
        message = str.__str__(str(error))[:2000]
    except BaseException:
        message = ""
    try:
        return b"E" + marshal.dumps((name, message, line, kinds), 2)
    except BaseException:
        return b"E" + marshal.dumps((name, "", None, []), 2)


_OUT_OF_MEMORY = b"E" + marshal.dumps(("MemoryError", "", None, []), 2)
