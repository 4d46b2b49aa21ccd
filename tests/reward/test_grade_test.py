"""`refute_lab.rewards.grade_test`: what a generated test is worth."""

from __future__ import annotations

import pytest

from refute.errors import InputError
from refute.sandbox.local import LocalSandbox
from refute_lab.rewards import Test, grade_test

REFERENCE = "def f(x):\n    return x * 2\n"
FAULTY = ("def f(x):\n    return x * 2 if x < 10 else 0\n", "def f(x): return 0")


@pytest.mark.parametrize(
    ("test", "attack", "accuracy", "both"),
    [
        (Test((3,), expected=6), 0.5, 1, 0.5),
        (Test((13,), expected=26), 1, 1, 1),
        (Test((13,), expected=0), 1, 0, 0),
        (Test((None,), raises="TypeError"), 0.5, 1, 0.5),
        ("assert f(3) == 6", 0.5, 1, 0.5),
        ("assert f(13) == 26", 1, 1, 1),
        ("assert f(13) == 0", 1, 0, 0),
        ("def check(candidate):\n    assert candidate(0) == 0", 0, 1, 0),
        ("assert f(13) == f(13)", 1, 0, 0),
        ("def test_f():\n    f(13)", 1, 0, 0),
        ("assert True", 0, 0, 0),
        ("def test_f(:", 0, 0, 0),
    ],
)
def test_attack_accuracy_and_both(
    box: LocalSandbox, test: Test | str, attack: float, accuracy: float, both: float
) -> None:
    found = grade_test(test, REFERENCE, FAULTY, entry_point="f", box=box)
    assert (found.attack, found.accuracy, found.both) == (attack, accuracy, both), found.reason
    assert (found.reason == "") == (accuracy == 1)


def test_what_a_generator_writes_is_never_an_error_of_ours(box: LocalSandbox) -> None:
    found = grade_test("assert f(lambda: 1)", REFERENCE, FAULTY, entry_point="f", box=box)
    assert found.both == 0
    assert "cannot cross" in found.reason
    with pytest.raises(InputError, match="at least one faulty"):
        grade_test("assert f(1)", REFERENCE, [], box=box)
