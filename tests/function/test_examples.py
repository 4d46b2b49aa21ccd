"""The example reader on texts of our own: every form that descriptions use."""

from __future__ import annotations

import math
from typing import Any

import pytest

from refute.core.problems import Call, Expression, Trust, UnitTest
from refute.function.examples import read_examples


def found(text: str, code: str = "def f(x): ...", name: str = "f") -> list[UnitTest]:
    return [t for t in read_examples(text, name, code=code) if t.trust < Trust.HINT]


def pairs(text: str, code: str = "def f(x): ...", name: str = "f") -> list[tuple[Any, Any]]:
    return [
        (t.call.args if isinstance(t.call, Call) else t.call.source, t.expected)
        for t in found(text, code, name)
    ]


TWO = "def f(xs, k): ..."

ONE_ARGUMENT = [
    (">>> f(3)\n4", [((3,), 4)]),
    (">>> f('a\\nb')\n'b\\na'", [(("a\nb",), "b\na")]),
    (">>> f([1,\n...    2])\n[2,\n 1]", [(([1, 2],), [2, 1])]),
    (">>> f(3) == 4", [((3,), 4)]),
    (">>> f(3) == 4\nTrue", [((3,), 4)]),
    (">>> f(3)\n4\nThis is because of three.", [((3,), 4)]),
    ("assert f(2) == {1: 'a'}", [((2,), {1: "a"})]),
    ("assert 7 == f(2)", [((2,), 7)]),
    ("assert f(2) is True and f(3) is False", [((2,), True), ((3,), False)]),
    ("assert f(\n  [1,\n   2]) == [\n  2]", [(([1, 2],), [2])]),
    ("assert f(2) == float('inf')", [((2,), math.inf)]),
    ("f(3) == 4", [((3,), 4)]),
    ("`f(3)` → `4`", [((3,), 4)]),
    ("f(3) ➞ [1, 2]", [((3,), [1, 2])]),
    ("* f([]) => []", [(([],), [])]),
    ("f(3) -> 4, f(5) -> 6", [((3,), 4), ((5,), 6)]),
    ("f(3)==>4", [((3,), 4)]),
    ("f(3) = -1", [((3,), -1)]),
    ("f(3) -> 9 - 5 - 6 = -2", [((3,), -2)]),
    ("f(3) == 1 + 9 + 0 = 10", [((3,), 10)]),
    ("f(3)   # returns 'a'", [((3,), "a")]),
    ("f(3)  # => 'a' (as it is odd)", [((3,), "a")]),
    ("f(3)  # 4", [((3,), 4)]),
    ("For example f('14.5') should\n   return 15 and f('-14.5') should return -15.",
     [(("14.5",), 15), (("-14.5",), -15)]),
    ("f([1, 2]) should return true.", [(([1, 2],), True)]),
    ("Example 1:\n\n    Input: [4,2]\n    Output: [2, 1]\n    Why: none", [(([4, 2],), [2, 1])]),
    ("**Input:** `x = 3`\n**Output:** `4`", [((3,), 4)]),
    ("Input: 3, Output: 4", [((3,), 4)]),
    ("For x = 4 the output should be 5.", [((4,), 5)]),
    ("if x = 1 return 0", [((1,), 0)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ONE_ARGUMENT)
def test_forms(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Input: xs = [1, 2], k = 3\nOutput: 5", [(([1, 2], 3), 5)]),
        ("Input:\n   xs : [1, 2]\n   amount : 3\nOutput: 5", [(([1, 2], 3), 5)]),
        ("For k = 3, xs = [1], the result should be ('a', False)", [(([1], 3), ("a", False))]),
        ("f([1, 2], k=3) == 5", [(([1, 2],), 5)]),
        ("Input: [1]\nOutput: 2", []),
        ("f([1]) == 2", []),
    ],
)
def test_two_arguments(text: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(text, TWO) == expected


@pytest.mark.parametrize(
    "text",
    [
        "f(n) == f(n-1) + f(n-2)",
        "f(x) returns True if x is prime",
        "f(x) -> int",
        "Returns -1 otherwise. If x is 3 or more return 4.",
        "There are 3 values. The result is 5 long.",
        "If x = 3 and k is negative, return 0",
        "The list [1, 2] has two elements.",
        "The string 'ab' is good while 'ba' is not.",
        "Returns True for 'abc'.",
        "For x = 3 the table is 4 long.",
        "Call f(3) and return 4 values",
        "f(3) = 4x + 2",
        'f(3) == ""a"',
        ">>> f(3)",
        "Don't f('it",
        "If the list is empty or has one element, return 0",
    ],
)
def test_nothing_is_read_where_nothing_is_stated(text: str) -> None:
    assert pairs(text) == []


def test_exceptions_are_read_from_tracebacks() -> None:
    doctest = ">>> f(-1)\nTraceback (most recent call last):\n    ...\nValueError: no\n"
    assert [(t.call, t.raises) for t in found(doctest)] == [(Call((-1,)), "ValueError")]


def test_setup_lines_are_put_into_the_expression() -> None:
    (test,) = found(">>> a = [3, 1]\n>>> f(a)\n[1, 3]")
    assert test.call == Call(([3, 1],))
    (test,) = found(">>> a = [3, 1]\n>>> f(a)\n>>> a\n[1, 3]", "def f(x): x.sort()") or [None]
    assert test is None or isinstance(test.call, Expression)


def test_names_that_do_not_exist_are_not_used() -> None:
    tests = found(
        ">>> from fractions import Fraction as F\n>>> f(F(1, 2))\n1\n\nThen:\n\n"
        ">>> import mod\n>>> mod.f(3)\n4\n>>> f(unknown)\n5\n>>> f(9)\n<object ...>\n"
        ">>> f(7)  # doctest: +SKIP\n8\n"
    )
    assert [t.call for t in tests] == [
        Expression("f(__import__('fractions', fromlist=['x']).Fraction(1, 2))"),
        Call((3,)),
    ]


def test_other_conditions_become_expressions() -> None:
    tests = found(
        "assert abs(f(3) - 1.5) < 1e-6\nassert set(f(4)) == {1, 2}\n>>> round(f(5), 2)\n0.5\n"
        "assert not f(6)\nassert math.isclose(f(7), 2.5, rel_tol=0.001)"
    )
    sources = [(t.call.source, t.expected) for t in tests if isinstance(t.call, Expression)]
    assert sources == [
        ("abs(f(3) - 1.5) < 1e-06", True),
        ("set(f(4))", {1, 2}),
        ("round(f(5), 2)", 0.5),
        ("bool(f(6))", False),
        ("abs(f(7) - 2.5) <= max(0.001 * abs(2.5), 0.0)", True),
    ]


def test_one_tuple_without_comma() -> None:
    text = "f(1) ==> ('a', 'b')\nf(2) ==> ('c')"
    assert pairs(text) == [((1,), ("a", "b")), ((2,), ("c",))]


def test_bare_words_are_strings_only_where_a_string_is_expected() -> None:
    assert pairs("f(abc) => False", "def f(x: str): ...") == [(("abc",), False)]
    assert pairs("You are given a string x. f(abc) => False") == [(("abc",), False)]
    assert pairs("f(abc) => False", "def f(x: int): ...") == []


def test_another_name_is_followed_when_the_own_name_is_never_used() -> None:
    assert pairs("assert sorter([2, 1]) => [1, 2]") == [(([2, 1],), [1, 2])]
    assert pairs("f(1) == 2\nother(3) == 4") == [((1,), 2)]


def test_round_trips_need_the_other_function() -> None:
    code = "def pack(s): return s\ndef unpack(s): ..."
    tests = found("takes a string encoded with pack function. Returns it.", code, "unpack")
    assert len(tests) >= 5
    assert all(
        isinstance(t.call, Expression) and t.call.source == f"unpack(pack({t.expected!r}))"
        for t in tests
    )
    assert found("takes a string encoded with pack.", "def unpack(s): ...", "unpack") == []


def test_trust_and_place() -> None:
    text = "Words.\nf(3) == 4\nf(5) ➞ 6"
    stated, worded = found(text)
    assert (stated.trust, worded.trust) == (Trust.STATED, Trust.WORDED)
    assert stated.span is not None
    assert text[slice(*stated.span)] == "f(3) == 4"
    assert stated.source == "description line 2"
    assert stated.confidence > worded.confidence


def test_contradictions_are_no_longer_certain() -> None:
    tests = read_examples("f(3) == 4\nf(3) ➞ 5\nf(4) == 5", "f", code="def f(x): ...")
    assert [(t.trust, t.expected) for t in tests] == [
        (Trust.HINT, 4),
        (Trust.HINT, 5),
        (Trust.STATED, 5),
    ]
    assert "contradicted by description line 2" in tests[0].source


def test_equal_numbers_do_not_contradict() -> None:
    assert pairs("f(3) == 4\nf(3) -> 4.0") == [((3,), 4)]


def test_types_that_the_signature_rules_out_are_dropped() -> None:
    code = "def f(x: list[int]) -> str: ..."
    assert pairs("f([1]) -> 'a'\nf(['b']) -> 'c'\nf([2]) -> 3", code) == [(([1],), "a")]


def test_code_gives_hints_only() -> None:
    code = (
        'def f(x):\n    """Adds.\n\n    >>> f(1)\n    3\n    """\n    return x + 2\n\n'
        "print(f(7))  # Output: 9\nassert f(5) == 7\nprint(f(6))  # eight\n"
    )
    tests = read_examples("Add one. f(0) == 1", "f", code=code)
    assert [(t.call, t.expected, t.trust) for t in tests] == [
        (Call((0,)), 1, Trust.STATED),
        (Call((7,)), 9, Trust.HINT),
        (Call((5,)), 7, Trust.HINT),
    ]


def test_the_docstring_is_not_a_hint_when_it_is_the_description() -> None:
    code = 'def f(x):\n    """Adds.\n\n    >>> f(1)\n    3\n    """\n'
    (test,) = read_examples("Adds.\n\n>>> f(1)\n3\n", "f", code=code)
    assert test.trust is Trust.STATED


def test_numpy_google_and_rest_docstrings() -> None:
    numpy = "Sum.\n\nParameters\n----------\nx : int\n\nExamples\n--------\n>>> f(1)\n2\n\nNotes\n"
    google = "Sum.\n\nArgs:\n    x: a number.\n\nExample:\n    f(1)  # 2\n"
    rest = "Sum.\n\n:param x: a number\n:returns: a number\n\n.. code-block::\n\n    f(1) == 2\n"
    for text in (numpy, google, rest):
        assert pairs(text) == [((1,), 2)]


def test_methods_are_read_from_doctests_as_expressions() -> None:
    code = "class A:\n    def f(self, x): ..."
    (test,) = found(">>> a = A()\n>>> a.f(3)\n4", code, "A.f")
    assert test.call == Expression("A().f(3)")


def test_hostile_text_is_only_text() -> None:
    deep = "f(" + "[" * 3000 + "]" * 3000 + ") == 1"
    assert pairs(deep + "\nf(9**9**9**9) == 1\nf(__import__('os').getcwd()) == 1\nf(2) == 3")[
        -1
    ] == (
        (2,),
        3,
    )
