"""Inputs that an issue states, tried where no test runs: its expressions are evaluated, and calls
that were watched are made again with its values, and with values of other types.

Run as `replaying` is: `python stating.py PLAN TARGET`. Writes one JSON object for each.
"""

from __future__ import annotations

import ast
import base64
import importlib
import itertools
import json
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from refute.recording.outlining import outline
from refute.recording.replaying import SECONDS, late, made
from refute.recording.watching import function_of, told

SAME_WAY = 0.8
"""Share of a function's instructions that two calls have in common that go alike through it."""
MOST = 80
"""Calls that are made with stated values in place of one call's own."""
_ODD: tuple[Any, ...] = (None, "", 0, "x", [], {}, object)
_ALIKE = {int, float}, {list, tuple, set, frozenset}
ROOT = ["/"]
"""The folder of the tree."""
_Given = dict[str, Any]


def main(plan: str, target: str) -> None:
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    sys.argv[:] = ["app"]
    ROOT[:] = [told_of["root"]]
    sys.path[:] = [*told_of["paths"], *sys.path[1:]]
    signal.signal(signal.SIGALRM, late)
    space: dict[str, Any] = {}
    with open(target, "a", encoding="utf-8") as out:
        for name in told_of["modules"]:
            add_names(name, space)
        rows = [
            *(
                ("place", place, stated(call, told_of["values"]))
                for place, call in enumerate(told_of["calls"])
            ),
            *(
                ("said", place, evaluated(source, told_of["values"], space))
                for place, source in enumerate(told_of["said"])
            ),
        ]
        for kind, place, found in rows:
            for row in itertools.islice(found, MOST):
                out.write(json.dumps({kind: place, **row}) + "\n")
                out.flush()


def add_names(module: str, space: dict[str, Any]) -> None:
    """Add the names of a module, and of the packages around it."""
    try:
        importlib.import_module(module)
    except BaseException:
        return
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        space.update((k, v) for k, v in vars(sys.modules[name]).items() if k[:2] != "__")
        space[parts[end - 1]] = sys.modules[name]


def stated(call: str, values: list[str]) -> Iterator[dict[str, Any]]:
    """The outcomes of a call, first as it was made, then with other values; none where it cannot
    be made."""
    try:
        module, path, given = pickle.loads(base64.b64decode(call))
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        function = function_of(found)
    except BaseException:
        return
    ran: set[str] = set()

    def listed_with(function: Any, plain: Any, named: Any) -> Any:
        sys.setprofile(lambda frame, *_: ran.add(name_of(frame.f_code)))
        try:
            return listed(function, plain, named)
        finally:
            sys.setprofile(None)

    end, steps = made(function, given, listed_with, noted=True)
    yield {"what": "", "end": end, "ran": sorted(ran - {""})}
    for used, what, other in varied(given, values):
        other_end, other_steps = made(function, other, listed, noted=True)
        shared = len({*steps} & {*other_steps}) / (len({*steps} | {*other_steps}) or 1)
        yield {"what": what, "values": used, "end": other_end, "way": shared >= SAME_WAY}


def listed(function: Any, plain: Any, named: Any) -> Any:
    return drawn(function(*plain, **named))


def drawn(value: Any) -> Any:
    """Return a value; of an iterator, what it gives."""
    return list(itertools.islice(value, 100)) if isinstance(value, Iterator) else value


def varied(given: _Given, values: list[str]) -> Iterator[tuple[list[str], str, _Given]]:
    """Yield the stated values that stand in a call (none: values of other types do), they as people
    read them, and its arguments."""
    names = [name for name in given if name not in ("self", "cls")]
    for name, text in itertools.product(names, values):
        for other in readings(text, given[name]):
            yield [text], shown(name, other), {**given, name: other}
    for two, pair in itertools.product(zip(names, names[1:]), zip(values, values[1:])):
        both = [readings(text, given[name]) for name, text in zip(two, pair)]
        for others in zip(*both):
            new = dict(zip(two, others))
            yield list(pair), ", ".join(shown(*item) for item in new.items()), {**given, **new}
    for name, odd in itertools.product(names, _ODD):
        if type(odd) is not type(given[name]):
            yield [], shown(name, odd), {**given, name: odd}


def shown(name: str, value: Any) -> str:
    return f"{name}={repr(value)[:80]}"


def readings(text: str, value: Any) -> list[Any]:
    """Return what a text can stand for in the place of a value, unless that is the value."""
    found: list[Any] = [text] if isinstance(value, str) else []
    try:
        found.append(ast.literal_eval(text))
    except Exception:
        pass
    return [one for one in found if fits(one, value) and one != value]


def fits(other: Any, value: Any) -> bool:
    """Return whether one value can stand for another: None for anything."""
    kinds = {type(other), type(value)}
    return value is None or len(kinds) == 1 or any(kinds <= alike for alike in _ALIKE)


def evaluated(source: str, values: list[str], space: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The outcomes of statements that end with an expression, first as they are written, then with
    stated values in the places of its own."""
    yield {"what": "", **run(source, space)}
    try:
        texts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    except SyntaxError:
        return
    given = {str(place): node.value for place, node in enumerate(texts)}
    for used, _, other in varied(given, values):
        new = source
        for place, node in sorted(enumerate(texts), key=lambda one: -one[1].col_offset):
            if other[str(place)] is not given[str(place)] and node.end_lineno == 1:
                line = new.encode()
                line = (
                    line[: node.col_offset]
                    + repr(other[str(place)]).encode()
                    + (line[node.end_col_offset or 0 :])
                )
                new = line.decode()
        if used and new != source:
            yield {"what": new, "values": used, **run(new, space)}


def run(source: str, space: dict[str, Any]) -> dict[str, Any]:
    """Run statements. Return the outcome, the value of the last as texts, and the functions that
    ran."""
    ran: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            ran.add(name_of(frame.f_code))

    sys.setprofile(profile)
    try:
        return {**outcome(source, space), "ran": sorted(ran - {""})}
    finally:
        sys.setprofile(None)


def name_of(code: CodeType) -> str:
    """The file and the name of a function of the tree; "" for others."""
    inside = code.co_filename.startswith(ROOT[0] + os.sep) and code.co_name[:1] != "<"
    inside = inside and not code.co_filename.startswith(os.path.join(ROOT[0], ".refute"))
    return f"{code.co_filename}:{code.co_name}" if inside else ""


def outcome(source: str, space: dict[str, Any]) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        body = ast.parse(source).body
        last = body[-1]
        shown = isinstance(last, ast.Expr)
        exec(compile(ast.Module(body[: len(body) - shown], []), "issue", "exec"), space)
        if not isinstance(last, ast.Expr):
            return {}
        value = drawn(eval(compile(ast.Expression(last.value), "issue", "eval"), space))
        return {"end": outline(value), "shown": [repr(value)[:400], str(value)[:400]]}
    except BaseException as error:
        return {"end": "raises " + told(type(error), error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
