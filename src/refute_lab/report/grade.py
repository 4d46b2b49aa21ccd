"""The grades of a run as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.core.remarks import few
from refute_lab.figures import IN_WORDS, estimate, in_words
from refute_lab.report.bench import figure_document
from refute_lab.report.grids import Grid, print_grid
from refute_lab.report.issue_grids import HEADS, figures_row
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grade_records import Columns, GradeRecord, Grades, Summary, read_grade
from refute_lab.swt.repair import FixRecord, FixSummary

STATUSES = {
    "success": "reproduces the issue",
    "empty": "no patch",
    "not_applicable": "does not apply",
    "no_test": "touches no test",
    "conflict": "conflicts with the golden patch",
    "not_trusted": "results were meddled with",
    "timeout": "ran out of time",
    "crashed": "the test process died",
    "collection_error": "cannot be imported after the golden patch",
    "fails_after": "a test fails after the golden patch",
    "no_test_ran": "none of its tests ran",
    "passes_before": "no test fails on the original code",
}
"""Status of an instance -> what it says to people."""


def grade_document(
    dataset: str, summary: Summary, records: Grades, ids: Sequence[str], run: str
) -> dict[str, Any]:
    """`{"dataset", "n", "n_coverage", "metrics": {name: {"value", "stderr"}}, "statuses", ...}`."""
    return {
        "dataset": dataset,
        "n": summary.n,
        "n_coverage": summary.counted,
        "metrics": {name: figure_document(figure) for name, figure in summary.figures.items()},
        "statuses": dict(summary.statuses),
        "errors": dict(summary.errors),
        "flaky": summary.flaky,
        "doubtful": list(summary.doubtful),
        "other_files": summary.others,
        "instances": [_instance(records[id]) for id in ids if id in records],
        "run": run,
    }


def _instance(record: GradeRecord | ErrorRecord) -> dict[str, Any]:
    if isinstance(record, ErrorRecord):
        return {"id": record.id, "status": "error", "error": record.error}
    grade = read_grade(record)
    verdict = grade.verdict
    return {
        "id": grade.id,
        "status": verdict.status,
        "fail_to_pass": list(verdict.fail_to_pass),
        "fail_to_any": list(verdict.fail_to_any),
        "pass_to_pass": list(verdict.pass_to_pass),
        "failing_after": list(verdict.failing_after),
        "flaky": [one.test for one in verdict.own if one.flaky],
        "broken": list(verdict.broken),
        "coverage": None if grade.coverage is None else grade.coverage.value,
        "golden_coverage": None if grade.golden_coverage is None else grade.golden_coverage.value,
        "golden": None if record.golden is None else asdict(record.golden),
        "other_files": list(grade.others),
        "remarks": list(verdict.remarks),
        "seconds": record.seconds,
    }


def print_grades(
    title: str, summary: Summary, console: Console, columns: Columns = "later"
) -> None:
    """The figures, then why instances failed, then what to be careful about."""
    whole = f" of {summary.n + len(summary.errors)}" if summary.errors else ""
    heading = f"{title}, {summary.n}{whole} instances"
    if not summary.n:
        console.print(Text(heading, style="bold"), soft_wrap=True)
    else:
        row = figures_row("", summary, HEADS[columns])
        print_grid(Grid("figures", heading, ("", "n", *HEADS[columns].values()), (row,)), console)
    for status, count in summary.statuses.items():
        console.print(Text(f"{count:5}  {STATUSES.get(status, status)}"))
    if summary.errors:
        console.print(Text(f"{len(summary.errors):5}  without a grade (not counted)"))
    for text in _cautions(summary):
        console.print(Text(f"note: {text}", style="dim"))


def _cautions(summary: Summary) -> list[str]:
    notes = []
    if summary.counted < summary.n:
        notes.append(f"ΔC is a mean over {summary.counted}: the others have no line that it counts")
    if summary.others:
        notes.append(
            f"{summary.others} predictions touch files that are no tests (--set tests_only=true)"
        )
    if summary.flaky:
        notes.append(f"{summary.flaky} predictions hold a flaky test; it counts against them")
    if summary.doubtful:
        doubtful = few(summary.doubtful, 5)
        notes.append(f"the golden tests reproduce nothing here, so doubt: {doubtful}")
    return notes


# -- repairs ---------------------------------------------------------------------------------------


FIX_STATUSES = {
    "resolved": "resolves the issue",
    "empty": "no patch",
    "no_code": "changes tests alone",
    "not_applicable": "does not apply",
    "conflict": "conflicts with the golden tests",
    "not_trusted": "meddles with the tests",
    "timeout": "ran out of time",
    "crashed": "the test process died",
    "fails": "a golden test that it has to turn green fails",
    "breaks": "breaks a golden test that passed",
}
"""Status of a fix -> what it says to people."""


def fix_grades_document(
    dataset: str,
    summary: FixSummary,
    ids: Sequence[str],
    records: Mapping[str, FixRecord | ErrorRecord],
    run: str,
) -> dict[str, Any]:
    """`{"dataset", "task", "n", "figures", "status", "resolved", "errors", "instances", "run"}`."""
    figures = {
        "resolved": summary.resolved,
        "applied": summary.applied,
        "by_lists": summary.by_lists,
    }
    return {
        "dataset": dataset,
        "task": "repair",
        "n": summary.n,
        "figures": {name: figure_document(one) for name, one in figures.items()},
        "status": dict(summary.statuses),
        "resolved": list(summary.resolved_ids),
        "errors": dict(summary.errors),
        "instances": [asdict(records[id]) for id in ids if id in records],
        "run": run,
    }


def print_fix_grades(title: str, summary: FixSummary, console: Console) -> None:
    """The figures, then how many fixes came to what."""
    table = Table(title=Text(title, style="bold"), title_justify="left")
    table.add_column("")
    for head in IN_WORDS:
        table.add_column(head, justify="right")
    for name, figure in (
        ("resolved", summary.resolved),
        ("applies", summary.applied),
        ("resolved by the lists", summary.by_lists),
    ):
        table.add_row(name, *in_words(estimate(figure)))
    console.print(table)
    for status, count in summary.statuses.items():
        console.print(Text(f"{count:5d}  {FIX_STATUSES[status]}"))
    if summary.errors:
        console.print(Text(f"{len(summary.errors):5d}  have no grade"))
