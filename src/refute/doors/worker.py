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
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from refute.core.starting import Variable
from refute.core.storage import SCRATCH
from refute.errors import BAD_INPUT, UNAVAILABLE, told

if TYPE_CHECKING:
    from refute.doors.verbs import Tell

GRACE = 20.0
"""Seconds for an end in good order."""
_LONGEST_LINE = 1000
"""Characters of a line of progress."""
_SCRATCH = re.compile(rf"\S*/{SCRATCH}\w+/")
"""Folders of texts that were handed over (`verbs.contract`): the caller knows none of them."""
Fault = Literal["bad input", "unavailable", "stopped", "internal"]


class Request(msgspec.Struct, frozen=True):
    """What is called."""

    verb: str
    arguments: dict[str, Any]
    asked: dict[str, Any] = {}
    """Fields of `refute.models.asking.Asked`."""


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """How far it is, in a line."""

    message: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The answer: the verb's result, the API's document, and its text for people."""

    result: dict[str, Any]
    document: dict[str, Any] = {}
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
    log.addHandler(_Remarks(tell))
    log.setLevel(logging.INFO)
    log.propagate = False
    event: Event
    try:
        event = _answer(asked_for, tell)
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


def _answer(asked_for: Request, tell: Tell) -> Done:
    from refute.doors.verbs import VERBS
    from refute.models.asking import Asked

    asked = dict(asked_for.asked)
    asked["record"] = Path(asked["record"]) if asked.get("record") else None

    verb = VERBS[asked_for.verb]
    arguments = msgspec.convert(asked_for.arguments, verb.arguments)
    answer = verb.run(arguments, Asked(**asked), tell)
    result = msgspec.to_builtins(answer.result)
    if answer.shown is None:
        return Done(result)
    document = json.loads(json.dumps(answer.shown.to_dict()))
    return Done(result, document, str(answer.shown))


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
    """What the library has to say besides is how far it is."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


if __name__ == "__main__":
    main()
