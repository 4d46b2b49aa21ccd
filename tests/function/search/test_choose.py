"""Choice among fixes: what speaks against an edit, which fixes are rivals, what is preserved."""

from __future__ import annotations

import ast

import pytest

from refute.function.search.choose import Cluster, rivals
from refute.function.search.confidence import of_fix, of_test
from refute.function.search.suspicion import Suspicion, suspicions
from refute.sandbox import Outcome, Returned
from refute.sandbox.values import encode

MODULE = """\
LIMIT = 50

def helper(x):
    return x + 1

def f(xs, key=None):
    if key is None:
        return helper(xs[0])
    while xs[0] > LIMIT:
        xs = xs[1:]
    return key(xs[0])
"""


def said(old: str, new: str) -> str:
    assert old in MODULE
    after = ast.parse(MODULE.replace(old, new))
    return "; ".join(one.text for one in suspicions(ast.parse(MODULE), after, "f"))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("xs[0] > LIMIT", "xs[0] >= LIMIT", ""),
        ("x + 1", "x + 2", "changes helper"),
        ("LIMIT = 50", "LIMIT = 49", "outside of functions"),
        ("return key(xs[0])", "return xs[0]", ""),
        ("key is None", "key is not None", "`key is None` is turned round"),
        ("key is None", "True", "`True` depends on nothing"),
        ("xs[0] > LIMIT", "LIMIT > LIMIT", "`LIMIT > LIMIT` depends on nothing"),
    ],
)
def test_what_speaks_against_an_edit(old: str, new: str, text: str) -> None:
    assert (text in said(old, new)) if text else not said(old, new)


def test_a_parameter_that_is_read_no_more() -> None:
    before = ast.parse("def f(a, b):\n    return a * b")
    after = ast.parse("def f(a, b):\n    return a * 1")
    assert [one.text for one in suspicions(before, after, "f")] == [
        "`b` would have no effect any more"
    ]


def cluster(score: float, *values: int, kept: float = 0.9) -> Cluster:
    return Cluster([], tuple(map(out, values)), score, kept=kept)


def out(value: int) -> Outcome:
    return Returned(encode(value))


def test_what_changes_more_than_it_must_is_no_rival() -> None:
    before = tuple(map(out, (0, 0, 0, 0)))
    first = cluster(0.0, 1, 0, 0, 0)
    more, other = cluster(-0.5, 1, 2, 0, 0), cluster(-0.5, 2, 0, 0, 0)
    unlikely = cluster(-5.0, 2, 0, 0, 0)
    assert rivals([first, more, other, unlikely], before) == [first, other]
    first.kept = 0.1
    assert rivals([first, more], before) == [first, more], "where most must change, who knows"


def test_confidence_grows_with_what_speaks_for_a_fix() -> None:
    plain, better = cluster(-2.0, 1), cluster(0.0, 1)
    assert 0 < of_fix(plain, 0.5, 1) < of_fix(better, 0.5, 1) < 1
    assert of_fix(plain, 0.5, 1) < of_fix(plain, 0.9, 1) <= of_fix(plain, 1.0, 1)
    assert of_fix(plain, 0.5, 1) <= of_fix(plain, 0.5, 3)
    doubted = cluster(0.0, 1)
    doubted.suspicions = (Suspicion("why", -1.0),)
    assert of_fix(doubted, 0.5, 1) < of_fix(better, 0.5, 1)
    assert of_test(0.5, 2, inside=True) < of_test(0.9, 2, inside=True) < 1
    assert of_test(0.9, 1, inside=True) < of_test(0.9, 3, inside=True)
    assert of_test(0.9, 3, inside=False) < of_test(0.9, 3, inside=True)
