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
import pickle
import signal
import sys
from collections.abc import Iterator
from typing import Any

from refute.recording.outlining import outline
from refute.recording.replaying import SECONDS, late, made
from refute.recording.watching import function_of, told

MOST = 80
"""Calls that are made with stated values in place of one call's own."""
_ODD: tuple[Any, ...] = (None, "", 0, "x", [], {}, object)
_ALIKE = {int, float}, {list, tuple, set, frozenset}
_Given = dict[str, Any]


def main(plan: str, target: str) -> None:
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    sys.argv[:] = ["app"]
    sys.path[:] = [*told_of["paths"], *sys.path[1:]]
    signal.signal(signal.SIGALRM, late)
    space: dict[str, Any] = {}
    with open(target, "a", encoding="utf-8") as out:
        for place, call in enumerate(told_of["calls"]):
            for row in itertools.islice(stated(call, told_of["values"], space), MOST):
                out.write(json.dumps({"place": place, **row}) + "\n")
                out.flush()
        for place, source in enumerate(told_of["said"]):
            out.write(json.dumps({"said": place, **evaluated(source, space)}) + "\n")
            out.flush()


def stated(call: str, values: list[str], space: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The outcomes of a call, first as it was made, then with other values; none where it cannot
    be made. `space`: receives the names of its module, and the packages around that."""
    try:
        module, path, given = pickle.loads(base64.b64decode(call))
        found = importlib.import_module(module)
        names = module.split(".")
        outer = [sys.modules[".".join(names[:end])] for end in range(1, len(names) + 1)]
        for one in reversed(outer):
            space.update({k: v for k, v in vars(one).items() if not k.startswith("__")})
        space.update({names[0]: outer[0], names[-1]: outer[-1]})
        for name in path.split("."):
            found = getattr(found, name)
        function = function_of(found)
    except BaseException:
        return
    end, steps = made(function, given, listed)
    yield {"what": "", "end": end, "way": True}
    for odd, what, other in varied(given, values):
        other_end, other_steps = made(function, other, listed)
        yield {"what": what, "odd": odd, "end": other_end, "way": other_steps == steps}


def listed(function: Any, plain: Any, named: Any) -> Any:
    return drawn(function(*plain, **named))


def drawn(value: Any) -> Any:
    """Return a value; of an iterator, what it gives."""
    return list(itertools.islice(value, 100)) if isinstance(value, Iterator) else value


def varied(given: _Given, values: list[str]) -> Iterator[tuple[bool, str, _Given]]:
    """Yield whether the new value is of another type, it as people read it, and the arguments."""
    names = [name for name in given if name not in ("self", "cls")]
    for name, text in itertools.product(names, values):
        for other in readings(text, given[name]):
            yield False, shown(name, other), {**given, name: other}
    for (one, two), pair in itertools.product(
        itertools.pairwise(names), itertools.pairwise(values)
    ):
        both = [readings(text, given[name]) for name, text in zip((one, two), pair)]
        for first, second in zip(*both):
            what = f"{shown(one, first)}, {shown(two, second)}"
            yield False, what, {**given, one: first, two: second}
    for name, odd in itertools.product(names, _ODD):
        if type(odd) is not type(given[name]):
            yield True, shown(name, odd), {**given, name: odd}


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


def evaluated(source: str, space: dict[str, Any]) -> dict[str, Any]:
    """Run statements; of the last, an expression, the value as texts."""
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
