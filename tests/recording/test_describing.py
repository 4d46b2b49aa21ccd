"""Values as source: what is written makes the value again, or nothing is written."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import functools
import importlib
import io
import itertools
import operator
import re
import typing
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from refute.recording.describing import Describer
from refute.recording.recipes import Unbuildable
from refute.recording.rendering import render

UTC = datetime.UTC


class Level(enum.Flag):
    LOW = 1
    HIGH = 2


class Point(typing.NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1
    name: str = "s"
    unit: dataclasses.InitVar[int] = 0


@dataclasses.dataclass
class Box:
    width: int
    height: int = 1
    names: list[str] = dataclasses.field(default_factory=list)

    class Lid:
        pass


class Names(collections.defaultdict[str, int]):
    pass


class Word(str):
    pass


class Problem(ValueError):
    pass


def written(value: Any) -> tuple[dict[str, str], list[str], str]:
    ticks = itertools.count(1)
    return render(Describer(lambda _: None, lambda: next(ticks))(value))


def made(program: tuple[dict[str, str], list[str], str]) -> Any:
    imports, setup, expression = program
    names: dict[str, Any] = {}
    for name, origin in imports.items():
        module, _, path = origin.partition(":")
        names[name] = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            names[name] = getattr(names[name], part)
    for statement in setup:
        exec(statement, names)
    return eval(expression, names)


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (-3, "-3"),
        (float("inf"), "float('inf')"),
        (complex(1, -0.0), "complex(1.0, -0.0)"),
        ((1,), "(1,)"),
        ({}, "{}"),
        (set(), "set()"),
        (frozenset(), "frozenset()"),
        ({"a": [b"x", None, ...]}, "{'a': [b'x', None, Ellipsis]}"),
        (bytearray(b"x"), "bytearray(b'x')"),
        (range(1, 5), "range(1, 5, 1)"),
        (slice(None, 2), "slice(None, 2, None)"),
        (Decimal("1.50"), "Decimal('1.50')"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (datetime.date(2024, 2, 29), "date(2024, 2, 29)"),
        (datetime.timedelta(days=-1), "timedelta(-1, 0, 0)"),
        (
            datetime.datetime(2024, 1, 2, tzinfo=UTC, fold=1),
            "datetime(2024, 1, 2, 0, 0, 0, 0, tzinfo=timezone.utc, fold=1)",
        ),
        (Path("a/b"), "Path('a/b')"),
        (uuid.UUID(int=1), "UUID('00000000-0000-0000-0000-000000000001')"),
        (re.compile("a", re.IGNORECASE), "re.compile('a', 2)"),
        (collections.deque([1], maxlen=2), "deque([1], maxlen=2)"),
        (collections.Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (collections.OrderedDict(a=1), "OrderedDict([('a', 1)])"),
        (collections.defaultdict(list, a=[1]), "defaultdict(list, {'a': [1]})"),
        (functools.partial(int, base=2).func, "int"),
        (operator.add, "add"),
        (re, "re"),
        (Level.HIGH, "Level.HIGH"),
        (Box.Lid, "Box.Lid"),
        (Point(1, 2), "Point(1, 2)"),
        (Box(1, 2), "Box(1, 2, [])"),
        (Box(1, names=["a"]), "Box(1, names=['a'])"),
        (Word("a"), "Word('a')"),
        (Path.cwd, "Path.cwd"),
    ],
    ids=str,
)
def test_source_makes_the_value_again(value: Any, source: str) -> None:
    program = written(value)
    assert program[2] == source
    again = made(program)
    assert type(again) is type(value)
    assert again == value


def test_objects_that_have_no_equality() -> None:
    error = made(written(Problem("a", 1)))
    assert type(error) is Problem
    assert error.args == ("a", 1)
    assert type(made(written(Box.Lid()))) is Box.Lid
    stream = io.BytesIO(b"abc")
    stream.seek(2)
    assert made(written(stream)).read() == b"c"
    assert made(written(functools.partial(int, base=2)))("11") == 3
    assert made(written(Level.LOW | Level.HIGH)) == Level.LOW | Level.HIGH


def changed() -> Any:
    box = Box(1)
    box.more = 2  # type: ignore[attr-defined]
    return box


@pytest.mark.parametrize(
    "value",
    [
        lambda: 1,
        iter([1]),
        itertools.count(),
        (one for one in [1]),
        "x" * 5_000,
        2**5_000,
        [[[[[[[[1]]]]]]]],
        list(range(1_000)),
        type("Local", (), {}),
        Size(1),
        changed(),
        Names(int),
        [].append,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_source_makes_is_refused(value: Any) -> None:
    with pytest.raises(Unbuildable):
        written(value)
