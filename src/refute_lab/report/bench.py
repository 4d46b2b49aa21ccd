"""The figures of a benchmark run, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute_lab.benches import BenchSummary
from refute_lab.benches.issues import IssueBenchSettings, PredictionRecord
from refute_lab.benches.summary import ModelCost
from refute_lab.figures import IN_WORDS, Figure, estimate, in_words
from refute_lab.report.grids import number
from refute_lab.runs.records import ErrorRecord

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
    """What does not depend on how often the run was interrupted."""
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
