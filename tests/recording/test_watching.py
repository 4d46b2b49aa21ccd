"""Functions of a project watched while its tests run."""

from __future__ import annotations

import enum
import json
import re
import sys
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from refute.recording import watching
from refute.recording.outlining import outline

CODE = """
import functools

def plain(a, *rest, key=1):
    rest[0].append(a)
    return a * 2

class Cart:
    @property
    @functools.lru_cache
    def total(self):
        return self.prices

    def fail(self):
        with open(__file__):
            raise ValueError("no", self.prices)

def caught():
    try:
        raise KeyError(1)
    except KeyError:
        pass

def many(n):
    for i in range(n):
        yield i
    return "end"

def unwatched():
    return plain(9, [])

def test_all():
    cart = Cart()
    cart.prices = 3
    plain(1, [], key=2)
    cart.total
    try: cart.fail()
    except ValueError: pass
    caught()
    list(many(1))
    unwatched()

def test_runner():  # such as some projects have
    test_all()

def outside():
    plain(1, [])
"""
CHOSEN = {"4": "plain", "9": "Cart.total", "14": "Cart.fail", "18": "caught", "24": "many"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("watched")
    file = folder / "test_cart.py"
    file.write_text(CODE)
    held: dict[str, Any] = {"__file__": str(file)}
    exec(compile(CODE, str(file), "exec"), held)
    traced = sys.gettrace()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST")
        patch.chdir(folder)
        try:
            watching.watch(str(file), CHOSEN, str(folder / "rows.jsonl"))
            held["outside"]()
            held["test_runner"]()
        finally:
            sys.settrace(traced)
            threading.settrace(None)  # type: ignore[arg-type]
    return [json.loads(line) for line in Path(folder, "rows.jsonl").read_text().splitlines()]


def test_what_a_call_was_given_and_what_came_of_it(rows: list[dict[str, Any]]) -> None:
    assert rows[0] == {
        "test": "test_cart.py::test_all",
        "function": "plain",
        "number": 1,
        "given": {"a": "1", "key": "2", "rest": "([])"},
        "outcome": "2",
        "raised": False,
        "changed": {"rest": "([1])"},
    }
    ends = [(row["function"], row["raised"], row["outcome"]) for row in rows[1:]]
    assert ends == [
        ("Cart.total", False, "3"),
        ("Cart.fail", True, "ValueError('no', 3)"),
        ("caught", False, "None"),
        ("many", False, "0"),
        ("many", False, "'end'"),
        ("plain", False, "18"),
    ]


def test_what_runs_outside_of_a_test_is_left_out(rows: list[dict[str, Any]]) -> None:
    assert [row["number"] for row in rows if row["function"] == "plain"] == [1, 2]


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
