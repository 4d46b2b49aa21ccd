"""Programs that pass their examples and break what their description implies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from refute.function.contract import MethodResult
from refute.function.search import search
from refute.function.search.properties import properties
from refute.problems import Call, FunctionProblem, UnitTest
from refute.sandbox import Program, Sandbox
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.local import LocalSandbox


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with LocalSandbox() as sandbox:
        yield sandbox


def solved(box: Sandbox, code: str, text: str, test: UnitTest) -> MethodResult:
    name = code.split("def ")[1].split("(")[0]
    problem = FunctionProblem("own/1", text, name, name, code, (test,))
    return search(problem, box=box, max_candidates=1200)


def agrees(box: Sandbox, result: MethodResult, name: str, *rows: tuple[Call, object]) -> bool:
    program = Program(result.candidates[0].code, name)
    outcomes = box.run(program, [call for call, _ in rows])
    tests = [UnitTest(call, expected) for call, expected in rows]
    return all(matches(o, expect_test(t)) for o, t in zip(outcomes, tests, strict=True))


EMPTIES = """\
def drop_small(items):
    for item in items:
        if item < 10:
            items.remove(item)
    return items
"""


def test_what_is_removed_stays_removed(box: Sandbox) -> None:
    test = UnitTest(Call(([1, 20, 3, 40],)), [20, 40])
    result = solved(box, EMPTIES, "Remove the numbers below ten.", test)
    assert result.candidates[0].code == EMPTIES.replace("in items:", "in list(items):")
    assert any("“remove”" in note for note in result.notes)
    assert [f.kind for f in result.findings] == ["contradiction"]
    assert result.failing == ()


def test_the_same_program_is_left_alone_without_the_word(box: Sandbox) -> None:
    test = UnitTest(Call(([1, 20, 3, 40],)), [20, 40])
    result = solved(box, EMPTIES, "Work on the numbers.", test)
    assert (result.candidates, result.findings) == ((), ())


UNIQUE = "def unique(items):\n    return sorted({})\n"


def test_the_distinct_ones_are_distinct(box: Sandbox) -> None:
    text, test = "Return the distinct items, sorted.", UnitTest(Call(([3, 1],)), [1, 3])
    result = solved(box, UNIQUE.format("items"), text, test)
    assert [f.kind for f in result.findings] == ["contradiction"]
    assert agrees(box, result, "unique", (Call(([3, 1, 3, 2],)), [1, 2, 3]), (Call(([],)), []))


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        ("set(items)", "Return the distinct items, sorted."),
        ("x for x in items if x % 2", "Return a sorted list of the odd items."),
        ("x for x in items if x not in (2, 5)", "Sort the items without 2 and 5."),
    ],
)
def test_where_items_are_chosen_none_is_lost(box: Sandbox, kept: str, text: str) -> None:
    result = solved(box, UNIQUE.format(kept), text, UnitTest(Call(([3, 1],)), [1, 3]))
    assert result.candidates == ()


@pytest.mark.parametrize(
    ("code", "text", "args", "expected"),
    [
        ("def f(a, b):\n    return (a + b) / 2\n", "The middle of a and b.", (3, 5), 4),
        ("def f(n):\n    return n * (n + 1) / 2\n", "The sum of the first n.", (3,), 6),
        ("def f(n):\n    return n ** 0.5 % 1 == 0\n", "Check for a square.", (16,), True),
        ("def f(xs):\n    return len(max(xs))\n", "The length of the maximum.", (["ab"],), 2),
        ("def f(n):\n    return sum(map(int, str(n)))\n", "The sum of the digits.", (12,), 3),
    ],
)
def test_what_right_programs_do_is_left_alone(
    box: Sandbox, code: str, text: str, args: tuple[object, ...], expected: object
) -> None:
    result = solved(box, code, text, UnitTest(Call(args), expected))
    assert (result.candidates, result.findings) == ((), ())


CHECKED = """\
def first_n(items, n):
    if n > len(items):
        raise ValueError("not so many")
    return items[:n]
"""


def test_arguments_that_nobody_excluded_are_answered(box: Sandbox) -> None:
    test = UnitTest(Call(([4, 5, 6], 2)), [4, 5])
    result = solved(box, CHECKED, "The n first elements of a list.", test)
    assert "raise" not in result.candidates[0].code
    assert [f.kind for f in result.findings] == ["crash"]


@pytest.mark.parametrize("text", ["The n first elements; raises ValueError otherwise.", None])
def test_a_check_that_its_author_describes_stays(box: Sandbox, text: str | None) -> None:
    own = "The n first elements."
    code = CHECKED.replace(":\n    if", f':\n    """{own}"""\n    if', 1)
    result = solved(box, code, text or own, UnitTest(Call(([4, 5, 6], 2)), [4, 5]))
    assert result.candidates == ()


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("The highest power of two less than or equal to n.", "p * 2 < n", "p * 2 <= n"),
        ("The sum of the squares from 1 to n.", "range(1, n)", "range(1, n + 1)"),
        ("The words longer than n.", "len(w) >= n", "len(w) > n"),
    ],
)
def test_bounds_that_the_description_states(
    box: Sandbox, text: str, wrong: str, right: str
) -> None:
    code = {
        "p * 2 < n": "def f(n):\n    p = 1\n    while p * 2 < n:\n        p *= 2\n    return p\n",
        "range(1, n)": "def f(n):\n    return sum(i * i for i in range(1, n) if i < 4)\n",
        "len(w) >= n": "def f(n, s):\n    return [w for w in s.split() if len(w) >= n]\n",
    }[wrong]
    test = {
        "p * 2 < n": UnitTest(Call((10,)), 8),
        "range(1, n)": UnitTest(Call((9,)), 14),
        "len(w) >= n": UnitTest(Call((2, "a green apple")), ["green", "apple"]),
    }[wrong]
    result = solved(box, code, text, test)
    assert result.candidates[0].code == code.replace(wrong, right)


def test_properties_need_examples_that_agree() -> None:
    text = "Remove what is too small, then sort the rest."

    def names(expected: list[int]) -> set[str]:
        test = UnitTest(Call(([3, 1, 2],)), expected)
        problem = FunctionProblem("own/1", text, "f", "f", "def f(items): ...", (test,))
        return {one.name for one in properties(problem, [test])}

    assert {"order kept", "once"} <= names([3, 2])
    assert "order kept" not in names([2, 3])
    assert "in order" in names([2, 3])
    assert "in order" not in names([3, 2])


def test_the_first_occurrence_has_none_before_it(box: Sandbox) -> None:
    code = (
        "def place(items, x):\n    found = -1\n    for i in range(len(items)):\n"
        "        if items[i] == x:\n            found = i\n    return found\n"
    )
    text = "Find the first occurrence of x."
    result = solved(box, code, text, UnitTest(Call(([4, 5, 6], 5)), 1))
    assert agrees(box, result, "place", (Call(([5, 5, 6], 5)), 0), (Call(([1], 5)), -1))


@pytest.mark.parametrize(
    ("text", "args", "expected", "name"),
    [
        ("The sum of adjacent numbers.", ([2, 3],), 5, None),
        ("The number of equal ones of two.", (2, 3), 0, "symmetric"),
        ("The difference of two numbers.", (3, 2), 1, None),
    ],
)
def test_words_that_imply_a_property(
    text: str, args: tuple[object, ...], expected: object, name: str | None
) -> None:
    test = UnitTest(Call(args), expected)
    problem = FunctionProblem("own/1", text, "f", "f", "def f(*args): ...", (test,))
    found = {one.name for one in properties(problem, [test])}
    assert found == (set() if name is None else {name})
