"""`refute fix`: a fix is proven by its own red tests, and written only where it is sure."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from refute import cli
from refute.api.fixing import FixResult
from refute.issue.contract import DraftedFix, FixClaim, Reproduction
from refute.issue.drafting.bounded_asker import Bounded
from refute.issue.fixing.proving import proven_fix
from refute.methods import Bounds, Context
from refute.models.contract import Message
from refute.models.scripted import ScriptedModel
from refute.models.session import Session
from refute.problems import IssuePrediction

from ..projects import FIX, GOLDEN_TESTS, Project

REVIEW = "BEST: 1\nCOMPLETE: yes\nDETERMINED: yes"
GREEN = frozenset({"0 tests/test_line.py::test_above", "1 tests/test_line.py::test_above"})
RIGHT = DraftedFix(FIX, answers=2, score=2.0, green=GREEN)


def proven(
    project: Project, *fixes: DraftedFix, review: str = REVIEW, calls: int = 1
) -> Reproduction:
    def said(messages: list[Message], index: int) -> str:
        assert "def test_" not in messages[-1].content, "the reviewer sees no tests"
        return review

    async def work() -> Reproduction:
        async with Session(ScriptedModel(said)) as session:  # type: ignore[arg-type]
            bounds = Bounds(calls=calls)
            asker = session.asker(project.problem.id)
            ctx = Context(workspace=project.spawn, model=asker, bounds=bounds, task="repair")
            tests = IssuePrediction(project.problem.id, GOLDEN_TESTS)
            found = Reproduction(tests, fixes=fixes)
            return await proven_fix(project.problem, found, ctx, Bounded(asker, bounds))

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


def test_without_a_fix_nothing_can_be_told(project: Project) -> None:
    found = proven(project)
    assert found.claim is not None
    assert (found.prediction.patch, found.claim.state) == ("", "cannot tell")


def test_the_command_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    issue = tmp_path / "issue.md"
    issue.write_text("clamp is wrong")
    assert cli.run(["fix", str(issue), "-C", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "fix needs a model" in err
    status = cli.run(["fix", str(issue), "--method", "libro", "--model", f"batch:{tmp_path}/b"])
    assert status == 2
    assert "libro writes no fixes" in capsys.readouterr().err


def test_a_fix_without_a_confidence_is_printed() -> None:
    claim = FixClaim("proposed", ("the method writes no tests",))
    console = Console(file=StringIO(), width=100)
    FixResult("plain", Reproduction(IssuePrediction("a", FIX)), claim).print(console)
    assert "no confidence: plain has no evidence" in console.file.getvalue()  # type: ignore[attr-defined]
