"""One call of a verb in a process of its own: `python -m refute.doors.worker`.

It reads one line of JSON (`Request`) and writes lines of JSON (`Progress`, then `Done` or `Failed`)
to what was its stdout; whatever else prints reaches stderr. When its stdin ends it stops: verbs
over functions then return what they have, as on Ctrl-C. What does not stop in `GRACE` is killed.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from refute.core.starting import Variable
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


class Request(msgspec.Struct, frozen=True):
    """Call of a verb."""

    verb: str
    arguments: dict[str, Any]
    asked: dict[str, Any] = {}
    """Fields of `refute.models.asking.Asked`."""
    outside: bool = False
    """Paths outside of the folder are allowed."""


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """Progress, in a line."""

    message: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The answer: the JSON document, and its text with what was remarked besides."""

    result: dict[str, Any]
    text: str = ""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """There is no answer; the message is one line."""

    fault: Fault
    message: str


Event = Progress | Done | Failed


def main() -> None:
    """The process."""
    gc.set_threshold(200_000)  # as the command line
    os.environ[Variable.SINCE] = str(time.time())  # see `workspace.environment`
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints must not reach the protocol
    asked_for = msgspec.json.decode(sys.stdin.buffer.readline(), type=Request)
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
        event = _answer(asked_for, tell, remarks)
    except KeyboardInterrupt:
        event = Failed("stopped", "stopped before there was a result")
    except Exception as error:
        event = _failed(error)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events.put(event)
    events.put(None)
    writer.join()


def _write(wire: BinaryIO, events: SimpleQueue[Event | None]) -> None:
    with wire:
        while (event := events.get()) is not None:
            wire.write(msgspec.json.encode(event) + b"\n")
            wire.flush()


def _answer(asked_for: Request, tell: Tell, remarks: list[str]) -> Done:
    from refute.doors.checking import CheckFile, check_file
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


if __name__ == "__main__":
    main()
