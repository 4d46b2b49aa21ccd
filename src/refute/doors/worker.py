"""One call of a verb in a process of its own, which can be cancelled: `call` starts it.

The process is a copy of one that has imported the verbs and has worked on no call (`Ready`). It
reads one line of JSON (`Request`) and writes lines of JSON (`Progress`, then `Done` or `Failed`) to
the socket of its call; whatever else prints reaches stderr. When the socket ends it stops: verbs
over functions then return what they have, as on Ctrl-C. What does not stop in `GRACE` is killed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import msgspec
from msgspec import Meta, Struct

from refute.core.starting import Variable, start_module
from refute.core.storage import SCRATCH, ScratchFolder
from refute.errors import BAD_INPUT, UNAVAILABLE, told
from refute.models.asking import Asked

if TYPE_CHECKING:
    from refute.doors.verbs import Tell, Verb
    from refute.verbs.output import Shown

GRACE = 20.0
"""Seconds for an end in good order."""
_LONGEST_LINE = 1000
"""Characters of a line of progress."""
_SCRATCH = re.compile(rf"\S*/{SCRATCH}\w+/")
"""Folders of texts that were handed over: the caller knows none of them."""
Fault = Literal["bad input", "unavailable", "stopped", "internal"]


class Request(Struct, frozen=True):
    """Call of a verb."""

    verb: str
    arguments: dict[str, Any]
    folder: str
    asked: dict[str, Any] = {}
    """Fields of `refute.models.asking.Asked`."""
    outside: bool = False
    """Paths outside of the folder are allowed."""


class Progress(Struct, frozen=True, tag="progress"):
    """Progress, in a line."""

    message: str


class Done(Struct, frozen=True, tag="done"):
    """The answer: the JSON document, and its text with what was remarked besides."""

    result: dict[str, Any]
    text: str = ""


class Failed(Struct, frozen=True, tag="failed"):
    """There is no answer; the message is one line."""

    fault: Fault
    message: str


Event = Progress | Done | Failed


def be_ready() -> None:
    """The process that calls are copied from: `python -m refute.doors.worker VERB...`, with the
    socket of `Ready` as its stdin."""
    from refute.doors.verbs import VERBS

    for name in sys.argv[1:]:
        _ = VERBS[name].run, VERBS[name].arguments
    for module in ("function.methods.search", "results.text.functions"):  # most calls need them
        import_module(f"refute.{module}")
    gc.set_threshold(200_000)  # as the command line
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=os.dup(0)) as door:
        while fds := socket.recv_fds(door, 1, 1)[1]:
            if not os.fork():
                break
            os.close(fds[0])
        else:
            return
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (0, 1):
        os.dup2(fds[0], number)
    os.close(fds[0])
    main()


def main() -> None:
    """A call."""
    os.environ[Variable.SINCE] = str(time.time())  # see `workspace.environment`
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints must not reach the protocol
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the call was given up before it was made
    asked_for = msgspec.json.decode(line, type=Request)
    threading.Thread(target=_watch, daemon=True).start()
    events: SimpleQueue[Event | None] = SimpleQueue()
    writer = threading.Thread(target=_write, args=(wire, events))  # no Ctrl-C breaks a line off
    writer.start()

    def tell(line: str) -> None:
        events.put(Progress(line[:_LONGEST_LINE]))

    log = logging.getLogger("refute")
    remarks: list[str] = []
    log.addHandler(_Remarks(tell, remarks))
    log.setLevel(logging.INFO)
    log.propagate = False
    event: Event
    try:
        os.chdir(asked_for.folder)
        event = _answer(asked_for, tell, remarks)
    except KeyboardInterrupt:
        event = Failed("stopped", "stopped before there was a result")
    except Exception as error:
        event = _failed(error)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events.put(event)
    events.put(None)
    writer.join()
    gc.freeze()  # the interpreter, which ends, need not look for cycles once more


def _write(wire: BinaryIO, events: SimpleQueue[Event | None]) -> None:
    with wire:
        while (event := events.get()) is not None:
            wire.write(msgspec.json.encode(event) + b"\n")
            wire.flush()


def _answer(asked_for: Request, tell: Tell, remarks: list[str]) -> Done:
    from refute.doors.verbs import VERBS
    from refute.verbs.output import next_step

    given = dict(asked_for.asked)
    given["record"] = Path(given["record"]) if given.get("record") else None
    asked = Asked(**given)
    if asked_for.verb == "check_file":
        checked = check_file(msgspec.convert(asked_for.arguments, CheckFile), asked, tell)
        return Done(msgspec.to_builtins(checked))
    found = _run(VERBS[asked_for.verb], asked_for, asked, tell)
    document = json.loads(json.dumps(found.to_dict()))
    os.environ["TERM"] = "dumb"  # tables as lists: no model reads frames
    answer, advice = found.answer(), next_step(found)
    shown = [line.rstrip() for line in str(found).splitlines() if line.strip() != answer]
    lines = [answer, *shown, *remarks, *([f"next: {advice}"] if advice else ())]
    return Done(document, _SCRATCH.sub("", "\n".join(lines)))


def _run(verb: Verb, asked_for: Request, asked: Asked, tell: Tell) -> Shown:
    from refute.doors.verbs import options_for

    arguments = msgspec.convert(asked_for.arguments, verb.arguments)
    asked = replace(asked, set={**asked.set, **verb.limits(arguments.time_limit)})
    with ScratchFolder() as scratch:
        how: Any = {"outside": asked_for.outside}
        options = options_for(verb.options, arguments, asked, Path(scratch), **how)
        shown: Shown = verb.run(options=options, **verb.progress(tell, asked_for.outside))
        return shown


def _failed(error: Exception) -> Failed:
    status, line = told(error)
    faults: dict[int, Fault] = {BAD_INPUT: "bad input", UNAVAILABLE: "unavailable"}
    line = _SCRATCH.sub("", line)
    return Failed(faults.get(status, "internal"), line)


def _watch() -> None:
    """Stop when whoever called has gone or wants no more."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE)
    os.killpg(os.getpgrp(), signal.SIGKILL)


class _Remarks(logging.Handler):
    """Handler that sends the library's remarks at once, and keeps them for the answer."""

    def __init__(self, tell: Tell, kept: list[str]) -> None:
        super().__init__()
        self._tell, self._kept = tell, kept

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(record.getMessage())
        self._tell(self._kept[-1])


# -- checking a file for an editor: `hunt`, then `debug`

QUICK = 1.0
"""Seconds to search one function where only what the examples show is asked for."""


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request of an editor about one file."""

    file: str
    text: str
    """The editor's, saved or not."""
    python: str = ""
    seconds_per_function: float = 5.0
    time_limit: float = 300.0
    fixes: bool = True
    """True to search fixes, too; without, the answer comes soon, from the examples."""


class CheckedFunction(Struct, frozen=True, kw_only=True):
    """A function that is wrong."""

    function: str
    line: Annotated[int, Meta(description="Of its definition, counted from 1.")]
    message: str
    tests: Annotated[str, Meta(description="A pytest file of its failing tests.")]
    test_path: Annotated[str, Meta(description="Path of that file.")]
    code: Annotated[str, Meta(description="The whole file with its fix; empty: none was found.")]
    fix: Annotated[str, Meta(description="Change by the fix, in a line.")]
    sure: bool = False


class CheckedFile(Struct, frozen=True, kw_only=True):
    """Problems of one file."""

    before: Annotated[str, Meta(description="The file's text as it was looked at.")]
    functions: list[CheckedFunction]
    complete: Annotated[bool, Meta(description="False: time was up before all was looked at.")]


def check_file(asked_for: CheckFile, asked: Asked, tell: Tell) -> CheckedFile:
    """Return the problems of a file, with a fix for each function by itself."""
    from refute.function.source import UNSAVED
    from refute.results.functions import function_tests
    from refute.source.syntax import find_function, parse_module
    from refute.verbs.debug import debug
    from refute.verbs.hunt import hunt

    UNSAVED[Path(asked_for.file).absolute()] = asked_for.text  # this process has one call
    how: dict[str, Any] = {
        **{one.name: getattr(asked, one.name) for one in fields(asked)},
        "budget": asked_for.seconds_per_function if asked_for.fixes else QUICK,
        "python": asked_for.python or None,
    }
    brief: dict[str, Any] = {} if asked_for.fixes else {"n": 1, "jobs": 1}  # no process more
    brief["show"] = lambda module, one, how_far: tell(how_far)
    found = hunt(asked_for.file, **how, **brief)
    file, wrong = Path(asked_for.file), [one for one in found.hunts if one.found]
    before = next((module.source.text for module in found.opened.targets.modules), "")
    tree = parse_module(before)
    rows, stopped = [], found.interrupted or not asked_for.fixes
    for one in wrong:
        place = find_function(tree, one.function)
        test = function_tests(one).tests[0]
        expected = "" if test.expected is None else f", expected {test.expected}"
        name = f"test_{file.stem}_{one.function.replace('.', '_')}_refuted.py"
        files = found.pytest_files(file.with_name(name), function=one.function)
        code, edits, sure = "", "", False
        if not stopped:
            tell(f"looking for a fix of {one.function}")
            fixed = debug(f"{asked_for.file}::{one.function}", **how)
            stopped = fixed.interrupted
            for fix in fixed.fixes if fixed.candidates else ():
                code, sure = fix.code, fix.fixed
                edits = "; ".join(fix.result.candidates[0].edits)
        rows.append(
            CheckedFunction(
                function=one.function,
                line=place.lineno if place is not None else 1,
                message=f"{test.call}: {test.actual}{expected} ({test.source})",
                tests=next(iter(files.values()), ""),
                test_path=next(map(str, files), ""),
                code=code,
                fix=edits,
                sure=sure,
            )
        )
    return CheckedFile(before=before, functions=rows, complete=not stopped)


# -- the other side: who calls

_LONGEST = 256 << 20
"""Bytes of one event: documents of large folders are long."""
_BEAT = 5.0
"""Seconds without news until a message says that the work continues."""
_ENDING: set[asyncio.Task[None]] = set()
Told = Callable[[float, str], Awaitable[None]]
"""Receives the seconds so far, and the progress of the work."""


async def _silent(seconds: float, line: str) -> None: ...


async def call(
    verb: str,
    arguments: Mapping[str, Any],
    *,
    root: Path,
    seconds: float,
    asked: Mapping[str, Any] | None = None,
    outside: bool = False,
    told: Told = _silent,
) -> Done | Failed:
    """Run the verb in the folder `root`. After `seconds` it is asked to stop: verbs over functions
    return what they have. Cancelled, it is stopped too."""
    try:
        os.stat(root)
        reading, writing = await asyncio.open_connection(sock=READY.copy(), limit=_LONGEST)
    except OSError as error:
        return Failed("unavailable", f"{root}: {error.strerror}")
    loop = asyncio.get_running_loop()
    start = loop.time()
    stop = loop.call_later(seconds, writing.write_eof)
    last = "working"
    try:
        request = Request(verb, dict(arguments), str(root), dict(asked or {}), outside)
        writing.write(msgspec.json.encode(request) + b"\n")
        while True:
            event = await _next_event(reading)
            if isinstance(event, Done):
                return event
            if isinstance(event, Failed):
                return _named(event, seconds if loop.time() - start >= seconds else None)
            last = event.message if isinstance(event, Progress) else last
            await told(loop.time() - start, last)
    finally:
        stop.cancel()
        writing.write_eof()  # which ends it: see `_watch`
        ending = asyncio.create_task(_ended(reading, writing))
        _ENDING.add(ending)
        ending.add_done_callback(_ENDING.discard)


async def all_ended() -> None:
    """Wait for the processes of calls that are over: some still clean up."""
    if _ENDING:
        await asyncio.wait(_ENDING)


async def _ended(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
    """Wait until the process of a call is gone, with the last of its ends of the socket."""
    with suppress(OSError):
        while await reading.read(1 << 16):
            pass
    writing.close()


class Ready:
    """The process that calls are copied from, started anew where it ended or where this process's
    variables, which it has, are others now."""

    def __init__(self) -> None:
        self._verbs: tuple[str, ...] = ()
        self._variables: dict[str, str] = {}
        self._door: socket.socket | None = None

    def start(self, *verbs: str) -> None:
        """Start it with these verbs, so that it is ready when it is needed; calls of others import
        their own. Raises `OSError`."""
        if self._door is not None:
            self._door.close()
        self._verbs, self._variables = verbs, dict(os.environ)
        self._door, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                start_module("refute.doors.worker", *verbs),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # the terminal's Ctrl-C is not for it
            )

    def copy(self) -> socket.socket:
        """Have it make a process for one call: the call's socket. Raises `OSError`."""
        if self._variables != os.environ:
            self.start(*self._verbs)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._send(theirs)
            except BrokenPipeError:
                self.start(*self._verbs)
                self._send(theirs)
        return ours

    def _send(self, theirs: socket.socket) -> None:
        assert self._door is not None
        socket.send_fds(self._door, [b"x"], [theirs.fileno()])


READY = Ready()


async def _next_event(stream: asyncio.StreamReader) -> Event | None:
    """The next event; None where there is none for a while."""
    try:
        async with asyncio.timeout(_BEAT):
            line = await stream.readline()
    except TimeoutError:
        return None
    if not line:
        return Failed("internal", "the process of the call ended without an answer")
    event: Event = msgspec.json.decode(line, type=Progress | Done | Failed)
    return event


def _named(failed: Failed, limit: float | None) -> Failed:
    if limit is None:
        return failed
    return Failed("stopped", f"time_limit of {limit:g} s reached before there was a result")


if __name__ == "__main__":
    be_ready()
