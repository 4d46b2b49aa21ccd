"""Verdicts as pure functions of reports: each row of the table in docs/swtbench.md."""

from __future__ import annotations

from typing import Any

import pytest

from refute.workspace.contract import TestReport, TestResult
from refute.workspace.running import NO_TESTS, statuses
from refute_lab.swt import Verdict, combined, judge

FILE = "tests/test_x.py"


def report(status: Any = "finished", trusted: bool = True, **outcomes: str) -> TestReport:
    """A report with one test of FILE for each keyword; `broken` for a file's import error."""
    results = []
    for name, outcome in outcomes.items():
        if outcome == "broken":
            results.append(TestResult(FILE, FILE, "error", "collect"))
        else:
            phase: Any = "setup" if outcome == "error" else "call"
            kind: Any = outcome
            results.append(TestResult(f"{FILE}::{name}", FILE, kind, phase))
    return TestReport(tuple(results), status, trusted=trusted)


def verdict(before: TestReport, after: TestReport, *base: TestReport) -> Verdict:
    return judge([before], [after], *(base or (NO_TESTS, NO_TESTS)))


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("failed", "passed", "success"),
        ("error", "passed", "success"),  # set-up failed before
        ("failed", "failed", "fails_after"),
        ("failed", "error", "fails_after"),  # the reference overlooks it
        ("passed", "failed", "fails_after"),
        ("passed", "error", "fails_after"),
        ("skipped", "failed", "fails_after"),
        ("passed", "passed", "passes_before"),
        ("failed", "skipped", "passes_before"),
        ("skipped", "passed", "passes_before"),  # the reference takes it for F→P
        ("xfailed", "passed", "passes_before"),
        ("xfailed", "xpassed", "no_test_ran"),
        ("failed", "xfailed", "passes_before"),
        ("skipped", "skipped", "no_test_ran"),
    ],
)
def test_one_new_test(before: str, after: str, status: str) -> None:
    assert verdict(report(test=before), report(test=after)).status == status


def test_kinds_of_transitions() -> None:
    before = report(a="failed", b="failed", c="passed", d="failed", e="passed")
    after = report(a="passed", b="failed", c="passed", d="skipped", e="failed")
    found = verdict(before, after)
    assert found.fail_to_pass == (f"{FILE}::a",)
    assert found.fail_to_any == (f"{FILE}::a", f"{FILE}::b", f"{FILE}::d")
    assert found.pass_to_pass == (f"{FILE}::c",)
    assert found.failing_after == (f"{FILE}::b", f"{FILE}::e")
    assert not found.success


def test_a_file_that_cannot_be_imported_before_the_fix_fails_with_all_its_tests() -> None:
    found = verdict(report(file="broken"), report(a="passed", b="passed"))
    assert found.success
    assert found.fail_to_pass == (f"{FILE}::a", f"{FILE}::b")


def test_a_file_that_cannot_be_imported_after_the_fix_is_no_success() -> None:
    other = TestReport((TestResult("tests/test_y.py::t", "tests/test_y.py", "failed"),), "finished")
    passed = TestResult("tests/test_y.py::t", "tests/test_y.py", "passed")
    broken = TestResult(FILE, FILE, "error", "collect")
    found = verdict(other, TestReport((passed, broken), "finished"))
    assert found.status == "collection_error"
    assert found.broken == (FILE,)
    assert found.fail_to_pass == ("tests/test_y.py::t",)


def test_what_fails_after_the_fix_without_the_patch_as_well_is_not_its_fault() -> None:
    base = report(old="failed"), report(old="failed")
    found = verdict(report(old="failed", new="failed"), report(old="failed", new="passed"), *base)
    assert found.success
    assert [one.test for one in found.own] == [f"{FILE}::new"]
    # It fails on the original code only with the patch, but on the fixed code in any case.
    base = report(old="passed"), report(old="failed")
    found = verdict(report(old="failed", new="failed"), report(old="failed", new="passed"), *base)
    assert found.success


def test_a_test_that_was_fail_to_pass_without_the_patch_is_not_its_merit() -> None:
    base = report(old="failed"), report(old="passed")
    assert verdict(*base, *base).status == "no_test_ran"


def test_an_existing_test_that_the_patch_changes_counts() -> None:
    base = report(old="passed"), report(old="passed")
    assert verdict(report(old="failed"), report(old="passed"), *base).success
    assert verdict(report(old="passed"), report(old="failed"), *base).status == "fails_after"


def test_a_missing_test_neither_passes_nor_fails() -> None:
    found = verdict(report(a="passed"), report(a="passed", b="passed"))
    assert found.status == "passes_before"
    assert verdict(report(a="passed"), report()).status == "passes_before"


def test_a_run_that_ends_early_is_judged_by_what_it_has() -> None:
    # Conclusive: one F→P, and the run on the fixed code is whole.
    assert verdict(report("timeout", a="failed"), report(a="passed", b="passed")).success
    # What was not reached is unknown: neither F→P nor a failure.
    found = verdict(report("timeout"), report(a="passed"))
    assert (found.status, found.fail_to_pass) == ("timeout", ())
    assert verdict(report(a="failed"), report("timeout", a="passed")).status == "timeout"
    assert verdict(report(a="failed"), report("crashed", a="passed")).status == "crashed"
    assert verdict(report("memory"), report(a="passed")).status == "crashed"


def test_results_that_were_meddled_with_are_never_a_success() -> None:
    good = report(a="passed")
    assert verdict(report(a="failed"), report(trusted=False, a="passed")).status == "not_trusted"
    assert verdict(report(trusted=False, a="failed"), good).status == "not_trusted"


def test_of_results_with_one_id_the_worst_counts() -> None:
    twice = (*report(a="failed").results, *report(a="passed").results)
    assert statuses(TestReport(twice, "finished")).of(f"{FILE}::a") == "fail"
    assert statuses(TestReport(twice[::-1], "finished")).of(f"{FILE}::a") == "fail"


def test_a_flaky_test_is_never_fail_to_pass() -> None:
    def judged(before: list[str], after: list[str]) -> Verdict:
        first, last = ([report(a=outcome) for outcome in side] for side in (before, after))
        return judge(first, last, NO_TESTS, NO_TESTS)

    assert judged(["failed", "failed"], ["passed", "passed"]).success
    found = judged(["failed", "passed"], ["passed", "passed"])
    assert (found.status, found.own[0].flaky) == ("passes_before", True)
    found = judged(["failed", "failed"], ["passed", "failed"])
    assert (found.status, found.own[0].flaky) == ("fails_after", True)


def test_runs_combine_for_each_test_apart() -> None:
    runs = [report(a="failed", b="passed"), report(a="passed", b="passed"), report(file="broken")]
    both = combined(runs, best=True)
    assert both.statuses.of(f"{FILE}::a") == "pass"
    assert both.flaky == {f"{FILE}::a", f"{FILE}::b"}
    assert both.statuses.broken == frozenset()
    worst = combined(runs, best=False)
    assert worst.statuses.broken == {FILE}
    assert worst.statuses.of(f"{FILE}::b") == "fail"
    with pytest.raises(ValueError, match="no report"):
        combined([], best=True)
