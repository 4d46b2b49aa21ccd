"""Table 1 out of a run that graded golden tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute.workspace.contract import TestReport, TestResult
from refute_lab.runs import Journal
from refute_lab.swt import Verdict
from refute_lab.swt.grade import RECORDS, Evidence, IssueGrade, evidence_files
from refute_lab.swt.study import change_of_tests, measured_by
from refute_lab.verbs.data_issues import statistics

from .projects import FIX, GOLDEN_TESTS


def report(lines: dict[int, int], **tests: str) -> TestReport:
    results: list[Any] = [
        TestResult(id=f"t.py::{name}", file="t.py", outcome=outcome)  # type: ignore[arg-type]
        for name, outcome in tests.items()
    ]
    return TestReport(tuple(results), "finished", lines={"shapes/line.py": lines})


def evidence() -> Evidence:
    """One existing test that golden tests change, one that stays, one new and one taken away."""
    base = report({9: 0}, kept="passed", changed="passed", gone="passed"), report({9: 1}, kept="passed", changed="passed", gone="passed")  # fmt: skip  # noqa: E501
    golden = report({9: 1}, kept="passed", changed="failed", new="failed"), report({9: 2}, kept="passed", changed="passed", new="passed")  # fmt: skip  # noqa: E501
    return Evidence(((golden[0],), (golden[1],)), base, golden)


def test_existing_and_golden_tests_by_kind() -> None:
    found = measured_by(IssueKey("a", FIX, GOLDEN_TESTS), evidence())
    nothing = {"f2f": 0, "p2f": 0}
    assert found["existing"] == {"f2p": 0, "p2p": 3, **nothing}
    assert found["golden"] == {"f2p": 2, "p2p": 0, **nothing}, "a changed test is golden, too"
    assert (found["added"], found["removed"]) == (1, 1)
    assert found["coverage"] == 1 / 2, (
        "the removed line by golden tests alone, the added one before"
    )


def test_statistics_of_a_golden_run(tmp_path: Path) -> None:
    row = {"instance_id": "a", "repo": "me/shapes", "base_commit": "0", "problem_statement": "x",
           "patch": FIX, "test_patch": GOLDEN_TESTS, "PASS_TO_PASS": '["t", "u"]'}  # fmt: skip
    rows, run = tmp_path / "rows.jsonl", tmp_path / "run"
    rows.write_text(json.dumps(row) + "\n")
    figures = {(one.group, one.name): one.mean for one in statistics(rows).figures}
    assert figures["listed tests", "P→P"] == 2
    with pytest.raises(InputError, match="not a run of the golden tests"):
        statistics(rows, graded=run)
    with Journal(run, {"kind": "grades", "predictions": "gold"}, RECORDS):
        for path, data in evidence_files(
            IssueGrade("a", Verdict("success"), evidence=evidence())
        ).items():
            (run / path).parent.mkdir()
            (run / path).write_bytes(data)
    found = statistics(rows, graded=run)
    figures = {(one.group, one.name): one.mean for one in found.figures}
    assert figures["existing tests", "total"] == 3
    assert figures["golden tests", "F→P"] == 2
    assert figures["existing tests", "coverage %"] == 50
    assert found.repositories == {"me/shapes": 1}
    assert found.changes == {"adds": 1, "modifies": 0, "removes": 0}


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ("+def test_a():\n+    pass\n-    assert old\n", "adds"),
        ("-    assert old\n+    assert new\n", "modifies"),
        ("-def test_a():\n-    pass\n+x = 1\n", "removes"),
        ("-def test_a(x):\n+def test_a(y):\n", "modifies"),
    ],
)
def test_what_golden_tests_do_to_tests(lines: str, kind: str) -> None:
    diff = f"diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,2 @@\n{lines}"
    assert change_of_tests(diff) == kind
