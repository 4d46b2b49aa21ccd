"""The doctests of a text as calls."""

from __future__ import annotations

import math
from typing import Any

import pytest

from refute.core.problems import Call, Expression, FunctionProblem, Trust, UnitTest
from refute.function.contract import MethodResult, State
from refute.function.examples import read_examples, understood
from refute.function.search.engine import search
from refute.sandbox.local import LocalSandbox


def found(text: str, code: str = "def f(x): ...", name: str = "f") -> list[UnitTest]:
    return [t for t in read_examples(text, name, code=code) if t.trust < Trust.HINT]


def pairs(text: str) -> list[tuple[Any, Any]]:
    return [
        (t.call.args if isinstance(t.call, Call) else t.call.source, t.expected)
        for t in found(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">>> f(3)\n4", [((3,), 4)]),
        (">>> f('a\\nb')\n'b\\na'", [(("a\nb",), "b\na")]),
        (">>> f([1,\n...    2])\n[2,\n 1]", [(([1, 2],), [2, 1])]),
        (">>> f(3) == 4", [((3,), 4)]),
        (">>> f(3) == 4\nTrue", [((3,), 4)]),
        (">>> f(3)\n4\nThis is because of three.", [((3,), 4)]),
        (">>> assert 7 == f(2)", [((2,), 7)]),
        (">>> assert f(2) is True and f(3) is False", [((2,), True), ((3,), False)]),
        (">>> assert f(2) == float('inf')", [((2,), math.inf)]),
        (">>> f(3)", []),
        ("f(3) == 4 and f(5) -> 6", []),
    ],
)
def test_forms(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(text) == expected


def test_exceptions_are_read_from_tracebacks() -> None:
    doctest = ">>> f(-1)\nTraceback (most recent call last):\n    ...\nValueError: no\n"
    assert [(t.call, t.raises) for t in found(doctest)] == [(Call((-1,)), "ValueError")]


def test_names_that_do_not_exist_are_not_used() -> None:
    tests = found(
        ">>> from fractions import Fraction as F\n>>> f(F(1, 2))\n1\n\nThen:\n\n"
        ">>> import mod\n>>> mod.f(3)\n4\n>>> f(unknown)\n5\n>>> f(9)\n<object ...>\n"
        ">>> f(7)  # doctest: +SKIP\n8\n"
    )
    assert [t.call.source for t in tests] == [
        ">>> from fractions import Fraction as F\n>>> f(F(1, 2))"
    ]


def test_other_conditions_become_expressions() -> None:
    tests = found(
        ">>> assert abs(f(3) - 1.5) < 1e-6\n>>> assert set(f(4)) == {1, 2}\n>>> round(f(5), 2)\n"
        "0.5\n>>> assert not f(6)\n>>> assert math.isclose(f(7), 2.5, rel_tol=0.001)"
    )
    sources = [(t.call.source, t.expected) for t in tests if isinstance(t.call, Expression)]
    assert sources == [
        ("abs(f(3) - 1.5) < 1e-06", True),
        ("set(f(4))", {1, 2}),
        ("round(f(5), 2)", 0.5),
        ("bool(f(6))", False),
        ("abs(f(7) - 2.5) <= max(0.001 * abs(2.5), 0.0)", True),
    ]


def test_examples_that_contradict_one_another_are_hints() -> None:
    tests = read_examples(">>> f(3)\n4\n>>> f(3)\n5\n>>> f(4)\n5\n>>> f(4)\n5.0\n", "f")
    assert [(t.trust, t.expected) for t in tests] == [
        (Trust.HINT, 4),
        (Trust.HINT, 5),
        (Trust.STATED, 5),
    ]
    assert "contradicted by description line 3" in tests[0].source


SCALED = '''
def scaled(x, k):
    """
    >>> scaled(2, 2)
    4
    """
    return x - k
'''
TOTAL = '''
def total(prices, rate):
    """
    >>> total([10, 20], 10)
    {total}
    """
    return sum(scaled(p, rate) for p in prices)
'''


def problem(code: str, name: str = "scaled") -> FunctionProblem:
    return FunctionProblem("t", "", f"{name}(x)", name, code)


def searched(code: str, box: LocalSandbox) -> MethodResult:
    known, _ = understood(problem(code), box=box)
    return search(known, box=box, budget=10.0, max_candidates=400)


def body(result: MethodResult) -> str:
    """The last line of the first fix of `scaled`."""
    return result.candidates[0].code.split("def total")[0].rstrip().rpartition("\n")[2].strip()


@pytest.mark.parametrize(("total", "line"), [(300, "return x * k"), (50, "return x + k")])
def test_what_a_caller_shows_chooses_the_fix(total: int, line: str, box: LocalSandbox) -> None:
    result = searched(SCALED + TOTAL.format(total=total), box)
    assert body(result) == line


def test_a_fix_that_spoils_an_example_of_a_caller_is_only_proposed(box: LocalSandbox) -> None:
    code = SCALED.replace("- k", "* k + 1") + TOTAL.format(total=302)
    result = searched(code, box)
    assert result.state == State.PROPOSED
    assert any("passes now and would fail" in line for line in result.reservations)


def test_a_caller_alone_makes_nothing_red(box: LocalSandbox) -> None:
    code = SCALED.replace("x - k", "x * k") + TOTAL.format(total=50)
    assert searched(code, box).state == State.PASSES
