"""The reference's rules, which differ from ours on purpose, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import IssueKey
from refute.workspace.contract import TestReport, TestResult
from refute.workspace.running import NO_TESTS
from refute_lab.swt import Verdict
from refute_lab.swt.grade import (
    Compat,
    Evidence,
    IssueGrade,
    grade_evidence,
    reference_report,
    status_map,
    summary,
    write_reports,
)

PATCH = """\
diff --git a/lib/m.py b/lib/m.py
--- a/lib/m.py
+++ b/lib/m.py
@@ -1,4 +1,5 @@
 def f(x):
-    y = x
-    return y
+    if x:
+        return 1
+    return x
 # end
"""
KEY = IssueKey("x-1", PATCH, "")


def report(lines: dict[int, int] | None = None, **outcomes: Any) -> TestReport:
    results = (TestResult(f"t.py::{name}", "t.py", outcome) for name, outcome in outcomes.items())
    return TestReport(tuple(results), "finished", lines={"lib/m.py": lines or {}})


def judged(
    before: TestReport,
    after: TestReport,
    base: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS),
    golden: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS),
) -> tuple[Verdict, dict[str, Any]]:
    """Our verdict, and the reference's report."""
    grade = grade_evidence(Evidence(((before,), (after,)), base, golden), KEY)
    theirs = reference_report(grade, KEY, "pytest").report
    assert theirs is not None
    return grade.verdict, dict(theirs)


@pytest.mark.parametrize(
    ("before", "after", "kind", "resolved"),
    [
        ("failed", "passed", "FAIL_TO_PASS", True),
        ("skipped", "passed", "FAIL_TO_PASS", True),  # ours: not F→P
        ("error", "passed", "FAIL_TO_PASS", True),
        ("xfailed", "passed", "FAIL_TO_PASS", True),  # ours: not F→P
        ("failed", "failed", "FAIL_TO_FAIL", False),
        ("failed", "error", "UNMATCHED", False),
        ("passed", "passed", "PASS_TO_PASS", False),
        ("passed", "failed", "PASS_TO_FAIL", False),
        ("passed", "skipped", "PASS_TO_FAIL", False),
        ("skipped", "skipped", "UNMATCHED", False),
    ],
)
def test_lists(before: str, after: str, kind: str, resolved: bool) -> None:
    _, theirs = judged(report(a=before), report(a=after))
    assert theirs["tests_pred"][kind] == ["t.py::a"]
    assert sum(map(len, theirs["tests_pred"].values())) == 1
    assert theirs["resolved"] is resolved
    assert theirs["added_f2p"] == (kind == "FAIL_TO_PASS")


def test_a_failure_that_becomes_an_error_is_overlooked_there() -> None:
    ours, theirs = judged(report(a="failed", b="failed"), report(a="passed", b="error"))
    assert (ours.status, theirs["resolved"]) == ("fails_after", True)


def test_ids_end_at_a_blank_there() -> None:
    before = report(**{"a[x 1]": "failed", "a[x 2]": "failed"})
    after = report(**{"a[x 1]": "failed", "a[x 2]": "passed"})
    ours, theirs = judged(before, after)
    assert (ours.status, theirs["resolved"]) == ("fails_after", True)
    assert theirs["tests_pred"]["FAIL_TO_PASS"] == ["t.py::a[x"]


def test_names_of_other_runners() -> None:
    sympy = TestReport(
        (TestResult("sympy/core/tests/test_x.py::test_a", "", "passed"),), "finished"
    )
    assert status_map(sympy, "sympy") == {"test_a": "PASSED"}
    django = TestReport(
        (TestResult("app.C.test_a", "", "failed", names=("test_a (app.C)", "A line.")),), "finished"
    )
    assert status_map(django, "django") == {"test_a (app.C)": "FAILED"}


def test_base_counts_of_removed_lines_come_from_the_fixed_code_there() -> None:
    base = report({2: 1, 3: 1}), report({2: 5, 3: 0})
    golden = report({2: 2, 3: 2}), report({2: 6, 3: 1})
    before, after = report({2: 2, 3: 2}, a="failed"), report({2: 5}, a="passed")
    _, theirs = judged(before, after, base, golden)
    # Executable: 2 and 3 of the original, 2 and 3 of the fixed code. Covered more often: of the
    # removed lines only 3 (2 > 1 by our rule, but not > 5), of the added ones none.
    assert theirs["coverage_delta_pred"] == 1 / 4
    assert theirs["coverage_pred"] == 3 / 4
    assert theirs["coverage_base"] == 2 / 4
    assert theirs["coverage_gold"] == 1
    assert theirs["coverage_delta_gold"] == 3 / 4


def test_reports_without_a_run() -> None:
    rejected = reference_report(IssueGrade("x-1", Verdict("not_applicable")), KEY, "pytest")
    assert rejected.report == {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": False,
        "resolved": False,
        "coverage_pred": None,
        "coverage_gold": None,
        "coverage_base": None,
        "coverage_delta_pred": None,
        "coverage_delta_gold": None,
    }
    assert reference_report(IssueGrade("x-1", Verdict("timeout")), KEY, "pytest").report is None
    missing = IssueGrade("x-1", Verdict("empty", remarks=("no patch",)))
    assert reference_report(missing, KEY, "pytest").report is not None


def test_files(tmp_path: Path) -> None:
    _, good = judged(
        report({2: 1}, a="failed"),
        report({2: 1}, a="passed"),
        golden=(report({2: 1}), report({2: 1})),
    )
    _, bad = judged(report(a="passed"), report(a="passed"))
    reports = [Compat("x-1", good), Compat("x-2", bad), Compat("x-3", None)]
    path = write_reports(reports, tmp_path, run="r", model="org/m")
    assert path == tmp_path / "evaluation_results" / "org__m.r.json"
    totals = json.loads(path.read_text())
    assert totals == json.loads(json.dumps(summary(reports)))
    assert totals["completed_ids"] == ["x-1", "x-2"]
    assert totals["resolved_ids"] == ["x-1"]
    assert totals["unresolved_ids"] == ["x-2"]
    assert totals["error_ids"] == ["x-3"]
    assert (totals["Mean coverage"], totals["Mean coverage delta"]) == (1.0, 1.0)
    place = tmp_path / "run_instance_swt_logs" / "r" / "org__m"
    assert json.loads((place / "x-1" / "report.json").read_text()) == {"x-1": good}
    assert not (place / "x-3").exists()
