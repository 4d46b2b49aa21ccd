"""Run candidate fixes on calls like those of the tests, and compare them with one another.

Written beside `inside.py` and run there: the standard library only, in the syntax of Python 3.8. A
child runs tests on the code as it is and keeps what the functions were given. For each candidate it
forks another one, which makes these calls, and calls with one value in them changed: another type,
sign or size. Texts of the outcomes are written down.
"""

from __future__ import annotations

import copy
import itertools
import os
import signal
import sys
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Iterator, List, Tuple

FOLDER = os.path.dirname(os.path.abspath(__file__))
MOST_CALLS = 40
"""Of one function that the tests make, all different."""
MOST_VARIED = 20
"""Variations of one call."""
SECONDS = 0.2
"""CPU time of one call."""

Arguments = Tuple[Any, ...]


def outline(value: Any) -> str:
    """The text of a value: its types and fields, no addresses."""
    if FOLDER + "/sources" not in sys.path:
        sys.path.insert(0, FOLDER + "/sources")
    from refute.recording import outlining

    return outlining.outline(value)


class Calls:
    """Notes what functions are given, as a profiler."""

    def __init__(self, codes: Dict[CodeType, FunctionType]) -> None:
        self.codes = codes
        self.found: Dict[FunctionType, Dict[str, Arguments]] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        function = self.codes.get(frame.f_code) if event == "call" else None
        if function is None:
            return
        own = self.found.setdefault(function, {})
        if len(own) >= MOST_CALLS:
            return
        sys.setprofile(None)
        try:
            code, held = frame.f_code, frame.f_locals
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            given = copy.deepcopy(tuple(held[name] for name in names))
            own.setdefault(outline(given), given)
        except Exception:  # it has no copy
            pass
        finally:
            sys.setprofile(self)


def varied(value: Any, depth: int = 0) -> Iterator[Any]:
    """Values near one: of another sign, size or type."""
    kind = type(value)
    if kind is bool:
        yield not value
    elif kind is int:
        yield from (value + 1, value - 1, -value, 0, 2 * value + 7, str(value), value + 0.5)
    elif kind is float:
        yield from (-value, value + 0.5, 0.0)
    elif kind is str:
        yield from ("", value + value[-1:], value[:-1], value[::-1], value.upper(), " " + value)
        yield from (value + "x1", 7)
    elif kind in (list, tuple):
        yield from (value[:-1], value + value, value[::-1], value[1:])
        for place in range(min(len(value), 3) if depth < 2 else 0):
            for one in varied(value[place], depth + 1):
                yield value[:place] + kind([one]) + value[place + 1 :]
    elif kind in (dict, set, frozenset) and value:
        items = list(value.items()) if kind is dict else list(value)
        yield from (kind(items[:-1]), kind(items[1:]), kind())
        if kind is dict and depth < 2:
            for one in varied(items[0][1], depth + 1):
                yield kind([(items[0][0], one), *items[1:]])
    elif value is None:
        yield from (0, "", [])
    if not depth and value is not None:
        yield None


def near(given: Arguments) -> Iterator[Arguments]:
    """A call's arguments, and the same with one of them varied, in turns."""
    yield given
    left = [(place, varied(one)) for place, one in enumerate(given)]
    count = 0
    while left and count < MOST_VARIED:
        for place, values in list(left):
            try:
                yield (*given[:place], next(values), *given[place + 1 :])
                count += 1
            except StopIteration:
                left.remove((place, values))


class _Over(BaseException):
    pass


def _end(number: int, frame: Any) -> None:
    raise _Over


def outcomes(found: Dict[FunctionType, Dict[str, Arguments]]) -> Iterator[Tuple[str, str]]:
    """Of each call: what it is, and what came of it and of its arguments."""
    signal.signal(signal.SIGPROF, _end)
    for function, calls in found.items():
        code = function.__code__
        plain = code.co_argcount
        names = code.co_varnames[plain : plain + code.co_kwonlyargcount]
        for given in list(calls.values()):
            for one in near(given):
                try:
                    one = copy.deepcopy(one)
                    shown = function.__name__ + outline(one)
                except Exception:
                    continue
                text = ""
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                try:
                    named = {name: one[plain + place] for place, name in enumerate(names)}
                    value = function(*one[:plain], **named)
                    if code.co_flags & 0x20:  # a generator: what it yields
                        value = list(itertools.islice(value, 100))
                    text = outline((value, one))
                except _Over:
                    text = "does not end"
                except BaseException as error:
                    text = type(error).__name__
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                yield shown, text


def compare(
    codes: Dict[CodeType, FunctionType],
    run: Callable[[], None],
    change: List[Callable[[], Any]],
    say: Callable[[Dict[str, Any]], None],
    fork: Callable[[Callable[[], None]], None],
) -> None:
    """In a child: `run` the tests, then in a child for each `change` of the code the calls."""
    calls = Calls(codes)
    sys.setprofile(calls)
    try:
        run()
    finally:
        sys.setprofile(None)

    def make(place: int) -> None:
        change[place]()
        say({"compared": place, "outcomes": list(outcomes(calls.found))})

    for place in range(len(change)):
        fork(lambda place=place: make(place))  # type: ignore[misc]
