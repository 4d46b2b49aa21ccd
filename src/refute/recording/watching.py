"""Chosen functions of a project are watched while its own tests run: what each call was given, and
what came of it.

`refute.issue.observed_calls` adds a line to the end of each module, in a copy of the project, that
calls `watch`; nothing else changes, and no line moves. What is written down are texts
(`outlining`), one JSON object a call. A function is watched by `sys.settrace`, whatever decorates,
holds or calls it; of each test, a few calls.
"""

from __future__ import annotations

import dis
import json
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from refute.recording.outlining import outline

MOST_CALLS = 30
"""Of one function in one test."""
MOST_LINES = 5_000
"""In one process."""
_LEAVING = ("RETURN_", "YIELD_", "SEND")
"""How the instructions begin by which a frame is left without an exception."""

_watchers: dict[str, _Watcher] = {}


def watch(file: str, chosen: dict[str, str], target: str) -> None:
    """Watch functions of a module from now on. `file`: as its code objects name it. `chosen`: first
    line, that of a decorator where there is one, as text -> name. `target`: the file to write to.
    """
    watcher = _watchers.get(target)
    if watcher is None:
        watcher = _watchers[target] = _Watcher(target)
        threading.settrace(watcher.called)
    watcher.files[file] = {int(line): name for line, name in chosen.items()}
    sys.settrace(watcher.called)


class _Watcher:
    def __init__(self, target: str) -> None:
        self.target = target
        self.files: dict[str, dict[int, str]] = {}
        self.counts: dict[tuple[str, str], int] = {}
        self.left = MOST_LINES

    def called(self, frame: FrameType, event: str, _: Any) -> Any:
        """The trace function: of what is not chosen, nothing but the call is seen."""
        code = frame.f_code
        chosen = self.files.get(code.co_filename)
        name = chosen.get(code.co_firstlineno) if chosen is not None else None
        if name is None or event != "call" or name.rpartition(".")[2] != code.co_name:
            return None
        test = _test_of(frame)
        number = self.counts[test, name] = self.counts.get((test, name), 0) + 1
        if not test or number > MOST_CALLS or self.left <= 0:
            return None
        self.left -= 1
        frame.f_trace_lines = False
        row = {"test": test, "function": name, "number": number, "given": _arguments(frame, 1)}
        return self.followed(row, _arguments(frame))

    def followed(
        self, row: dict[str, Any], given: dict[str, str]
    ) -> Callable[[FrameType, str, Any], Any]:
        """The trace function of one call, which ends with its next return, yield or exception."""
        raised: list[str] = [""]

        def follow(frame: FrameType, event: str, value: Any) -> Any:
            if event == "exception":
                raised[0] = _told(*value[:2])
            elif event == "return":
                left = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith(_LEAVING)
                row["outcome"] = outline(value) if left or value is not None else raised[0]
                row["raised"] = not left and value is None
                after = _arguments(frame).items()
                row["changed"] = {name: text for name, text in after if given.get(name) != text}
                self.write(row)
            return follow

        return follow

    def write(self, row: dict[str, Any]) -> None:
        try:
            with open(self.target, "a") as file:
                file.write(json.dumps(row) + "\n")
        except OSError:
            pass


def _arguments(frame: FrameType, deepest: int = 4) -> dict[str, str]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    names = code.co_varnames[:count]
    held = frame.f_locals
    return {name: outline(held[name], deepest) for name in names if name in held}


def _told(kind: type, error: Any) -> str:
    """An exception; before Python 3.12 it may not have been made of its arguments yet."""
    made = issubclass(type(error), BaseException)
    return kind.__name__ + (outline(vars(BaseException)["args"].__get__(error)) if made else "")


def _test_of(frame: FrameType) -> str:
    """The test that runs: as pytest says, else the innermost function that is called like one."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    at: FrameType | None = frame
    while at is not None and not test:
        code = at.f_code
        if code.co_name.startswith("test") and "test" in code.co_filename:
            owner = (
                type(at.f_locals.get("self")).__qualname__ + "." if "self" in at.f_locals else ""
            )
            test = os.path.relpath(code.co_filename) + "::" + owner + code.co_name
        at = at.f_back
    return test
