"""Values as texts by which two runs are compared."""

from __future__ import annotations

import enum
import re
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from refute.recording.outlining import outline


class Hidden:
    """An object that lies in every word that Python asks of it."""

    __slots__ = ("count", "unset")

    def __init__(self) -> None:
        self.count = [1]

    def __repr__(self) -> str:
        raise AssertionError

    __eq__ = __hash__ = __getattribute__ = __repr__  # type: ignore[assignment]

    __class__ = property(__repr__)  # type: ignore[assignment]


class Level(enum.IntEnum):
    LOW = 1


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Name(str):
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, "a", None, (2.5,)], "[1, 'a', None, (2.5)]"),
        ({"b": {1}, 2: b"x"}, "{'b': {1}, 2: b'x'}"),
        ({"b", "a"}, "{'a', 'b'}"),
        (Pair(1, Pair([], None)), "Pair(a=1, b=Pair(a=[], b=None))"),
        (Name("x"), "Name('x')"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (len, "<function len>"),
        (Hidden.__init__, "<function Hidden.__init__>"),
        (Level, "<class Level>"),
        (re, "<module>"),
        (Path("a"), "PosixPath('a')"),
        ("at <A object at 0x7f3aa81c2d90>", "'at <A object at 0x>'"),
        ("a" * 500, repr("a" * 400) + "..."),
        (1 << 5000, "..."),
    ],
)
def test_outline(value: Any, text: str) -> None:
    assert outline(value) == text


def test_an_object_that_lies_is_not_asked() -> None:
    assert outline([Hidden()]) == "[Hidden(count=[1])]"


def test_what_is_deep_large_or_in_itself_is_cut() -> None:
    knot: list[Any] = [1]
    knot.append(knot)
    assert outline(knot) == "[1, ...]"
    assert outline([[[[[[[7]]]]]]]) == "[[[[[...]]]]]"
    assert outline([[7]], 0) == "[...]"
    assert outline(list(range(10_000))).endswith("117, 118, ...]")
    assert outline(Level.LOW).startswith("Level(1, _value_=1, _name_='LOW'")
