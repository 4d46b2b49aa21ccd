"""Examples that the prompts of HumanEval tell in words, on texts of our own."""

from __future__ import annotations

from typing import Any

import pytest

from refute.core.problems import Call, Trust
from refute_lab.datasets.originfmt import prompt_examples


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
