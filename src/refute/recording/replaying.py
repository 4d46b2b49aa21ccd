"""Calls that were watched are made again, where no test runs: from another folder, with another
`sys.argv`, without the environment; and calls that lie beside them.

Run as a script: `python replaying.py PLAN TARGET`, with the folder of this package's sources as
`sys.path[0]`. Writes one JSON object for each call and kind of `sys.argv`.
"""

from __future__ import annotations

import base64
import copy
import datetime
import dis
import importlib
import importlib.machinery
import itertools
import json
import os
import pickle
import random
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType
from typing import Any

from refute.recording.outlining import outline
from refute.recording.watching import function_of, parameters, told

ARGUMENTS = (["app"], ["/usr/bin/app", "--port", "80"])
SECONDS = 2.0
"""Of one call; of all beside it."""
MOST_BESIDE = 128
AT_ONCE = 4
"""Of the other values of each of two arguments."""
PLAIN = (-1234, "x1", [2, 1])
"""Values that a function is tried with that was returned."""
OF_VARIANTS = 10.0
"""Seconds for all of them."""
_SIMPLE = (bool, int, float, str, list, tuple, dict)
_QUOTED = re.compile(r"'([^']{1,40})'|\"([^\"]{1,40})\"")


def main(plan: str, target: str) -> None:
    """Each kind of `sys.argv` in a process of its own: a module may look at it on import. So is
    each variant of the code, `[file, text]`."""
    os.environ.pop("PYTHONHASHSEED", None)
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    end = time.monotonic() + OF_VARIANTS
    variants = list(enumerate(told_of["variants"]))
    for number, arguments in [*enumerate(ARGUMENTS), *((0, one) for one in variants)]:
        variant = arguments if isinstance(arguments, tuple) else None
        if variant and time.monotonic() > end:
            break
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            sys.argv = list(ARGUMENTS[number])
            sys.path[:] = [*told_of["paths"], *sys.path[1:]]
            signal.signal(signal.SIGALRM, late)
            more = {}
            if variant:
                more = {"variant": variant[0]}
                load_instead(*variant[1])
            with open(target, "a", encoding="utf-8") as out:
                for place, call in enumerate(told_of["calls"]):
                    row = replayed(call, not number and told_of["beside"], steps=not variant)
                    kept = row if not variant else {n: row[n] for n in ("end", "near") if n in row}
                    out.write(json.dumps({"place": place, **more, **kept}) + "\n")
                    out.flush()
        finally:
            os._exit(0)


def load_instead(file: str, text: str) -> None:
    """Have a module loaded from another text."""
    loader: Any = importlib.machinery.SourceFileLoader
    own = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        if os.path.realpath(self.path) == os.path.realpath(file):
            return compile(text, self.path, "exec", dont_inherit=True)
        return own(self, fullname)

    loader.get_code = get_code


def here(plan: str, target: str, way: Any) -> None:
    """In this process, as it is: by `way`, which is given the function and its arguments."""
    with open(plan, encoding="utf-8") as file:
        told_of = json.load(file)
    signal.signal(signal.SIGALRM, late)
    with open(target, "a", encoding="utf-8") as out:
        for place, call in enumerate(told_of["calls"]):
            row = replayed(call, False, way, steps=False)
            out.write(json.dumps({"place": place, **row}) + "\n")


FAILED: list[bool] = []
"""True if the last call that raised did so by a statement."""


def called(function: Any, plain: Any, named: Any) -> Any:
    return function(*plain, **named)


def late(number: int, frame: Any) -> None:
    raise TimeoutError("replayed for too long")


def replayed(call: str, beside: bool, way: Any = called, steps: bool = True) -> dict[str, Any]:
    """Return the outcome of a call, and of those beside it; no `end` where it cannot be made.
    `steps`: note which instructions run."""
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
    end, ran = made(function, given, way, steps)
    row: dict[str, Any] = {"end": end}
    if beside:
        defaults = dict(zip(reversed(code.co_varnames[: code.co_argcount]),
                            reversed(function.__defaults__ or ())))  # fmt: skip
        inside = [field for one in given.values() for _, field in fields(one)]
        row["edge"] = any(
            is_edge(value) and value != defaults.get(name, call) for name, value in given.items()
        ) or any(is_edge(field) and not isinstance(field, (int, float)) for field in inside)
        row["accident"] = bool(FAILED) and not FAILED.pop()
        others = list(itertools.islice(varied(given), MOST_BESIDE))
        end_at = time.monotonic() + SECONDS
        in_time = itertools.takewhile(lambda _: time.monotonic() < end_at, others)
        near = [made(function, one, way, steps) for _, one in in_time]
        row["near"] = [one for one, _ in near]
        row["same way"] = [other == ran for _, other in near]
        row["moves"] = [
            [at, ", ".join(name + "=" + outline(one[name])[:80] for name in one
                           if one[name] is not given[name])]
            for at, one in others
        ]  # fmt: skip
        row["documented"] = documented(function, given, way)
    return row


def documented(function: Any, given: dict[str, Any], way: Any) -> dict[str, str]:
    """Return the outcomes of what a docstring quotes beside a text that is given."""
    texts = {one or other for one, other in _QUOTED.findall(function.__doc__ or "")}
    for name, value in given.items():
        if type(value) is str and value in texts:
            return {one: made(function, {**given, name: one}, way)[0] for one in sorted(texts)}
    return {}


def made(
    function: Any, given: dict[str, Any], way: Any = called, noted: bool = False
) -> tuple[str, list[int]]:
    """Return the outcome of a call as text, and the instructions that ran, where they are noted."""
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
    FAILED.clear()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    sys.settrace(trace if noted else None)
    try:
        value = way(function, plain, named)
        if code.co_flags & 0x80:
            import asyncio

            value = asyncio.run(value)
        elif isinstance(value, Iterator):
            value = list(itertools.islice(value, 100))
        elif isinstance(value, FunctionType):
            value = [value, *(answer(value, one) for one in PLAIN)]
        end = outline(value)
    except BaseException as error:
        end = "raises " + told(type(error), error)
        FAILED.append(by_statement(error))
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    after = {name: outline(value) for name, value in held.items()}
    end += "".join(
        f"; {name} becomes {after[name]}" for name in after if after[name] != before[name]
    )
    return end, sorted(steps)


def answer(function: Any, value: Any) -> Any:
    """Return what a function that was returned gives for a value, or how it fails."""
    try:
        return function(value)
    except Exception as error:
        return type(error)


def by_statement(error: BaseException) -> bool:
    """Return whether a `raise` raised an error, or what is looked up was missing."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code.co_code if at is not None else b""
    name = dis.opname[code[at.tb_lasti]] if at is not None else ""
    return name.startswith(("RAISE_", "RERAISE")) or isinstance(error, LookupError)


def varied(given: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same call with one value that is another, one of each argument in turn, then with two
    arguments that are; each with where it differs."""
    each = {name: list(moves(value, name)) for name, value in given.items()}
    yield from in_turn(
        [(at, {**given, name: other}) for at, other in others] for name, others in each.items()
    )
    for one, two in itertools.combinations(each, 2):
        for (at, first), (where, second) in itertools.product(
            each[one][:AT_ONCE], each[two][:AT_ONCE]
        ):
            yield f"{at}+{where}", {**given, one: first, two: second}


def in_turn(each: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """One of each, then a second one of each, and so on."""
    for row in itertools.zip_longest(*each, fillvalue=in_turn):
        yield from (one for one in row if one is not in_turn)


def beside(value: Any) -> Iterator[Any]:
    """Values near a value, and far from it, of the same type."""
    return (other for _, other in moves(value))


def moves(value: Any, at: str = "", deep: int = 0) -> Iterator[tuple[str, Any]]:
    """The same, each with the place in the value that differs."""
    kind = type(value)
    if kind is bool:
        yield at, not value
    elif kind in (int, float):
        yield from ((at, other) for other in numbers(value) if other != value)
    elif kind is str:
        letters = [
            [(f"{at}:{place}", value[:place] + new + value[place + 1 :]) for new in "xqz"
             if letter.isalnum() and new != letter]
            for place, letter in ends(value)
        ]  # fmt: skip
        letters += [
            [(f"{at}:{len(value)}", value.replace(one, new)) for new in "a7" if new != one]
            for _, one in ends(value) if one.isalnum() and value.count(one) > 1
        ]  # fmt: skip
        lengths = [(f"{at}:#", other) for other in texts(value)]
        yield from in_turn([lengths, *letters])
    elif kind in (list, tuple, dict):
        items = list(value.items() if kind is dict else value)
        others = [] if kind is dict else [kind([*items, *items[-1:]]), kind(items[::-1])]
        others += [kind([*items[:k], *items[k + 1 :]]) for k in range(min(4, len(items)))]
        yield from ((f"{at}[#]", other) for other in others)
        pairs = [item if kind is dict else (None, item) for item in items[: 4 * (deep < 2)]]
        each = []
        for k, (key, item) in enumerate(pairs):
            made = moves(item, f"{at}[{k}]", deep + 1)
            other_items = [(where, (key, new) if kind is dict else new) for where, new in made]
            before, after = items[:k], items[k + 1 :]
            each.append([(w, kind([*before, new, *after])) for w, new in other_items])
        yield from in_turn(each)
    elif isinstance(value, datetime.date):
        for name in ("day", "month", "year"):
            for other in (*numbers(getattr(value, name)), *range(4, 26, 7)):
                if is_of_date(value, name, other):
                    yield f"{at}.{name}", value.replace(**{name: other})
    elif deep < 2 and not isinstance(value, type):
        each = []
        for name, field in fields(value):
            made = moves(field, f"{at}.{name}", deep + 1)
            each.append([(where, with_field(value, name, other)) for where, other in made])
        yield from in_turn(each)


def numbers(value: Any) -> tuple[Any, ...]:
    """Numbers near one, then some far away."""
    near = (value + 1, value - 1, value * 2, value + 2, value * 3, -value, value - 2)
    near += (value + 0.001, value * 1.001 + 0.01) if type(value) is float else ()
    return (*near, value + 100, value * 10 + 7, value - 100)


def ends(value: str) -> list[tuple[int, str]]:
    """The first three letters of a text and the last three, with their places."""
    letters = list(enumerate(value))
    return letters[:3] + letters[3:][-3:]


def texts(value: str) -> Iterator[str]:
    """Texts of another length, with another digit, or in capitals."""
    for at, letter in ends(value):
        if letter.isdigit():
            yield value[:at] + str((int(letter) + 1) % 10) + value[at + 1 :]
        yield value[:at] + letter + value[at:]
        yield value[:at] + value[at + 1 :]
    yield value + value[-1:]
    yield value.swapcase()


def is_of_date(value: datetime.date, name: str, other: Any) -> bool:
    """Return whether a date may have another day, month or year."""
    try:
        return value.replace(**{name: other}) != value
    except (ValueError, OverflowError):
        return False


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


if __name__ == "__main__":
    main(*sys.argv[1:])
