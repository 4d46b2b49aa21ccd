"""A guard of each function, what it leads to by its name, and when it is off."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from refute.recording.guarding import Signature
from refute.recording.histories import Watch
from refute.recording.looking import MISSING, find

_CONTEXT_FILE = contextlib.contextmanager.__code__.co_filename
_CACHE = type(functools.lru_cache()(lambda: None))

_frame = sys._getframe  # tests have been seen to take it away

FIRST_QUOTA = 48
"""Calls of one function that are looked at in one test, before its guard is off till another."""
_LONGEST_NAP = 64
"""Tests."""


class Way:
    """How a function is reached by its name: kind is `function`, `method`, `class` (a classmethod),
    `static`, `getter`, `setter` or `none`. `function` has the defaults that a caller leaves out."""

    __slots__ = ("function", "kind", "outer")

    def __init__(self, kind: str, function: Any = None, outer: Any = None) -> None:
        self.kind, self.function, self.outer = kind, function, outer


class Record:
    """A distinct call, as written."""

    __slots__ = ("count", "shape", "text")

    def __init__(self, text: dict[str, Any], shape: Any) -> None:
        self.text, self.shape, self.count = text, shape, 1


class Guard:
    """Asked at the beginning of one function, while `on`."""

    __slots__ = (
        "called",
        "calls",
        "code",
        "hit_by",
        "left",
        "missed",
        "module",
        "nap",
        "news",
        "on",
        "quota",
        "records",
        "shapes",
        "signature",
        "wake",
        "watch",
        "way",
    )  # fmt: skip

    def __init__(
        self, module: str, signature: Signature, watch: Watch | None, hit_by: Callable[..., None]
    ) -> None:
        self.module, self.signature, self.watch, self.hit_by = module, signature, watch, hit_by
        self.on = True
        self.calls = 0
        self.called = False
        self.missed = ""
        self.quota = self.left = FIRST_QUOTA
        self.nap = self.wake = 0
        self.news = False
        self.code: Any = None
        self.way: Way | None = None
        self.records: dict[Any, Record] = {}
        self.shapes: dict[Any, int] = {}

    def hit(self, values: tuple[Any, ...]) -> None:
        self.hit_by(self, values, _frame(1))

    @property
    def target(self) -> str:
        return f"{self.module}:{self.signature.path}"

    @property
    def changes(self) -> bool:
        """Whether a call may change the receiver: of special methods only those that store do."""
        name = self.signature.name
        special = name[:2] == name[-2:] == "__"
        if special:
            return name in ("__setitem__", "__delitem__", "__iadd__", "__call__", "__next__")
        return not self.signature.pure

    @property
    def follows(self) -> bool:
        """Whether histories of objects are incomplete while it is off."""
        return self.signature.name == "__init__" or (self.watch is not None and self.changes)

    def rest(self, ticks: int, test: int) -> None:
        """Off till another test; where no history depends on it, for more tests each time that
        nothing new came of it."""
        if not self.on:
            return
        self.on = False
        if not self.follows:
            self.nap = 0 if self.news else min(2 * self.nap + 1, _LONGEST_NAP)
            self.quota = FIRST_QUOTA if self.news else max(self.quota // 2, 4)
        self.wake = test + 1 + self.nap
        self.news = False
        if self.watch is not None and self.follows:
            self.watch.pause(self.signature.name == "__init__")

    def wake_up(self, tick: int) -> None:
        if self.on:
            return
        self.on, self.left = True, self.quota
        if self.watch is not None and self.follows:
            self.watch.go_on(self.signature.name == "__init__", tick)

    def resolve(self, code: types.CodeType) -> Way:
        """How the function whose code runs is reached; remembered, once the class is there."""
        if self.way is None or self.code is not code:
            way = _way(self.module, self.signature, code)
            if way.kind == "none":
                return way
            self.way, self.code = way, code
        return self.way


def _way(module: str, signature: Signature, code: types.CodeType) -> Way:
    path = signature.path
    owner, _, name = path.rpartition(".")
    if owner and name[:2] == "__" != name[-2:]:
        path = "{}._{}{}".format(owner, owner.rpartition(".")[2].lstrip("_"), name)
    held = find(module, path)
    if held is MISSING:
        return Way("none")
    kind = "method" if signature.owner else "function"
    if type(held) is property:
        for kind, part in (("getter", held.fget), ("setter", held.fset)):
            if type(part) is types.FunctionType and part.__code__ is code:
                return Way(kind, part)
        return Way("none")
    if type(held) is functools.cached_property:
        return Way("getter", held.func) if _leads_to(held.func, code) else Way("none")
    if type(held) is classmethod:
        kind, held = "class", held.__func__
    elif type(held) is staticmethod:
        kind, held = "static", held.__func__
    if signature.path.endswith("__new__"):
        kind = "static"
    function = _leads_to(held, code)
    return Way("none") if function is None else Way(kind, function, held)


def _leads_to(held: Any, code: types.CodeType) -> Any:
    """The function with this code that a function is, or that it passes its arguments on to."""
    for _ in range(5):
        if type(held) is types.FunctionType:
            if held.__code__ is code:
                return held
            passes = held.__code__.co_filename == _CONTEXT_FILE
            if not passes:
                return None
            held = vars(held).get("__wrapped__")
        elif type(held) is _CACHE:
            held = vars(held).get("__wrapped__")
        else:
            return None
    return None
