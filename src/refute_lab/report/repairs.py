"""Fixes of issues: their grades, and what `refute fix` found, as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from refute_lab.report.bench import figure_document
from refute_lab.report.intervals import IN_WORDS, estimate, in_words
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grading.repair_tasks import FixRecord, FixSummary

if TYPE_CHECKING:
    from refute.api.fixing import FixResult

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
_COLOURS = {"fixed": "green", "proposed": "yellow", "cannot tell": "red"}


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


def fix_document(result: FixResult) -> dict[str, Any]:
    """`{"method", "state", "reasons", "patch", "tests", "failing", "confidence", ...}`."""
    from refute.report.diffs import diff_document, difference_document

    claim = result.claim
    sure = result.found.prediction.confidence if result.patch else 0.0
    document = {
        "method": result.method,
        "state": claim.state,
        "reasons": list(claim.reasons),
        "patch": result.patch,
        "tests": claim.tests,
        "failing": list(claim.failing),
        "confidence": None if sure is None else round(sure, 4),
        "separating": [difference_document(one) for one in result.separating],
        "steps": list(result.found.steps),
    }
    if result.changes is None:
        return document
    if isinstance(result.changes, str):
        return {**document, "changes": {"reason": result.changes}}
    return {**document, "changes": diff_document(result.changes)}


def print_fix(result: FixResult, console: Console) -> None:
    """The fix and its tests as diffs, what else it changes, what is claimed and why."""
    from refute.report.diffs import differences_table, print_changes
    from refute.report.issues import confidence_text

    claim = result.claim
    for patch in (result.patch, claim.tests if result.patch else ""):
        if patch.strip():
            console.print(Syntax(patch, "diff", background_color="default", word_wrap=True))
    for id in claim.failing:
        console.print(Text.assemble(("fails now, passes with the fix: ", "green"), (id, "bold")))
    if result.changes is not None:
        print_changes(result.changes, console)
    if result.separating:
        console.print(Text("another fix, which the tests call as good, differs", style="bold"))
        console.print(differences_table(result.separating[:1], ("this fix", "the other")))
    first, *more = claim.reasons or ("",)
    line = Text.assemble((f"{claim.state}: ", f"bold {_COLOURS[claim.state]}"), first)
    console.print(line)
    for reason in more:
        console.print(Text(f"  {reason}", style="dim"))
    if result.patch:
        console.print(Text(confidence_text(result.found.prediction.confidence, result.method)))
