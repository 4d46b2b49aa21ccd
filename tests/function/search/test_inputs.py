"""Inputs: deterministic, new, near the known ones first; found by running where none is."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, Expression, FunctionProblem, Scenario
from refute.function.search.inputs import Tier, near_inputs
from refute.function.search.staged import proposed_inputs
from refute.sandbox import Sandbox
from refute.sandbox.values import NDArray, Opaque, encode


def problem(code: str) -> FunctionProblem:
    name = code.split("def ")[-1].split("(")[0]
    return FunctionProblem("p", "", "", name, code)


def near(
    code: str, *known: tuple[Any, ...], count: int = 150, seed: int = 0
) -> list[tuple[Call, Tier]]:
    calls = [Call(args) for args in known]
    return [*islice(near_inputs(problem(code), calls, seed=seed), count)]


def inside(found: list[tuple[Call, Tier]]) -> list[tuple[Any, ...]]:
    return [call.args for call, tier in found if tier is Tier.IN_DOMAIN]


LISTS = "def f(xs, k):\n    return sorted(xs)[:k]"


def test_new_ones_and_the_same_for_a_seed() -> None:
    first = near(LISTS, ([3, 1, 2], 2), ([5, -4], 1), count=300)
    assert first == near(LISTS, ([3, 1, 2], 2), ([5, -4], 1), count=300)
    assert first != near(LISTS, ([3, 1, 2], 2), ([5, -4], 1), count=300, seed=1)
    texts = [repr(call) for call, _ in first]
    assert len(set(texts)) == 300
    assert repr(Call(([3, 1, 2], 2))) not in texts
    assert len(inside(first[:100])) >= 60


def test_what_is_inside_looks_like_what_is_known() -> None:
    for (date,) in inside(near("def f(d): ...", ("03-11-2000",), ("15-01-2012",))):
        assert [part.isdigit() for part in date.split("-")] == [True] * 3
    records = ([{"name": "ab", "age": 3}, {"name": "cd", "age": 5}],)
    for (rows,) in inside(near("def f(rows): ...", records)):
        assert all(type(row["name"]) is str and type(row["age"]) is int for row in rows)
    for grid, _ in inside(near("def f(g, k): ...", ([[1, 2], [3, 4], [5, 6]], 2))):
        assert len({len(row) for row in grid}) <= 1


def test_what_the_code_compares_with_is_tried_with_its_neighbours() -> None:
    found = near("def f(n):\n    return n > 17", (5,), (30,), count=80)
    assert {16, 17, 18} <= {args[0] for args in inside(found)}
    words = "def f(s):\n    return [{'zero': 0, 'one': 1, 'two': 2}[w] for w in s.split()]"
    assert any("zero" in text for (text,) in inside(near(words, ("two one one",))))


def test_calls_in_expressions_and_keywords_are_known_ones() -> None:
    known = [Expression("round(f([1.5, 2.0], k=2), 2)")]
    found = [*islice(near_inputs(problem("def f(xs, *, k): ..."), known, seed=0), 20)]
    assert found
    assert all(type(c.args[0]) is list and type(c.kwargs["k"]) is int for c, _ in found)


def test_a_scenario_that_uses_a_result_is_not_the_call_alone(box: Sandbox) -> None:
    code = "def f(n: int):\n    return lambda m: n + m\n"
    known = [DoctestSession(("f(1)(2)\n",))]
    found = proposed_inputs(problem(code), known, box=box, seed=0, most=60)
    used = [c.expression for c, _ in found if isinstance(c, Scenario) and ")(" in c.expression]
    assert used


def test_few_inputs_end() -> None:
    flags = problem("def count(flags):\n    return sum(flags)\n")
    assert len([*near_inputs(flags, [Call(([True, False, True],))], seed=0)]) < 300
    assert [*near_inputs(flags, [], seed=0)] == []


@pytest.mark.parametrize("odd", [NDArray([1.0], "float64", (1,)), Opaque((), "<x>", "X")])
def test_odd_values_do_no_harm(odd: object) -> None:
    for call, _ in near("def f(x): ...", (odd,), count=60):
        encode((call.args, dict(call.kwargs)), strict=True)


KINDS = """
import dataclasses, enum
class Colour(enum.Enum):
    RED = 1
    BLUE = 2
@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
def f(colour: Colour, at: Point, words: list[str], scale=1.5):
    return colour.name, at.x * scale, [word.upper() for word in words]
"""


def test_types_are_those_of_the_running_module(box: Sandbox) -> None:
    found = proposed_inputs(problem(KINDS), [], box=box, seed=0, most=60)
    texts = [call.expression for call, _ in found if isinstance(call, Scenario)]
    assert any("Colour.BLUE" in text and "Point(" in text for text in texts)
    plain = "def f(words: list[str], n: int):\n    return words * n\n"
    for call, _ in proposed_inputs(problem(plain), [], box=box, seed=0, most=40):
        if isinstance(call, Call) and call.args[:1] and isinstance(call.args[0], list):
            assert all(type(word) is str for word in call.args[0])
            break
    else:
        pytest.fail("no call with a list")


def test_values_that_examples_give_say_the_type(box: Sandbox) -> None:
    """Nobody annotates `pairs`; the example shows what it holds."""
    code = "def f(pairs):\n    return {key: len(value) for key, value in pairs}\n"
    known = [DoctestSession(("f([('a', 'bc')])\n",))]
    found = proposed_inputs(problem(code), known, box=box, seed=0, most=60)
    good = [call for call, tier in found if tier is Tier.IN_DOMAIN]
    assert len(good) >= 10
