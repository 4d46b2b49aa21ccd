"""Grades of fixes of issues, as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute_lab.report.bench import figure_document
from refute_lab.report.intervals import IN_WORDS, estimate, in_words
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grading.repair import FixRecord, FixSummary

STATUSES = {
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
        console.print(Text(f"{count:5d}  {STATUSES[status]}"))
    if summary.errors:
        console.print(Text(f"{len(summary.errors):5d}  have no grade"))
