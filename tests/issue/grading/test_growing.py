"""A run of grades goes on where its dataset only grew, and grades anew what has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import IssueKey, IssueProblem
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.contract import Failure, TestReport, TestResult
from refute.workspace.running import NO_TESTS
from refute_lab.datasets.swe import IssueItem
from refute_lab.swt.grade import Evidence, grade_evidence, unrunnable
from refute_lab.verbs.grade import (
    FixGradeResult,
    GradeResult,
    grade_predictions,
    grade_repairs,
)

Done = Callable[..., None]

MISSING = Failure("ModuleNotFoundError", "No module named 'hypothesis'", "")
PASSED = TestReport((TestResult("t.py::a", "t.py", "passed"),), "finished")
NOT_IMPORTED = TestReport((TestResult("t.py", "t.py", "error", "collect", MISSING),), "finished")
NOT_STARTED = TestReport((), "crashed", remark="the runner did not start (exit status 4): E")


class Here:
    """An executor in this process, which counts."""

    def __init__(self, jobs: int | None = None) -> None:
        pass

    done: list[str] = []  # noqa: RUF012

    def run(
        self, units: Sequence[Any], start: Callable[[], Any], done: Callable[..., None]
    ) -> None:
        work = start()
        for unit in units:
            self.done.append(unit[0])
            done(unit, work(unit))


def item(number: int, text: str = "") -> IssueItem:
    problem = IssueProblem(f"a__b-{number}", "a/b", "c" * 40, text)
    return IssueItem(problem, IssueKey(problem.id, "", "", (), ()))


@pytest.mark.parametrize("task", ["tests", "repair"])
def test_a_dataset_that_grew(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute_lab.swt.tasks.Processes", Here)
    monkeypatch.setattr(Here, "done", [])
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")

    def grades(items: list[IssueItem], dataset: str = "rows.jsonl") -> int:
        result: GradeResult | FixGradeResult
        if task == "tests":
            result = grade_predictions(items, str(empty), dataset, folder=tmp_path / "run")
        else:
            folder = tmp_path / "run"
            result = grade_repairs(items, str(empty), dataset, folder=folder, timeout=9)
        assert result.summary.statuses == {"empty": len(items)}
        return len(Here.done)

    assert grades([item(1), item(2)]) == 2, "an empty file: each prediction is an empty patch"
    assert grades([item(1), item(2), item(3)], "more.jsonl") == 3
    assert grades([item(1), item(2, "mended"), item(3)], "more.jsonl") == 4
    with pytest.raises(InputError, match="a__b-1; give another folder"):
        grades([item(2, "mended"), item(3)])
    empty.write_text('{"instance_id": "a__b-3", "model_patch": "x"}')
    with pytest.raises(InputError, match="started with another prediction for a__b-3"):
        grades([item(1), item(2), item(3)])


def test_a_runner_that_cannot_start_is_no_grade() -> None:
    assert unrunnable(PASSED) == unrunnable(NO_TESTS) == ""
    assert unrunnable(replace(NOT_IMPORTED, results=(*NOT_IMPORTED.results, *PASSED.results))) == ""
    assert unrunnable(replace(PASSED, status="crashed")) == ""
    assert unrunnable(NOT_STARTED) == "the runner did not start (exit status 4): E"
    assert "t.py cannot be imported: ModuleNotFoundError: No module" in unrunnable(NOT_IMPORTED)
    key = IssueKey("a__b-1", "", "", (), ())
    for report in (NOT_STARTED, NOT_IMPORTED):
        evidence = Evidence(((PASSED,), (PASSED,)), golden=(report, report))
        with pytest.raises(WorkspaceUnavailable, match="the golden tests cannot be run here: t"):
            grade_evidence(evidence, key)
    own = Evidence(((NOT_STARTED,), (NOT_STARTED,)), golden=(NOT_STARTED, PASSED))
    assert grade_evidence(own, key).verdict.status == "crashed", "the prediction's own doing"
