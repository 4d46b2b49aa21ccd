"""Grades that a cluster makes: the evidence comes into the run's folder, wherever it was made."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refute_lab.datasets.swe import IssueItem
from refute_lab.runs.executors import Executor, Run, Workers, executor_of
from refute_lab.swt.grade import RECORDS, Terms, read_evidence
from refute_lab.swt.repair import FIX_RECORDS, FilterSettings, FilterTask, RepairSettings
from refute_lab.swt.repair import RECORDS as FILTER_RECORDS
from refute_lab.swt.tasks import GradingSettings, GradingTask, Prediction, work_on
from refute_lab.verbs.data import prepare

from ..projects import NO_PLUGINS, Project
from ..shop import CART, KEY, PATCH, TEST_PATCH, Shop, diff, new_file

RAY = "ray is not installed: pip install 'refute[cluster]'"


def test_a_cluster_grades_as_this_process_does(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason=RAY)
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
        with Run(folder, settings.header(), RECORDS) as run:
            work_on(run, tasks, settings, jobs=2, executor=doing)
            return {name: replace(one, seconds=0.0) for name, one in run.records.items()}

    here, there = tmp_path / "here", tmp_path / "there"
    assert graded(here, None) == graded(there, "ray:local")
    for name in ("a", "b"):
        found = read_evidence(there, name)
        assert found is not None
        assert len(found.golden) == 2


def test_a_cluster_judges_and_grades_fixes_as_this_process_does(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bench --filter` and `grade --task repair`."""
    ray = pytest.importorskip("ray", reason=RAY)
    monkeypatch.setenv("REFUTE_CACHE", str(shop.states.parent / "cache"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    wrong = diff("shop/cart.py", CART, CART.replace("- discount", "- discount + 0"))
    fixes = {"right": PATCH, "wrong": wrong, "none": ""}
    items = {id: IssueItem(replace(shop.problem, id=id), replace(KEY, id=id)) for id in fixes}
    judging = [FilterTask(items[id], fix, TEST_PATCH) for id, fix in fixes.items()]
    repairs = [GradingTask(items[id], Prediction(id, fix)) for id, fix in fixes.items()]
    filtering = FilterSettings("data", "fixes", "fixer", "tests", timeout=60.0)
    grading = RepairSettings("data", "predictions", "model", timeout=60.0)

    def done(folder: Path, doing: Executor | None) -> list[dict[str, Any]]:
        with Run(folder / "filter", filtering.header(), FILTER_RECORDS) as run:
            work_on(run, judging, filtering, jobs=2, executor=doing)
            judged = {name: replace(one, seconds=0.0) for name, one in run.records.items()}
        with Run(folder / "repair", grading.header(), FIX_RECORDS) as run:
            work_on(run, repairs, grading, jobs=2, executor=doing)
            graded = {name: replace(one, seconds=0.0) for name, one in run.records.items()}
        return [judged, graded]

    here = done(tmp_path / "here", None)
    size = {"num_cpus": 2, "object_store_memory": 100 << 20, "include_dashboard": False}
    ray.init("local", log_to_driver=False, **size)
    try:
        there = done(tmp_path / "there", executor_of("ray", Workers(jobs=2)))
    finally:
        ray.shutdown()
    assert here == there
    assert {name: one.resolved for name, one in here[0].items()} == {
        "right": True,
        "wrong": False,
        "none": False,
    }
    assert [here[1][name].status for name in fixes] == ["resolved", "fails", "empty"]


@pytest.fixture
def rows(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two issues of a repository, and an empty cache."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "rows.jsonl"
    place = {"interpreter": sys.executable, "editable": False, "env": NO_PLUGINS}
    common = {
        "repo": project.problem.repo,
        "base_commit": project.problem.base_commit,
        "problem_statement": project.problem.text,
        "patch": "",
        "test_patch": "",
        "environment": {**place, "test_command": "pytest x"},
    }
    made = [{"instance_id": f"shapes-{number}", **common} for number in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def test_trees_are_built_ahead(rows: Path, tmp_path: Path) -> None:
    assert prepare(rows).ready == ("shapes-0", "shapes-1")
    (ready,) = (tmp_path / "cache" / "trees").glob("*.ready")
    before = ready.stat().st_mtime_ns
    assert prepare(rows).complete
    assert ready.stat().st_mtime_ns == before, "nothing is built again"
