"""The figures of a benchmark run, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.core.remarks import few
from refute_lab.benches import BenchSummary, ModelCost
from refute_lab.benches.issues import IssueBenchSettings, PredictionRecord
from refute_lab.figures import IN_WORDS, Figure, estimate, in_words
from refute_lab.report.grids import Grid, number, print_grid
from refute_lab.report.issue_grids import HEADS, figures_row
from refute_lab.runs.journal import ErrorRecord
from refute_lab.swt.grade import Columns, GradeRecord, Grades, Summary, read_grade
from refute_lab.swt.repair import FixRecord, FixSummary

_TESTS = {
    "attack_rate": "attack rate",
    "output_accuracy": "output accuracy",
    "accuracy_and_attack": "accuracy ∩ attack",
}
_KEPT = {f"kept_{name}": f"{label}, kept tests" for name, label in _TESTS.items()}
_CODE = {
    "code_accuracy": "code accuracy, first choice",
    "code_accuracy_top3": "code accuracy, first three",
    "written_accuracy": "programs written anew, right",
    "oracle_accuracy": "... one of them right",
    "pass_rate": "private tests passed",
}
BY_QUESTION = "by a question, not by a continuation: the model continues no answer"
ROWS = {**_TESTS, **_KEPT, **_CODE}
"""Figures of the table with their labels; `kept_` ones only where a model wrote the tests."""


def bench_document(result: BenchSummary) -> dict[str, Any]:
    """`{"dataset", "method", "n", "metrics": {name: {"value", "stderr", "n"}}, "run", ...}`."""
    names = [*ROWS, "hit_rate", "tested", "fix_precision"]
    settings = result.settings
    document: dict[str, Any] = {
        "dataset": settings.dataset,
        "method": settings.method,
        "n": result.n,
        "metrics": {n: figure_document(result.figures[n]) for n in names if n in result.figures},
        "run": str(result.run),
        "abstained": result.abstained,
        "wrong_fixes": result.wrong_fixes,
        "errors": dict(result.errors),
        "seconds_median": number(result.seconds),
    }
    if result.cost is None:
        return document
    return {
        **document,
        "missing": result.missing,
        "model": settings.model,
        "tester": settings.tester,
        "options": {} if settings.options is None else asdict(settings.options),
        "runs": [
            {name: figure_document(figures[name]) for name in names if name in figures}
            for figures in result.by_run
        ],
        "rounds": [figure_document(figure) for figure in result.rounds],
        "cost": asdict(result.cost),
        "votes_by_question": result.questions,
    }


def print_bench(result: BenchSummary, console: Console) -> None:
    """The same run prints the same table, however often it was interrupted."""
    settings = result.settings
    runs = f", {settings.runs} runs" if settings.runs > 1 else ""
    model = f" with {settings.model}" if settings.model is not None else ""
    title = f"{settings.dataset}, method {settings.method}{model}, {result.n} problems{runs}"
    table = Table(title=Text(title, style="bold"), title_justify="left")
    table.add_column("")
    for head in IN_WORDS:
        table.add_column(head, justify="right")
    problems = -(-result.n // settings.runs)
    for name, label in ROWS.items():
        if name in result.figures:
            table.add_row(label, *in_words(estimate(result.figures[name], problems)))
    for place, figure in enumerate(result.rounds):
        label = f"code accuracy after round {place}" if place else "code accuracy at the start"
        table.add_row(label, *in_words(estimate(figure, problems)))
    console.print(table)
    fixed = result.n - result.abstained
    right = fixed - result.wrong_fixes
    parts = ["the code as it is, no method"]
    if settings.method != "none":
        parts = [f"fixes: {right} right, {result.wrong_fixes} wrong, {result.abstained} abstained"]
    if result.errors:
        parts.append(f"{len(result.errors)} without a result (not counted)")
    if result.missing:
        parts.append(f"{result.missing} not done yet")
    console.print(Text("; ".join(parts)))
    if result.cost is not None:
        console.print(Text(cost_text(result.cost)))
    if result.questions:
        console.print(Text(f"{result.questions:,} votes {BY_QUESTION}"))


def cost_text(cost: ModelCost) -> str:
    """Format the costs that do not depend on how often the run was interrupted."""
    price = "price not known" if cost.usd is None else f"${cost.usd:.4f}"
    too_long = f", {cost.too_long:,} too long for the model" if cost.too_long else ""
    return (
        f"{cost.samples:,} samples, {cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens, "
        f"{price}; {cost.unreadable:,} answers unreadable{too_long}, "
        f"{cost.saved:,} votes not needed"
    )


def figure_document(figure: Figure) -> dict[str, float | int | None]:
    """`{"value", "stderr", "n"}`, null where unknown; `n`: problems that it is a mean over."""
    return {"value": number(figure.value), "stderr": number(figure.stderr), "n": figure.n}


def issue_bench_document(
    settings: IssueBenchSettings,
    ids: Sequence[str],
    records: Mapping[str, PredictionRecord | ErrorRecord],
    directory: Path,
) -> dict[str, Any]:
    """`{"dataset", "method", "model", "n", "status": {...}, "run", "cost"}`."""
    status = {"predicted": 0, "abstained": 0, "error": 0}
    for record in records.values():
        status[record.status] += 1
    done = (record for record in records.values() if not isinstance(record, ErrorRecord))
    tallies = [record.tally for record in done if record.tally is not None]
    prices = [tally.usd for tally in tallies if tally.usd is not None]
    return {
        "dataset": settings.dataset,
        "method": settings.method,
        "model": settings.model,
        "n": len(ids),
        "status": status,
        "run": str(directory),
        "cost": {
            "usd": round(sum(prices), 6) if len(prices) == len(tallies) else None,
            "samples": sum(tally.samples + tally.cached for tally in tallies),
            "tokens": sum(t.prompt_tokens + t.completion_tokens for t in tallies),
        },
    }


# -- grades ----------------------------------------------------------------------------------------


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
