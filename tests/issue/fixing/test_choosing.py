"""Which drafted fix is the best, when it may be called fixed, and what is handed in as a fix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refute.issue.contract import DraftedFix
from refute.issue.original import fix_submission
from refute.issue.proving import Review, kinds_of, read_review, shortcomings

from ..projects import FIX

GREEN = frozenset({"0 tests/a.py::test_a", "2 tests/a.py::test_b"})
RIGHT = DraftedFix("right", answers=2, score=2.0, green=GREEN)
SURE = Review(0, complete=True, determined=True)


@pytest.mark.parametrize(
    ("fix", "others", "review", "said"),
    [
        (replace(RIGHT, answers=1), (), SURE, "only one answer"),
        (replace(RIGHT, green=frozenset({"0 t::a", "0 t::b"})), (), SURE, "of 1 draft turn"),
        (replace(RIGHT, red=frozenset({"3 t::c"})), (), SURE, "stay red"),
        (RIGHT, (), "no question was left", "no question"),
        (RIGHT, (), replace(SURE, complete=False), "not do all"),
        (RIGHT, (), replace(SURE, determined=False), "leaves open"),
        (RIGHT, (DraftedFix("x", green=GREEN | {"4 t::d"}),), SURE, "another fix"),
    ],
)
def test_what_is_wanting(
    fix: DraftedFix, others: tuple[DraftedFix, ...], review: Review | str, said: str
) -> None:
    kinds = kinds_of([fix, *others])
    kind = next(one for one in kinds if one.best is fix)
    (line,) = shortcomings(kind, kinds, review)
    assert said in line


@pytest.mark.parametrize(
    ("answer", "review"),
    [
        ("Because.\nBEST: 2\nCOMPLETE: yes\nDETERMINED: no", Review(1, True, False)),
        ("BEST: 9\n**COMPLETE: yes**\n- DETERMINED: Yes", Review(None, True, True)),
        ("COMPLETE: no\nrather\nCOMPLETE: yes", Review(None, True, False)),
        ("BEST: 1", Review(0, False, False)),
        ("The first is complete and determined.", "the answer of the review could not be read"),
    ],
)
def test_a_reviewers_answer(answer: str, review: Review | str) -> None:
    assert read_review(answer, 2) == review


@pytest.mark.parametrize(
    ("line", "places"),
    [("1, 3-4", {0, 2, 3}), ("all of them", {0, 1, 2, 3, 4}), ("none", set()), ("2, 9", {1})],
)
def test_tests_that_a_reviewer_calls_outdated(line: str, places: set[int]) -> None:
    review = read_review(f"BEST: 1\nOUTDATED: {line}", 1, 5)
    assert isinstance(review, Review)
    assert review.outdated == places


def test_a_fix_is_handed_in_without_tests() -> None:
    test = (
        "diff --git a/tests/conftest.py b/tests/conftest.py\n--- a/tests/conftest.py\n"
        "+++ b/tests/conftest.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    )
    found = fix_submission("x", FIX + test, "", "ended early")
    assert found.patch == FIX
    assert found.notes == ("ended early", "left out, no code: tests/conftest.py")
    assert fix_submission("x", test).notes[-1] == "no code was changed"
