"""Fixes graded by the golden tests, as SWE-bench does, and the files that come of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from refute.errors import InputError
from refute_lab.datasets.swe import IssueItem
from refute_lab.runs import ErrorRecord
from refute_lab.swt import state_reports
from refute_lab.swt.repair import (
    FixGrade,
    FixRecord,
    grade_fix,
    summarize_fixes,
    write_results,
)
from refute_lab.swt.tasks import GradingTask, Prediction, read_predictions
from refute_lab.verbs.report import read_resolved

from ..shop import CART, KEY, PATCH, TESTS, Shop, diff

TEST = "tests/test_cart.py::test_never_negative"
WORSE = diff("shop/cart.py", CART, CART.replace("- discount", "- discount - 1"))
OF_TESTS = diff("tests/test_cart.py", TESTS, TESTS.replace("assert", "assert True or"))


def grade(shop: Shop, fix: str) -> FixGrade:
    store = state_reports(shop.states, shop.problem, "local")
    return grade_fix(fix, KEY, shop.spawn, store, timeout=120.0)


@pytest.mark.parametrize(
    ("fix", "status", "failing", "broken", "by_lists"),
    [
        (PATCH + OF_TESTS, "resolved", (), (), True),
        (WORSE, "fails", (TEST,), ("tests/test_cart.py::test_sum",), False),
    ],
)
def test_what_the_golden_tests_say(
    shop: Shop,
    fix: str,
    status: str,
    failing: tuple[str, ...],
    broken: tuple[str, ...],
    by_lists: bool,
) -> None:
    found = grade(shop, fix)
    assert (found.status, found.failing, found.broken) == (status, failing, broken)
    assert (found.wanted, found.kept, found.by_lists) == (1, 1, by_lists)
    assert found.left_out == (("tests/test_cart.py",) if OF_TESTS in fix else ())


@pytest.mark.parametrize(
    ("fix", "status"),
    [
        ("", "empty"),
        (OF_TESTS, "no_code"),
        ("no diff", "not_applicable"),
        (PATCH.replace("result = sum", "result = max"), "not_applicable"),
    ],
)
def test_what_is_not_run(shop: Shop, fix: str, status: str) -> None:
    found = grade(shop, fix)
    assert (found.status, found.resolved, found.applied) == (status, False, False)


def record(id: str, grade: FixGrade) -> FixRecord:
    return FixRecord(
        id=id, status=grade.status, wanted=1, failing=(), kept=1, broken=(), by_lists=None,
        left_out=(), remark="", repo="o/r", seconds=0.0,
    )  # fmt: skip


def test_the_files_of_a_run(shop: Shop, tmp_path: Path) -> None:
    """SWE-bench's report, and the wrong patches that Table 5 shows to methods."""
    statuses = {"a": "resolved", "b": "fails", "c": "empty", "d": "conflict", "e": "not_applicable"}
    records: dict[str, FixRecord | ErrorRecord] = {
        id: record(id, FixGrade(status))  # type: ignore[arg-type]
        for id, status in statuses.items()
    }
    records["f"] = ErrorRecord("f", "no clone")
    tasks = [
        GradingTask(
            IssueItem(replace(shop.problem, id=id), replace(KEY, id=id)),
            Prediction(id, f"fix {id}"),
        )
        for id in records
    ]
    results, wrong = write_results(tmp_path, tasks, records)
    document = json.loads(results.read_text())
    assert document["resolved_ids"] == ["a"]
    assert document["unresolved_ids"] == ["b", "d", "e"]
    assert (document["empty_patch_ids"], document["error_ids"]) == (["c"], ["f"])
    assert list(read_predictions(wrong)) == ["b"]
    assert read_resolved(tmp_path) == {"a"}, "report --fixes takes the folder of a run"
    summary = summarize_fixes(list(records), records)
    assert (summary.n, summary.resolved.value, summary.applied.value) == (5, 0.2, 0.6)
    with pytest.raises(InputError):
        read_resolved(tmp_path / "nowhere")
