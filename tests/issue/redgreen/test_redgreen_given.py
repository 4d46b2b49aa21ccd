"""redgreen that is given test files and a patch (SWT-Bench, Table 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from refute.core.methods import Bounds, Context, Given
from refute.errors import ContextTooLong
from refute.issue.contract import Reproduction
from refute.issue.methods import redgreen as method
from refute.issue.methods.redgreen import CONTEXT_TOKENS, drafted_fixes, redgreen
from refute.issue.original import TrialRun
from refute.issue.redgreen.ranking import Draft
from refute.issue.redgreen.testbed import CandidateFix
from refute.models.contract import Message
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute.workspace.contract import TestReport, TestResult

from ..projects import FIX, Project
from .oracle import Answers

Script = Callable[[Sequence[Message], int], str]
NONSENSE = "I do not know."
TOUCHES_TESTS = """diff --git a/tests/test_colour.py b/tests/test_colour.py
--- a/tests/test_colour.py
+++ b/tests/test_colour.py
@@ -1,1 +1,2 @@
 from shapes.colour import mix
+WRITTEN_BY_THE_FIX = 1
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the draft of the snippet method, which has tests of its own."""

    async def nothing(work: object, spawn: object) -> None:
        """The tests below bring their own drafts."""

    monkeypatch.setattr(method._Work, "seed", nothing)
    monkeypatch.setattr(method, "memory_of", lambda problem: tmp_path)


def run(answers: Script, project: Project, given: Given, calls: int) -> Reproduction:
    async def work() -> Reproduction:
        async with Session(ScriptedModel(answers)) as session:
            ctx = Context(
                workspace=project.spawn,
                model=session.asker(project.problem.id),
                bounds=Bounds(calls=calls),
                given=given,
            )
            return await redgreen(project.problem, ctx=ctx)

    return asyncio.run(work())


def test_what_is_given(project: Project) -> None:
    """The patch is one more candidate fix, and the files lead what is shown."""
    answers = Answers(fix=NONSENSE)
    given = Given(("tests/test_colour.py",), FIX + TOUCHES_TESTS)
    found = run(answers, project, given, 2)
    steps = {step["kind"]: step for step in found.steps}
    assert steps["locate"]["tests"][0] == "tests/test_colour.py"
    assert steps["locate"]["code"][0] == "shapes/line.py"
    assert steps["fix"]["route"] == "given"
    assert "+        return high" in steps["fix"]["patch"]
    assert "WRITTEN_BY_THE_FIX" not in steps["fix"]["patch"], "a fix's tests prove nothing"
    assert set(steps["crossed"]["tests"].values()) == {"pass"}
    assert "+    assert clamp(10, 0, 9) == 9" in found.prediction.patch
    assert "return high" not in found.prediction.patch, "tests only"


def test_a_small_context_is_shown_less(project: Project) -> None:
    """What does not fit is asked again with less of the repository; nothing at all: an error."""
    answers = Answers(direct=NONSENSE)

    def refusing(times: int) -> Script:
        left = [ContextTooLong("too long")] * times

        def said(messages: Sequence[Message], index: int) -> str:
            if left:
                raise left.pop()
            return answers(messages, index)

        return said

    found = run(refusing(2), project, Given(), 1)
    looked = [step["tokens"] for step in found.steps if step["kind"] == "locate"]
    assert looked == [CONTEXT_TOKENS, CONTEXT_TOKENS // 2, CONTEXT_TOKENS // 4]
    assert answers.kinds == ["direct"], "what was refused cost no call"
    with pytest.raises(ContextTooLong):
        run(refusing(100), project, Given(), 1)


def draft(number: int, passing: tuple[int, ...], **more: object) -> Draft:
    """Its test `t` passes with the fixes of these numbers, of 0 and 1."""
    result = TestResult(f"tests/a.py::t{number}", "tests/a.py", "failed")
    trial = TrialRun("p", TestReport((result,), "finished"), (result,))
    rows = {fix: {result.id: "pass" if fix in passing else "fail"} for fix in (0, 1)}
    made = {"route": "direct", "accepted": True, **more}
    return Draft(number, trial=trial, rows=rows, **made)  # type: ignore[arg-type]


def test_who_speaks_for_a_fix() -> None:
    fixes = [CandidateFix(0, "right"), CandidateFix(1, "wrong"), CandidateFix(2, "x", "no diff")]
    drafts = [
        draft(0, (0,)),
        draft(1, (0,), accepted=None),
        draft(2, (1,), accepted=False),
        draft(3, (), accepted=None),
    ]
    first, second = drafted_fixes(drafts, fixes)
    assert first.patch == "right"
    assert first.green == {"0 tests/a.py::t0", "1 tests/a.py::t1"}
    assert first.red == frozenset()
    assert (second.green, second.red) == (frozenset(), first.green)
