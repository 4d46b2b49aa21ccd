"""`refute fix`: a fix is proven by its own red tests, and written only where it is sure."""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from refute.core.methods import Bounds
from refute.core.problems import IssuePrediction
from refute.doors import command_line
from refute.issue.contract import Bounded, DraftedFix, FixClaim, Reproduction
from refute.issue.proving import Kind, Review, _claimed, proven_fix
from refute.issue.vet import Vetted
from refute.models.contract import Message
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute.verbs.fix import FixResult, confirmed_in
from refute.workspace.contract import TestResult
from refute_lab.benches.issues import IssueBenchSettings, _record
from refute_lab.runs import ErrorRecord
from refute_lab.swt.repair import FixGrade, FixRecord, FixStatus
from refute_lab.verbs.bench import IssueBenchResult
from refute_lab.verbs.grade import FixGradeResult

from ..projects import FIX, GOLDEN_TESTS, Project

REVIEW = "BEST: 1\nCOMPLETE: yes\nDETERMINED: yes"
GREEN = frozenset({"0 tests/test_line.py::test_above", "1 tests/test_line.py::test_above"})
INSIDE = "tests/test_line.py::test_inside"
BREAKS = FIX.replace(
    "+        return high", "+        return high\n+    if value == 3:\n+        return 4"
).replace("-6,5 +6,5", "-6,5 +6,7")
RIGHT = DraftedFix(FIX, answers=2, score=2.0, green=GREEN)


def proven(
    project: Project,
    *fixes: DraftedFix,
    review: str = REVIEW,
    calls: int = 1,
    tests: str = GOLDEN_TESTS,
    asked: list[str] | None = None,
) -> Reproduction:
    def said(messages: list[Message], index: int) -> str:
        assert "def test_" not in messages[-1].content, "the reviewer sees no tests"
        (asked if asked is not None else []).append(messages[-1].content)
        return review

    async def work() -> Reproduction:
        async with Session(ScriptedModel(said)) as session:  # type: ignore[arg-type]
            bounds = Bounds(calls=calls)
            asking = Bounded(session.asker(project.problem.id), bounds)
            found = Reproduction(IssuePrediction(project.problem.id, tests), fixes=fixes)
            with project.spawn() as workspace:
                return await proven_fix(
                    project.problem, found, asking, workspace, bounds, issue=project.problem.text
                )

    return asyncio.run(work())


def test_a_fix_that_its_tests_turn_green(project: Project, tmp_path: Path) -> None:
    found = proven(project, RIGHT)
    assert found.claim is not None
    assert found.claim.state == "fixed", found.claim
    assert "failed before the fix and pass now" in found.claim.reasons[0]
    assert (found.prediction.patch, found.claim.tests) == (FIX, GOLDEN_TESTS)
    assert found.claim.failing
    unsure = replace(found.claim, state="proposed")
    assert FixResult("m", found, unsure).write(tmp_path) == ()


@pytest.mark.parametrize(
    ("outdated", "tests", "green", "state", "said"),
    [
        ("1", GOLDEN_TESTS, GREEN, "fixed", f"existing tests demand: {INSIDE}"),
        ("all", "", frozenset(), "proposed", f"existing tests demand: {INSIDE}"),
    ],
)
def test_existing_tests_that_a_fix_breaks(
    project: Project, outdated: str, tests: str, green: frozenset[str], state: str, said: str
) -> None:
    asked: list[str] = []
    fix = replace(RIGHT, patch=BREAKS, green=green)
    found = proven(project, fix, review=f"{REVIEW}\nOUTDATED: {outdated}", tests=tests, asked=asked)
    assert f"1:{INSIDE}: failed in call" in asked[0]
    assert found.claim is not None
    assert found.claim.state == state, found.claim
    assert any(said in reason for reason in found.claim.reasons), found.claim


def test_broken_tests_that_nobody_calls_wrong_are_named() -> None:
    inside = TestResult(INSIDE, "tests/test_line.py", "failed")
    vetted = Vetted("breaks tests", "1 test passed before the fix and fail now", broken=(inside,))
    kinds = [Kind((RIGHT,))]
    state, (reason,) = _claimed(kinds[0], kinds, Review(0, True, True), vetted, [])
    assert state == "proposed"
    assert reason.endswith(f"fail now ({INSIDE})")
    blind = [Kind((replace(RIGHT, green=frozenset()),))]
    assert _claimed(blind[0], blind, Review(0, True, True), vetted, [])[0] == "cannot tell"


def test_a_test_that_another_fix_keeps_green_is_not_outdated() -> None:
    fix = replace(RIGHT, broken=(INSIDE,), near=("tests/test_line.py",))
    other = replace(fix, patch="other", answers=1, broken=())
    vetted = Vetted("fixed", "1 reproducing test failed before the fix and pass now")
    review = Review(0, complete=True, determined=True)
    alone = [Kind((fix,))]
    assert _claimed(alone[0], alone, review, vetted, [INSIDE])[0] == "fixed"
    both = [Kind((fix, other))]
    state, (reason, _) = _claimed(both[0], both, review, vetted, [INSIDE])
    assert state == "proposed"
    assert f"keeps {INSIDE}" in reason


def test_without_a_fix_nothing_can_be_told(project: Project) -> None:
    found = proven(project)
    assert found.claim is not None
    assert (found.prediction.patch, found.claim.state) == ("", "cannot tell")


def test_the_command_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    issue = tmp_path / "issue.md"
    issue.write_text("clamp is wrong")
    assert command_line.run(["fix", str(issue), "-C", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "fix needs a model" in err
    status = command_line.run(
        ["fix", str(issue), "--method", "libro", "--model", f"batch:{tmp_path}/b"]
    )
    assert status == 2
    assert "libro writes no fixes" in capsys.readouterr().err


def test_a_rival_that_does_something_else_takes_the_claim_back_in_bench_too(
    project: Project,
) -> None:
    claim = FixClaim("fixed", ("it holds",), GOLDEN_TESTS, rivals=(BREAKS,))
    found = Reproduction(IssuePrediction(project.problem.id, FIX), claim=claim)
    again = confirmed_in(found, Path(sys.executable), project.spawn)
    assert again.claim is not None
    assert again.claim.state == "proposed"
    assert "another fix" in again.claim.reasons[0]
    assert again.steps[-1]["state"] == "proposed"
    alone = replace(found, claim=replace(claim, rivals=()))
    assert confirmed_in(alone, Path(sys.executable), project.spawn) == alone


def test_bench_prints_what_was_claimed_and_how_much_of_it_is_right(tmp_path: Path) -> None:
    states = {"a": "fixed", "b": "fixed", "c": "proposed", "d": ""}
    records = {}
    grades: dict[str, FixRecord | ErrorRecord] = {}
    for id, state in states.items():
        steps = ({"kind": "claim", "state": "fixed"}, {"kind": "claim", "state": state})
        found = Reproduction(IssuePrediction(id, FIX), steps=steps if state else ())
        records[id] = _record(found, None, 1.0)
        status: FixStatus = "fails" if id == "b" else "resolved"
        grade = asdict(FixGrade(status))
        grades[id] = FixRecord(id=id, repo="r", seconds=1.0, **grade)
    settings = IssueBenchSettings("data", "redgreen", task="repair")
    graded = FixGradeResult("data", "data", tuple(states), grades, tmp_path)
    result = IssueBenchResult(settings, tmp_path, tuple(states), records, (), {"p": graded})
    assert result.claims == {"fixed": (2, 1), "proposed": (1, 1)}
    assert result.to_dict()["claims"]["fixed"] == {"n": 2, "right": 1}
    console = Console(file=StringIO(), width=100)
    result.print(console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "claimed fixed: 2 of 4, of these right: 1" in printed
    assert re.search(r"resolved +│ +75.00 \[30.1, 95.4\] │  4 │", printed)
