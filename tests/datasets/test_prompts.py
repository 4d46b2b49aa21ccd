"""Examples that the prompts of HumanEval tell in words, on texts of our own."""

from __future__ import annotations

import math
from typing import Any

import pytest

from refute.core.problems import Call, Expression, Trust, UnitTest
from refute_lab.datasets.prompts import prompt_examples


def pairs(text: str, code: str = "def f(x): ...") -> list[tuple[Any, Any]]:
    tests = prompt_examples(text, "f", code=code)
    return [(t.call.args, t.expected) for t in tests if isinstance(t.call, Call)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">>> f(3)\n4", [((3,), 4)]),
        ("f(3) == 4", [((3,), 4)]),
        ("`f(3)` → `4`", [((3,), 4)]),
        ("f(3) ➞ [1, 2]", [((3,), [1, 2])]),
        ("* f([]) => []", [(([],), [])]),
        ("f(3) -> 4, f(5) -> 6", [((3,), 4), ((5,), 6)]),
        ("f(3)==>4", [((3,), 4)]),
        ("f(3) = -1", [((3,), -1)]),
        ("f(4) = 3\nf(3) = [1, 3]", [((3,), [1, 3])]),
        ("For example f('14.5') should\n   return 15 and f('-14.5') should return -15.",
         [(("14.5",), 15), (("-14.5",), -15)]),
        ("f([1, 2]) should return true.", [(([1, 2],), True)]),
        ("Input: x = 3\nOutput: 4", [((3,), 4)]),
        ("    Input: [4,2]\n    Output: [2, 1]", [(([4, 2],), [2, 1])]),
        ("You get a string x. f(abc) => False", [(("abc",), False)]),
        ("f(abc) => False", []),
        ("For x = 4 the output should be 5.", [((4,), 5)]),
    ],
)  # fmt: skip
def test_forms(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Input: xs = [1, 2], k = 3\nOutput: 5", [(([1, 2], 3), 5)]),
        ("Input:\n   xs : [1, 2]\n   amount : 3\nOutput: 5", [(([1, 2], 3), 5)]),
        ("f([1]) == 2", []),
    ],
)
def test_two_arguments(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(text, "def f(xs, k): ...") == expected


@pytest.mark.parametrize(
    "text",
    [
        "f(n) == f(n-1) + f(n-2)",
        "f(x) returns True if x is prime",
        "f(x) -> int",
        "Returns -1 otherwise. If x is 3 or more return 4.",
        "If x = 3 and k is negative, return 0",
        "For x = 3 the table is 4 long.",
        "Call f(3) and return 4 values",
        "f(3) = 4x + 2",
        'f(3) == ""a"',
        "f(3) ==> ('may be a tuple')",
        "Don't f('it",
        "f(" + "[" * 3000 + "]" * 3000 + ") == 1",
        "f(9**9**9**9) == 1\nf(__import__('os').getcwd()) == 1",
    ],
)
def test_nothing_is_read_where_nothing_is_stated(text: str) -> None:
    assert pairs(text) == []


def test_trust_is_by_form_and_asserts_of_the_code_are_hints() -> None:
    code = 'def f(x):\n    """>>> f(1)\n    3\n    """\n    return x + 2\n\nassert f(5) == 7\n'
    tests = prompt_examples("f(3) == 4\nf(5) ➞ 6\nf(6) ➞ 7\nf(6) == 8", "f", code=code)
    assert [(t.call.args, t.trust) for t in tests if isinstance(t.call, Call)] == [
        ((3,), Trust.STATED), ((5,), Trust.WORDED), ((6,), Trust.HINT), ((6,), Trust.HINT)
    ]  # fmt: skip
    [hint] = prompt_examples("", "f", code=code)
    assert (hint.call, hint.expected, hint.trust, hint.source) == (
        Call((5,)), 7, Trust.HINT, "code line 7"
    )  # fmt: skip


def found(text: str) -> list[UnitTest]:
    return [t for t in prompt_examples(text, "f", code="def f(x): ...") if t.trust < Trust.HINT]


def stated(text: str) -> list[tuple[Any, Any]]:
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
    ],
)
def test_forms_of_doctests(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert stated(text) == expected


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
    tests = prompt_examples(">>> f(3)\n4\n>>> f(3)\n5\n>>> f(4)\n5\n>>> f(4)\n5.0\n", "f")
    assert [(t.trust, t.expected) for t in tests] == [
        (Trust.HINT, 4),
        (Trust.HINT, 5),
        (Trust.STATED, 5),
    ]
    assert "contradicted by description line 3" in tests[0].source
