"""Inputs: deterministic, new, near the known ones first; found by running where none is."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, FunctionProblem, Scenario
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


def test_what_the_code_compares_with_is_tried_with_its_neighbours() -> None:
    found = near("def f(n):\n    return n > 17", (5,), (30,), count=80)
    assert {16, 17, 18} <= {args[0] for args in inside(found)}
    words = "def f(s):\n    return [{'zero': 0, 'one': 1, 'two': 2}[w] for w in s.split()]"
    assert any("zero" in text for (text,) in inside(near(words, ("two one one",))))


def test_a_scenario_that_uses_a_result_is_not_the_call_alone(box: Sandbox) -> None:
    code = "def f(n: int):\n    return lambda m: n + m\n"
    known = [DoctestSession(("f(1)(2)\n",))]
    found = proposed_inputs(problem(code), known, box=box, seed=0, most=60)
    used = [c.expression for c, _ in found if isinstance(c, Scenario) and ")(" in c.expression]
    assert used


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
