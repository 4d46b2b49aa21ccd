"""The engine as its callers see it, on small programs of our own, in the real sandbox."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from refute.core.problems import (
    Call,
    Expression,
    FunctionProblem,
    Trust,
    UnitTest,
)
from refute.function.contract import Finding, Question
from refute.function.search.engine import find_crashes, search
from refute.sandbox import Outcome, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.local import LocalSandbox
from refute.sandbox.values import encode


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with LocalSandbox() as sandbox:
        yield sandbox


def problem(code: str, description: str = "", tests: tuple[UnitTest, ...] = ()) -> FunctionProblem:
    tree = ast.parse(code)
    name = next(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return FunctionProblem("own/1", description, name, name, code, tests)


SPREAD = """\
def spread(items):
    # largest minus smallest
    low  = min(items)
    high = min(items)   # <- here
    return high - low
"""


def test_a_bug_shown_by_examples_is_fixed_in_place(box: Sandbox) -> None:
    text = "Largest minus smallest.\n>>> spread([1, 5, 2])\n4\n>>> spread([3])\n0\n"
    result = search(problem(SPREAD, text), box=box)
    assert result.candidates[0].code == SPREAD.replace("high = min", "high = max")
    assert "line 4" in result.candidates[0].edits[0]
    assert result.failing[0].test.trust == Trust.STATED
    derived = [f.test for f in result.failing if f.test.trust == Trust.PREDICTED]
    assert derived
    for test in derived:
        (items,) = test.call.args  # type: ignore[union-attr]
        assert test.expected == max(items) - min(items)
        assert 0.5 <= test.confidence <= 1
    assert result.findings == ()


@pytest.mark.parametrize("more", ["", ">>> discount(80, 5)\n76.0\n"])
def test_what_an_edit_brings_in_needs_a_second_witness(box: Sandbox, more: str) -> None:
    """`bool(percent)` passes: it is 1 for every percent but 0."""
    code = "def discount(total, percent):\n    return total - total * percent / 10\n"
    text = f">>> discount(200, 10)\n180.0\n>>> discount(50, 0)\n50.0\n{more}"
    result = search(problem(code, text), box=box)
    assert not [one for one in result.failing if one.test.trust == Trust.PREDICTED]
    if result.candidates:
        assert any("which stands nowhere near" in one for one in result.reservations)
    assert bool(result.candidates) is not bool(more)


def test_partial_fixes_are_not_shown(box: Sandbox) -> None:
    code = "def f(a):\n    return a\n"
    tests = (
        UnitTest(Call((1,)), "one"), UnitTest(Call((2,)), "zwei"), UnitTest(Call((3,)), [3, 1, 4]),
    )  # fmt: skip
    result = search(problem(code, tests=tests), box=box, budget=1.5)
    assert result.candidates == ()
    assert len(result.failing) == 3
    assert "no fix is proposed" in " ".join(result.notes)


def test_a_hint_alone_asks_for_no_fix(box: Sandbox) -> None:
    code = "def double(a):\n    return a + 2\n\n\nassert double(3) == 6\n"
    result = search(problem(code, "Twice a number."), box=box)
    assert result.candidates == ()
    assert result.failing == ()


def test_a_fix_that_fails_the_modules_own_check_is_not_shown(box: Sandbox) -> None:
    code = "def inc(a):\n    return a - 1\n\n\nassert inc(0) == -1\n"
    tests = (UnitTest(Call((1,)), 2), UnitTest(Call((5,)), 6), UnitTest(Call((7,)), 8))
    result = search(problem(code, tests=tests), box=box, budget=3)
    for candidate in result.candidates:
        space: dict[str, object] = {}
        exec(candidate.code, space)  # the module loads: its own assert holds
    assert result.failing


def test_endless_loops_end_and_are_repaired_rightly(box: Sandbox) -> None:
    code = (
        "def digits(n):\n    count = 0\n    while n > 0:\n        n -= 0\n        count += 1\n"
        "    return count\n"
    )
    text = ">>> digits(305)\n3\n>>> digits(7)\n1\n>>> digits(0)\n0\n"
    result = search(problem(code, text), box=box, max_candidates=30)
    assert isinstance(result.failing[0].actual, TimedOut)
    assert result.tried > 10, "stuck candidates do not use up the budget"
    if result.candidates:
        space: dict[str, object] = {}
        exec(result.candidates[0].code, space)  # our own program, fixed by our own edits
        assert space["digits"](305) == 3  # type: ignore[operator]


def test_the_same_seed_and_count_give_the_same_result(box: Sandbox) -> None:
    text = ">>> spread([1, 5, 2])\n4\n"
    first, second = (
        search(problem(SPREAD, text), box=box, seed=3, max_candidates=400) for _ in range(2)
    )
    assert first.tried == second.tried
    assert first.candidates == second.candidates
    assert first.failing == second.failing
    assert first.question == second.question


def test_one_example_that_fits_many_programs_is_not_enough(box: Sandbox) -> None:
    code = "def odd(a, b):\n    return a % 2 == b\n"
    one = (UnitTest(Call((3, 4)), True),)
    result = search(problem(code, tests=one), box=box)
    assert result.candidates == ()
    assert [f.test.trust for f in result.failing] == [Trust.STATED]
    assert "one example" in " ".join(result.notes)


def test_an_unlikely_fix_is_only_proposed_where_one_number_asks_for_it(box: Sandbox) -> None:
    one = (UnitTest(Call(([11, 2, 30, 47, 5], 3)), 43),)
    code = "def f(items, k):\n    return sum(items)\n"
    result = search(problem(code, tests=one), box=box, max_candidates=600)
    assert "items[:k]" in result.candidates[0].code
    assert result.state == "proposed"
    assert "one example does not say enough" in result.reservations[0]


def test_what_makes_the_arguments_of_a_test_is_taken_as_right(box: Sandbox) -> None:
    """A coder that does nothing is undone by anything: the likelier edit, and the wrong one."""
    code = "def unpack(s):\n    return pack(s)\n\n\n"
    code += "def pack(s):\n    return s[1:] + s[:1] if len(s) == 3 else s\n"
    given = tuple(UnitTest(Expression(f"unpack(pack({s!r}))"), s) for s in ("abc", "xyz", "a", ""))
    result = search(problem(code, tests=given), box=box, max_candidates=600)
    assert "pack(pack(s))" in result.candidates[0].code
    assert all("len(s) == 3" in candidate.code for candidate in result.candidates)


def test_an_answer_prunes_the_candidates(box: Sandbox) -> None:
    asked: list[Question] = []

    def ask(question: Question) -> bool:
        asked.append(question)
        a, b = question.call.args  # type: ignore[union-attr]
        return bool(a >= b)

    code = "def above(a, b):\n    return a < b\n"
    given = (UnitTest(Call((3, 1)), True), UnitTest(Call((1, 3)), False))
    silent = search(problem(code, tests=given), box=box)
    assert len(silent.question.outputs) == len(silent.candidates) > 1
    result = search(problem(code, tests=given), box=box, ask=ask)
    assert asked
    assert "a >= b" in result.candidates[0].code
    assert any(test.source == "your answer" for test in result.given)


def run(code: str, *cases: tuple[tuple[object, ...], Outcome]) -> list[Finding]:
    problem = FunctionProblem("p", "", "", "f", code)
    return find_crashes(problem, [Call(args) for args, _ in cases], [out for _, out in cases])


def value(one: object) -> Returned:
    return Returned(encode(one))


def test_a_name_that_nothing_binds_is_a_bug_on_any_input() -> None:
    out = Raised("NameError", "name 'lenght' is not defined", 2)
    code = "def f(xs):\n    return lenght"
    (finding,) = run(code, ((None,), out))
    assert finding.kind == "crash"
    assert run("from x import *\n" + code, ((None,), out)) == []
    optional = "try:\n    import lenght\nexcept ImportError:\n    pass\n" + code
    assert run(optional, ((None,), out)) == [], "it is there where that is installed"


def test_a_program_that_does_not_load() -> None:
    out = Raised("SyntaxError", "invalid syntax", 1, on_import=True)
    (finding,) = run("def f(xs:", ((1,), out))
    assert "when it is loaded" in finding.reason
    missing = Raised("ModuleNotFoundError", "No module named 'x'", 1, on_import=True)
    assert run("import x\ndef f(): ...", ((), missing)) == []
