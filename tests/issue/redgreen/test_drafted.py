"""The fixes that redgreen drafted, as `refute fix` takes them."""

from __future__ import annotations

from refute.issue.drafting.original import TrialRun
from refute.issue.methods.redgreen import drafted_fixes
from refute.issue.redgreen.ranking import Draft
from refute.issue.redgreen.testbed import CandidateFix
from refute.workspace.contract import TestReport, TestResult


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
