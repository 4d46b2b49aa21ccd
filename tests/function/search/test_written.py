"""Inputs that only the program under test can make, as source: enums, dataclasses, named tuples."""

from __future__ import annotations

from itertools import islice

from refute.core.problems import Call, Expression, FunctionProblem, UnitTest
from refute.function.search.engine import search
from refute.function.search.inputs import ProposedInput, propose_inputs
from refute.function.search.written import Written, as_invocation, source_with
from refute.sandbox import Program, Returned
from refute.sandbox.local import LocalSandbox

MODULE = """\
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar, NamedTuple

class Colour(Enum):
    _ignore_ = []
    RED = auto()
    GREEN = auto()

    def shown(self):
        return self.name

@dataclass(frozen=True)
class Point:
    kind: ClassVar[str] = "p"
    x: int
    y: int
    label: str = ""
    more: list[int] = field(default_factory=list)

@dataclass(frozen=True)
class Named(Point):
    name: str = "n"

class Pair(NamedTuple):
    left: Point
    colour: Colour

@dataclass(frozen=True)
class Own:
    x: int
    def __init__(self):
        self.x = 1

"""


def problem(function: str, tests: tuple[UnitTest, ...] = ()) -> FunctionProblem:
    return FunctionProblem("p", "", "", "f", MODULE + function, tests)


def proposed(function: str, count: int = 40) -> list[ProposedInput]:
    return list(islice(propose_inputs(problem(function), [], seed=0), count))


def test_what_is_proposed_is_made_by_the_program(box: LocalSandbox) -> None:
    function = (
        "def f(colour: Colour, points: list[Point], pair: Pair, *, other: Colour | None = None):\n"
        "    assert isinstance(colour, Colour) and isinstance(pair.left.x, int)\n"
        "    assert isinstance(pair.colour, Colour) and isinstance(other, Colour | None)\n"
        "    return sum(p.x for p in points)\n"
    )
    found = proposed(function)
    assert len(found) == 40
    assert all(isinstance(one.call, Expression) for one in found)
    outcomes = box.run(Program(MODULE + function, "f"), [one.call for one in found])
    assert all(isinstance(outcome, Returned) for outcome in outcomes), outcomes


def test_classes_that_do_not_tell_how_they_are_made() -> None:
    assert not any(isinstance(one.call, Expression) for one in proposed("def f(own: Own): ..."))


def test_fixes_are_told_apart_on_them(box: LocalSandbox) -> None:
    function = "def f(colour: Colour, n: int) -> int:\n    return n + 2\n"
    tests = tuple(
        UnitTest(Expression(f"f(Colour.{name}, {n})"), n + 1)
        for name, n in (("RED", 1), ("GREEN", 5), ("RED", 7))
    )
    result = search(problem(function, tests), box=box, budget=10.0)
    assert "return n + 1" in result.candidates[0].code
    predicted = [one.test.call for one in result.failing if one.test not in tests]
    assert predicted
    assert all(isinstance(call, Expression) and "Colour." in call.source for call in predicted)


def test_the_source_of_what_holds_one() -> None:
    red = Written("Colour.RED")
    value = {"a": [red, (red,)], red: frozenset({red}), "b": (1, "x")}
    text = '{"a": [Colour.RED, (Colour.RED,)], Colour.RED: frozenset([Colour.RED]), "b": (1, "x")}'
    assert source_with(value) == text
    assert as_invocation(Call((1, red), {"x": red}), "f") == Expression(
        "f(1, Colour.RED, x=Colour.RED)"
    )
    assert as_invocation(Call((1,)), "f") == Call((1,))
    assert as_invocation(Call((), {"x": [red]}), "f") == Expression("f(x=[Colour.RED])")
    assert as_invocation(Call((red, object())), "f") is None
