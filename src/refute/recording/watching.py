"""Chosen functions of a project are watched while its own tests run: what each call was given, and
what came of it.

`refute.issue.observed_calls` adds a line to the end of each module, in a copy of the project, that
calls `watch`; nothing else changes, and no line moves. What is written down are texts
(`outlining`), one JSON object a call. A function is watched by `sys.settrace`, whatever decorates,
holds or calls it; of each test, a few calls.

With `top`, for `refute.gating.experiments`: besides the chosen functions those of the tree below it
that read one of some names, and what is called from outside of its code, by a test; and each call
as a pickle, from which `replaying` makes it again.
"""

from __future__ import annotations

import base64
import dis
import json
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from refute.recording.outlining import outline

MOST_CALLS = 30
"""Of one function in one test."""
MOST_LINES = 5_000
"""In one process."""
LARGEST_CALL = 50_000
"""Bytes of a pickle."""
STARTS_ANEW = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines: what a call of them gives is nothing yet."""
_TEST_WORDS = {"test", "tests", "e2e", "testing", "conftest", "site-packages"}
_LEAVING = ("RETURN_", "YIELD_", "SEND")
"""Starts of the names of instructions by which a frame is left without an exception."""

_watchers: dict[str, _Watcher] = {}


def watch(
    file: str,
    chosen: dict[str, str],
    target: str,
    top: str = "",
    names: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
) -> None:
    """Watch functions of a module from now on. `file`: as its code objects name it. `chosen`: first
    line, that of a decorator where there is one, as text -> name. `target`: the file to write to.
    `names`: of data, and of functions that are gone. `data`: files that functions may read.
    `only`: names of the tests whose calls count.
    """
    watcher = _watchers.get(target)
    if watcher is None:
        watcher = _watchers[target] = _Watcher(target)
        threading.settrace(watcher.called)
    watcher.files[file] = {int(line): name for line, name in chosen.items()}
    watcher.top = top
    watcher.names.update(names)
    watcher.only.update(only)
    if data and not watcher.data:
        sys.addaudithook(watcher.opened)
    watcher.data.update(data)
    watcher.passed_by.clear()
    sys.settrace(watcher.called)


class _Watcher:
    def __init__(self, target: str) -> None:
        self.target = target
        self.files: dict[str, dict[int, str]] = {}
        self.counts: dict[tuple[str, str], int] = {}
        self.left = MOST_LINES
        self.top = ""
        self.names: set[str] = set()
        self.data: set[str] = set()
        self.only: set[str] = set()
        self.own: dict[str, bool] = {}
        self.passed_by: set[str] = set()
        """Files of which no call counts: most calls are pytest's own."""

    def is_own(self, code: CodeType) -> bool:
        """Return whether code belongs to the tree, and not to a test."""
        file = code.co_filename
        if file not in self.own:
            inside = bool(self.top) and file.startswith(self.top + os.sep)
            words = set(re.split(r"[ _/.]", file[len(self.top) :].lower()))
            words.update(file.split(os.sep))
            self.own[file] = inside and words.isdisjoint(_TEST_WORDS)
        return self.own[file]

    def chosen(self, frame: FrameType) -> str | None:
        """The name of a function that is chosen, or reads one of the names."""
        code = frame.f_code
        found = self.files.get(code.co_filename, {}).get(code.co_firstlineno)
        if found is not None and found.rpartition(".")[2] == code.co_name:
            return found
        if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return None
        if self.is_own(code) and not self.names.isdisjoint((*code.co_names, code.co_name)):
            return code.co_name
        made = code.co_filename.startswith("<") and code.co_name == "__init__"
        held = frame.f_locals.get("self") if made else None
        return "__init__" if made and type(held).__name__ in self.names else None

    def opened(self, event: str, given: Any) -> None:
        """The audit hook: a function of the tree opens one of the files of data."""
        if event != "open" or not isinstance(given[0], str):
            return
        path = os.path.realpath(given[0])
        at: FrameType | None = sys._getframe(1)
        while (
            path in self.data and at is not None and not at.f_code.co_filename.startswith(self.top)
        ):
            at = at.f_back
        if path in self.data and at is not None and self.is_own(at.f_code):
            self.write({"test": _test_of(at), "function": at.f_code.co_name, "opened": path})

    def called(self, frame: FrameType, event: str, _: Any) -> Any:
        """The trace function: of what is not chosen, nothing but the call is seen."""
        code, back = frame.f_code, frame.f_back
        file = code.co_filename
        if file in self.passed_by:
            return None
        if file not in self.files and file[:1] != "<" and not self.is_own(code):
            self.passed_by.add(file)
            return None
        name = self.chosen(frame) if event == "call" else None
        more: dict[str, Any] = {"chosen": name is not None} if self.top else {}
        if self.top and name is None and event == "call" and code.co_name != "<module>":
            outside = back is None or not self.is_own(back.f_code)
            name = code.co_name if outside and self.is_own(code) else None
        if name is None or (self.top and _is_resumed(frame)):
            return None
        test = _test_of(frame)
        if self.only and re.split(r"::|\.", test.partition("[")[0])[-1] not in self.only:
            return None
        number = self.counts[test, name] = self.counts.get((test, name), 0) + 1
        if not test or number > MOST_CALLS or self.left <= 0:
            return None
        self.left -= 1
        frame.f_trace_lines = False
        if self.top:
            more.update(file=os.path.relpath(file, self.top), call=_call(frame), paths=sys.path)
            more["whole"] = _arguments(frame)
            names = self.files.get(file, {}).values()
            held = [frame.f_globals[name] for name in names if name in frame.f_globals]
            more["replaced"] = any(_is_replaced(one, file) for one in held)
            more["starts anew"] = bool(code.co_flags & STARTS_ANEW)
        row = {"test": test, "function": name, "number": number, "given": _arguments(frame, 1)}
        row.update(more)
        return self.followed(row, _arguments(frame))

    def followed(
        self, row: dict[str, Any], given: dict[str, str]
    ) -> Callable[[FrameType, str, Any], Any]:
        """The trace function of one call, which ends with its next return, yield or exception."""
        raised: list[str] = [""]

        def follow(frame: FrameType, event: str, value: Any) -> Any:
            if event == "exception":
                raised[0] = told(*value[:2])
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


def parameters(code: CodeType) -> list[str]:
    """Names of what a function is given, `*args` and `**kwargs` included."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return list(code.co_varnames[:count])


def _is_resumed(frame: FrameType) -> bool:
    """Return whether a generator or coroutine resumes."""
    at, code = frame.f_lasti, frame.f_code.co_code
    name = dis.opname[code[at]] if at >= 0 else ""
    return name.startswith(("YIELD_", "SEND")) or (name == "RESUME" and code[at + 1] & 3 > 0)


def function_of(found: Any) -> Any:
    """The function of what stands in a namespace: without what decorates it."""
    for name in ("__func__", "fget", "func"):
        found = getattr(found, name, found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def _is_replaced(found: Any, file: str) -> bool:
    """Return whether something else stands in the place of a function of a file."""
    code = getattr(function_of(found), "__code__", None)
    return getattr(code, "co_filename", file) != file or "mock" in type(found).__module__


def _call(frame: FrameType) -> str:
    """A call as text: a pickle of module, name in it, and what it is given by name; "" where it
    cannot be made again."""
    code, held = frame.f_code, frame.f_locals
    module = str(frame.f_globals.get("__name__"))
    names = parameters(code)
    owners: list[Any] = [frame.f_globals]
    if names and names[0] in held:
        first = held[names[0]]
        owners += (first if isinstance(first, type) else type(first)).__mro__
    try:
        for owner in owners:
            space = owner if isinstance(owner, dict) else vars(owner)
            if getattr(function_of(space.get(code.co_name)), "__code__", None) is not code:
                continue
            path = code.co_name
            if not isinstance(owner, dict):
                module, path = owner.__module__, owner.__qualname__ + "." + path
            given = {name: held[name] for name in names}
            data = pickle.dumps((module, path, given))
            return base64.b64encode(data).decode() if len(data) <= LARGEST_CALL else ""
    except Exception:
        pass
    return ""


def _arguments(frame: FrameType, deepest: int = 4) -> dict[str, str]:
    held = frame.f_locals
    names = parameters(frame.f_code)
    return {name: outline(held[name], deepest) for name in names if name in held}


def told(kind: type, error: Any) -> str:
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
