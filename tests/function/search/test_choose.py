"""Choice among fixes: what speaks against an edit, which fixes are rivals, what is preserved."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from refute.core.problems import Call, UnitTest
from refute.function.search.choose import Cluster, clustered, shares
from refute.function.search.inputs import Tier
from refute.function.search.mutants import singles
from refute.function.search.repair import ELSEWHERE
from refute.function.search.trial import Trial
from refute.sandbox import Outcome, Returned
from refute.sandbox.local import LocalSandbox
from refute.sandbox.values import encode


def cluster(score: float, *values: int, kept: float = 0.9) -> Cluster:
    return Cluster([], tuple(map(out, values)), score, kept=kept)


def out(value: int) -> Outcome:
    return Returned(encode(value))


def test_what_goes_further_takes_nothing_from_the_firsts_share() -> None:
    before = tuple(map(out, (0, 0, 0, 0)))
    first = cluster(0.0, 1, 0, 0, 0)
    more, other = cluster(0.0, 1, 2, 0, 0), cluster(0.0, 2, 0, 0, 0)
    assert shares([first, more], before) == [1.0, 0.5]
    assert shares([first, more, other], before) == pytest.approx([1 / 2, 1 / 3, 1 / 3])
    first.kept = 0.1
    assert shares([first, more], before) == [0.5, 0.5], "where most must change, who knows"


def test_the_function_that_was_asked_about_is_changed_first() -> None:
    """However many likelier edits of a helper do the same on every input."""
    code = "def less(x):\n    return x - 1\n\ndef f(x):\n    return less(x) - 1\n"
    tests = (UnitTest(Call((5,)), 4),)
    with LocalSandbox() as box:
        trial = Trial(code, "f", tests, box, time.monotonic() + 60, max_candidates=500)
        own, rest = trial.parts()
        assert [[stmt.name for stmt in part.body] for part in (own, rest)] == [["f"], ["less"]]  # type: ignore[attr-defined]
        edits = singles(own, trial.facts(""), lambda stmts: 0.0)
        edits += singles(rest, trial.facts(""), lambda stmts: ELSEWHERE)
        found = [r for r in trial.run(((e,), e.weight) for e in edits) if r.fits]
        inside = [r for r in found if r.edits[0].line == 5]
        others = [r for r in found if r.edits[0].line == 2]
        assert len(others) >= 5
        survivors = [*others, replace(inside[0], weight=max(r.weight for r in others) + 0.1)]
        best = clustered(trial, survivors, [(Call((n,)), Tier.IN_DOMAIN) for n in range(9)])[0]
        assert best.best.edits == inside[0].edits
