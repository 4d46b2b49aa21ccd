"""Grades that a cluster makes: the evidence comes into the run's folder, wherever it was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refute.api.executing import executor_of
from refute.datasets.swe import IssueItem
from refute.issue.grading.grade import Terms
from refute.issue.grading.grade_records import RECORDS, read_evidence
from refute.issue.grading.growing import GradingTask
from refute.issue.grading.tasks import GradingSettings, grade_tasks
from refute.issue.predictions import Prediction
from refute.runs.executors import Workers
from refute.runs.run import Run

from ..shop import KEY, TEST_PATCH, Shop, new_file


def test_a_cluster_grades_as_this_process_does(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'refute[cluster]'")
    monkeypatch.setenv("REFUTE_CACHE", str(shop.states.parent / "cache"))
    patches = {"a": TEST_PATCH, "b": new_file("def test_it():\n    assert False\n"), "c": ""}
    tasks = [
        GradingTask(
            IssueItem(replace(shop.problem, id=name), replace(KEY, id=name)),
            Prediction(name, patch),
        )
        for name, patch in patches.items()
    ]
    settings = GradingSettings("data", "predictions", "model", Terms(timeout=60.0))

    def graded(folder: Path, executor: str | None) -> dict[str, Any]:
        doing = executor_of(executor, Workers(jobs=2))
        with Run(folder, settings.header(tasks), RECORDS) as run:
            grade_tasks(run, tasks, settings, jobs=2, executor=doing)
            return {name: replace(one, seconds=0.0) for name, one in run.records.items()}

    here, there = tmp_path / "here", tmp_path / "there"
    assert graded(here, None) == graded(there, "ray:local")
    for name in ("a", "b"):
        found = read_evidence(there, name)
        assert found is not None
        assert len(found.golden) == 2
