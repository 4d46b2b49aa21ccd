"""Grading: programs, generated tests, ground truth and its cache, metrics, given failing tests."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.problems import (
    Call,
    Expression,
    FunctionKey,
    FunctionPrediction,
    FunctionProblem,
    UnitTest,
)
from refute.sandbox import NotRun
from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import (
    Grade,
    ProgramGrade,
    TestGrade,
    TestVerdict,
    expected_outputs,
    grade_prediction,
    grade_program,
    grade_tests,
    metrics,
    with_failing_tests,
)

RIGHT = "def half(x):\n    return x / 2\n"
FAULTY = "def half(x):\n    return x // 2\n"
KEY = FunctionKey(
    id="t/half",
    entry_point="half",
    reference=RIGHT,
    inputs=((2,), (3,), (4,), (7,)),
    contract='\n    assert x >= 0, "invalid"\n',
)
PROBLEM = FunctionProblem("t/half", "Half of x.", "half(x)", "half", FAULTY)


pytestmark = pytest.mark.usefixtures("cache")


# -- programs --------------------------------------------------------------------------------------


def test_the_reference_passes_and_the_faulty_code_does_not(box: LocalSandbox) -> None:
    assert grade_program(RIGHT, KEY, box).passed
    grade = grade_program(FAULTY, KEY, box)
    assert grade.verdicts == (True, False, True, False)
    assert (grade.passed, grade.pass_rate) == (False, 0.5)


@pytest.mark.parametrize(
    "source",
    [
        "def half(x:\n",
        "raise SystemExit\ndef half(x): return x / 2",
        "def other(x): return x / 2",
        "",
        "half = 3",
        "def half(x): raise SystemExit",
        "import os\ndef half(x): os._exit(0)",
    ],
)
def test_broken_programs_fail_everything(box: LocalSandbox, source: str) -> None:
    assert grade_program(source, KEY, box).verdicts == (False,) * 4


def test_a_slow_call_costs_the_others_nothing(box: LocalSandbox) -> None:
    source = RIGHT.replace("return", "while x == 3: pass\n    return")
    assert grade_program(source, KEY, box).verdicts == (True, False, True, True)


def test_checkers_and_tolerance(box: LocalSandbox) -> None:
    key = FunctionKey(
        "t/u", "u", "def u(x): return sorted(set(x))", (([3, 1, 3],),), checker="same_set"
    )
    assert grade_program("def u(x): return x", key, box).passed
    assert not grade_program("def u(x): return x", replace(key, checker=None), box).passed
    source = "def r(c): return -c[0] / c[1]"
    root = FunctionKey("t/r", "r", source, (([1, 2],),), atol=1e-4, checker="polynomial_root")
    assert grade_program("def r(c): return -0.50001", root, box).passed
    assert not grade_program("def r(c): return -0.6", root, box).passed


# -- ground truth ----------------------------------------------------------------------------------


def test_truth_is_cached_by_content(box: LocalSandbox, cache: Path) -> None:
    first = expected_outputs(KEY, box)
    (file,) = (cache / "truth").iterdir()

    class NoBox(LocalSandbox):
        def run(self, *args: object, **kwargs: object) -> list:
            raise AssertionError("the cache was not used")

    again = expected_outputs(KEY, NoBox())
    assert [e.data for e in again.expected] == [e.data for e in first.expected]
    assert again.limits == first.limits
    with pytest.raises(AssertionError, match="cache was not used"):
        expected_outputs(replace(KEY, inputs=((9,),)), NoBox())
    file.write_bytes(b"torn")
    assert len(expected_outputs(KEY, box).expected) == 4


def test_slow_calls_of_the_reference_get_more_time(box: LocalSandbox) -> None:
    slow = "import time\ndef half(x):\n    t = time.process_time()\n    while x == 3 and time.process_time() < t + 0.4: pass\n    return x / 2\n"  # noqa: E501
    truth = expected_outputs(replace(KEY, reference=slow), box)
    assert [limits.cpu for limits in truth.limits] == [1.0, 4.0, 1.0, 1.0]
    assert [e.value for e in truth.expected] == [1.0, 1.5, 2.0, 3.5]


def test_inputs_on_which_the_reference_raises_are_named_and_left_out(box: LocalSandbox) -> None:
    key = replace(KEY, inputs=((2,), ("x",), (4,)))
    for _ in range(2):  # computed, then from the cache
        truth = expected_outputs(key, box)
        assert [index for index, _ in truth.invalid] == [1]
        assert "TypeError" in truth.invalid[0][1]
        assert len(truth.calls) == 2
    with pytest.raises(ValueError, match="t/half: the reference returns for none"):
        expected_outputs(replace(KEY, inputs=(("x",),)), box)


# -- unit tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        (UnitTest(Call((3,)), 1.5), TestVerdict(True, True, True)),
        (UnitTest(Call((3,)), 1), TestVerdict(True, True, False)),
        (UnitTest(Call((4,)), 2), TestVerdict(True, False, True)),
        (UnitTest(Call((), {"x": 3}), 1.5), TestVerdict(True, True, True)),
        (UnitTest(Expression("half(3) * 2"), 3), TestVerdict(True, True, True)),
        (UnitTest(Call((-3,)), -1.5), TestVerdict(False, False, False)),  # against the contract
        (UnitTest(Call((-3,)), raises="AssertionError"), TestVerdict(False, False, False)),
        (UnitTest(Call(("x",)), 1), TestVerdict(False, False, False)),
        (UnitTest(Call((object(),)), 1), TestVerdict(False, False, False)),
        (UnitTest(Call((3,)), raises="ValueError"), TestVerdict(True, True, False)),
    ],
)
def test_verdict_of_a_test(box: LocalSandbox, test: UnitTest, verdict: TestVerdict) -> None:
    assert grade_tests([test], PROBLEM, KEY, box).verdicts == (verdict,)


def test_crashes_of_the_faulty_code_are_attacks(box: LocalSandbox) -> None:
    for body in ("return 1 / 0", "while 1: pass", "import os; os._exit(3)", "return x.__iter__"):
        problem = replace(PROBLEM, code=f"def half(x):\n    {body}\n")
        grade = grade_tests([UnitTest(Call((4,)), 2)], problem, KEY, box)
        assert grade.both == 1, body


# -- predictions and given failing tests -----------------------------------------------------------


def test_predictions(box: LocalSandbox) -> None:
    fixed = FunctionPrediction("t/half", "fixed", (FAULTY, RIGHT), (UnitTest(Call((3,)), 1.5),))
    grade = grade_prediction(fixed, PROBLEM, KEY, box)
    assert (grade.passed, grade.passed_top3, grade.fixed) == (False, True, True)
    assert grade.tests.both == 1
    late = replace(fixed, candidates=(FAULTY, FAULTY, FAULTY, RIGHT))
    assert not grade_prediction(late, PROBLEM, KEY, box).passed_top3
    abstained = grade_prediction(FunctionPrediction("t/half", "abstained"), PROBLEM, KEY, box)
    assert (abstained.passed, abstained.fixed, abstained.programs[0].pass_rate) == (
        False,
        False,
        0.5,
    )


def test_given_failing_tests_are_right_and_failing(box: LocalSandbox) -> None:
    problem = with_failing_tests(PROBLEM, KEY, box, 1)
    assert [(t.call, t.expected) for t in problem.tests] == [(Call((3,)), 1.5)]
    assert grade_tests(problem.tests, PROBLEM, KEY, box).both == 1
    assert len(with_failing_tests(PROBLEM, KEY, box, 5).tests) == 2
    right = replace(PROBLEM, code=RIGHT)
    assert with_failing_tests(right, KEY, box, 3) == right


# -- metrics ---------------------------------------------------------------------------------------


def made(problem: str, tests: list[tuple[bool, bool]], passed: list[bool], fixed: bool) -> Grade:
    verdicts = tuple(TestVerdict(True, attacks, accurate) for attacks, accurate in tests)
    programs = tuple(ProgramGrade(p, (p, True), ()) for p in passed)
    return Grade(problem, TestGrade(verdicts), programs, fixed)


def test_metrics() -> None:
    grades = [
        made("a", [(True, True), (True, False)], [True], True),
        made("b", [(False, True)], [False, True], True),
        made("c", [], [False], False),
        made("d", [(True, True)], [True], True),
    ]
    figures = metrics(grades)
    assert figures["attack_rate"].value == 3 / 4
    assert figures["output_accuracy"].value == 3 / 4
    assert figures["accuracy_and_attack"].value == 2 / 4
    assert figures["code_accuracy"].value == 2 / 4
    assert figures["code_accuracy_top3"].value == 3 / 4
    assert figures["tested"].value == 3 / 4
    assert figures["hit_rate"].value == 2 / 4
    assert figures["fix_precision"].value == 2 / 3
    assert figures["pass_rate"].value == (1 + 0.5 + 0.5 + 1) / 4
    assert figures["code_accuracy"].stderr == pytest.approx(math.sqrt((4 / 4) / 3 / 4))


def test_a_program_that_sleeps_in_each_call_is_given_up(
    box: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute_lab.benches.grade.RUN_WALL", 1.0)
    key = replace(KEY, inputs=tuple((n,) for n in range(100)))
    sleeps = RIGHT.replace("    return", "    __import__('time').sleep(0.5)\n    return")
    began = time.monotonic()
    grade = grade_program(sleeps, key, box)
    assert time.monotonic() - began < 15
    assert not grade.passed
    assert grade.verdicts[0]
    assert isinstance(grade.outcomes[-1], NotRun)


# -- outputs that cannot be compared ---------------------------------------------------------------

FACTORY = FunctionKey(
    id="t/adder",
    entry_point="f",
    reference="def f(n):\n    return lambda x: x + n\n",
    inputs=((1,),),
)
DEEP = "def f(n):\n    a = n\n    for _ in range(200): a = [a]\n    return a\n"


@pytest.mark.parametrize("reference", [FACTORY.reference, DEEP])
def test_an_output_that_cannot_be_compared_is_the_problems_error(
    box: LocalSandbox, reference: str
) -> None:
    key = replace(FACTORY, reference=reference)
    for _ in range(2):  # computed, then from the cache
        with pytest.raises(ValueError, match="cannot compare the output of input 1"):
            expected_outputs(key, box)
    found = replace(PROBLEM, code=reference, entry_point="f")
    grade = grade_tests([UnitTest(Call((1,)), 1)], found, key, box)
    assert grade.verdicts == (TestVerdict(False, False, False),)


# -- the real data ---------------------------------------------------------------------------------


def test_canonical_solutions_pass_and_faulty_code_fails(box: LocalSandbox, data_dir: Path) -> None:
    from refute_lab.datasets import load

    for item in load("mbpp+", data=data_dir, limit=5) + load("humaneval+", data=data_dir, limit=2):
        assert grade_program(item.problem.code, item.key, box).passed, item.problem.id
    for item in load("he-fix", data=data_dir, limit=3):
        assert not grade_program(item.problem.code, item.key, box).passed, item.problem.id


def test_the_released_codes_rules_of_grading(box: LocalSandbox, data_dir: Path) -> None:
    """Imports stand before the code under test; " set(" anywhere means a comparison of sets."""
    from refute_lab.datasets import load

    ids = ("473", "608")
    rates = {
        rules: [
            round(100 * grade_program(item.problem.code, item.key, box).pass_rate)
            for item in load("mbpp-fix-hard", data=data_dir, ids=ids, evaluation=rules)
        ]
        for rules in ("evalplus", "paper")
    }
    assert rates == {"evalplus": [0, 2], "paper": [65, 51]}
