"""Calls that were watched are made again, where no test runs: from another folder, with another
`sys.argv`, without the environment; and calls that lie beside them.

Run as a script: `python replaying.py PLAN TARGET`, with the folder of this package's sources as
`sys.path[0]`. Writes one JSON object for each call and kind of `sys.argv`.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import importlib
import itertools
import json
import os
import pickle
import random
import signal
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from refute.recording.outlining import outline
from refute.recording.watching import STARTS_ANEW, function_of, parameters, told

ARGUMENTS = (["app"], ["/usr/bin/app", "--port", "80"])
SECONDS = 2.0
MOST_BESIDE = 40
_SIMPLE = (bool, int, float, str, list, tuple, dict)


def main(plan: str, target: str) -> None:
    """Each kind of `sys.argv` in a process of its own: a module may look at it on import."""
    os.environ.pop("PYTHONHASHSEED", None)
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    for number, arguments in enumerate(ARGUMENTS):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            sys.argv = list(arguments)
            sys.path[:] = [*told_of["paths"], *sys.path[1:]]
            signal.signal(signal.SIGALRM, late)
            with open(target, "a", encoding="utf-8") as out:
                for place, call in enumerate(told_of["calls"]):
                    row = replayed(call, beside=not number and told_of["beside"])
                    out.write(json.dumps({"place": place, **row}) + "\n")
                    out.flush()
        finally:
            os._exit(0)


def here(plan: str, target: str, way: Any) -> None:
    """In this process, as it is: by `way`, which is given the function and its arguments."""
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    signal.signal(signal.SIGALRM, late)
    with open(target, "a", encoding="utf-8") as out:
        for place, call in enumerate(told_of["calls"]):
            row = replayed(call, beside=False, way=way)
            out.write(json.dumps({"place": place, **row}) + "\n")


def called(function: Any, plain: Any, named: Any) -> Any:
    return function(*plain, **named)


def late(number: int, frame: Any) -> None:
    raise TimeoutError("replayed for too long")


def replayed(call: str, beside: bool, way: Any = called) -> dict[str, Any]:
    """Return the outcome of a call, and of those beside it; no `end` where it cannot be made."""
    try:
        module, path, given = pickle.loads(base64.b64decode(call))
        found = importlib.import_module(module)
        for name in path.split("."):
            space = vars(found)
            found = space[name] if isinstance(space.get(name), property) else getattr(found, name)
        function = function_of(found)
        code = function.__code__
    except AttributeError as error:
        return {"end": "raises " + told(type(error), error)}
    except BaseException:
        return {}
    end, steps = made(function, given, way)
    row: dict[str, Any] = {"end": end}
    if beside:
        defaults = dict(zip(reversed(code.co_varnames[: code.co_argcount]),
                            reversed(function.__defaults__ or ())))  # fmt: skip
        inside = [field for one in given.values() for _, field in fields(one)]
        row["edge"] = any(
            is_edge(value) and value != defaults.get(name, call) for name, value in given.items()
        ) or any(is_edge(field) and not isinstance(field, (int, float)) for field in inside)
        near = [made(function, one) for one in itertools.islice(varied(given), MOST_BESIDE)]
        row["near"] = [one for one, _ in near]
        row["same way"] = [other == steps for _, other in near]
    return row


def made(function: Any, given: dict[str, Any], way: Any = called) -> tuple[str, list[int]]:
    """Return the outcome of a call as text, and the instructions that ran."""
    code = function.__code__
    try:
        held = {name: copy.deepcopy(value) for name, value in given.items()}
    except Exception:
        held = given
    known = parameters(code)
    before = {name: outline(value) for name, value in held.items()}
    first = [*itertools.takewhile(held.__contains__, known[: code.co_argcount])]
    plain, count = [held[name] for name in first], code.co_argcount + code.co_kwonlyargcount
    named = {name: held[name] for name in known[len(first) : count] if name in held}
    rest = known[count:]
    if code.co_flags & 4:
        plain += held.get(rest.pop(0), ())
    if rest:
        named.update(held.get(rest[0], {}))
    steps: set[int] = set()

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps.add(frame.f_lasti)
        return trace

    random.seed(0)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    sys.settrace(trace)
    try:
        value = way(function, plain, named)
        if code.co_flags & 0x80:
            value = asyncio.run(value)
        elif code.co_flags & STARTS_ANEW == 0x20:
            value = list(itertools.islice(value, 100))
        end = outline(value)
    except BaseException as error:
        end = "raises " + told(type(error), error)
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    after = {name: outline(value) for name, value in held.items()}
    end += "".join(
        f"; {name} becomes {after[name]}" for name in after if after[name] != before[name]
    )
    return end, sorted(steps)


def varied(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same call with one value that is a little other, one of each argument in turn."""
    each = [[{**given, name: other} for other in beside(value)] for name, value in given.items()]
    yield from in_turn(each)


def in_turn(each: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """One of each, then a second one of each, and so on."""
    for row in itertools.zip_longest(*each, fillvalue=in_turn):
        yield from (one for one in row if one is not in_turn)


def beside(value: Any, deep: int = 0) -> Iterator[Any]:
    """Values near a value, of the same type."""
    kind = type(value)
    if kind is bool:
        yield not value
    elif kind in (int, float):
        others = (value + 1, value - 1, value * 2, value + 2, value * 3, -value, value - 2)
        yield from (other for other in others if other != value)
        if kind is float:
            yield from (value + 0.001, value * 1.001 + 0.01)
    elif kind is str:
        for at, letter in enumerate(value[:6]):
            if letter.isdigit():
                yield value[:at] + str((int(letter) + 1) % 10) + value[at + 1 :]
            yield value[:at] + letter + value[at:]
            yield value[:at] + value[at + 1 :]
        yield value + value[-1:]
        yield value.swapcase()
    elif kind in (list, tuple, dict):
        items = list(value.items() if kind is dict else value)
        yield from () if kind is dict else (kind([*items, *items[-1:]]), kind(items[::-1]))
        places = range(min(4, len(items)))
        yield from (kind([*items[:at], *items[at + 1 :]]) for at in places)
        yield from in_turn(
            (
                kind([*items[:at], other, *items[at + 1 :]])
                for other in of_item(items[at], kind, deep)
            )
            for at in places
        )
    elif deep < 2 and not isinstance(value, type):
        each = [
            (with_field(value, name, other) for other in beside(field, deep + 1))
            for name, field in fields(value)
        ]
        yield from in_turn(each)


def is_edge(value: Any) -> bool:
    """Return whether a value is None, empty or zero."""
    return value is None or (isinstance(value, _SIMPLE) and value is not False and not value)


def fields(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object whose own code is not asked for them."""
    try:
        return sorted(object.__getattribute__(value, "__dict__").items())
    except AttributeError:
        return []


def with_field(value: Any, name: str, other: Any) -> Any:
    """Return a copy of an object with another value of an attribute."""
    made = copy.copy(value)
    object.__setattr__(made, name, other)
    return made


def of_item(item: Any, kind: type, deep: int) -> Iterator[Any]:
    """Items near one of a list, or of a dictionary's pairs."""
    if deep < 2 and kind is dict:
        yield from ((item[0], other) for other in beside(item[1], deep + 1))
    elif deep < 2:
        yield from beside(item, deep + 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
