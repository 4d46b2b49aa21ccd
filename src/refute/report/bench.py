"""The figures of a benchmark run, as a table and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.function.bench import Result
from refute.function.metrics import Figure

__all__ = ["bench_document", "print_bench"]

_ROWS = {
    "attack_rate": "attack rate",
    "output_accuracy": "output accuracy",
    "accuracy_and_attack": "accuracy ∩ attack",
    "code_accuracy": "code accuracy, first choice",
    "code_accuracy_top3": "code accuracy, first three",
    "pass_rate": "private tests passed",
}
"""Figures of the table. The first five are the document's `metrics`."""


def bench_document(result: Result) -> dict[str, Any]:
    """`{"dataset", "method", "n", "metrics": {name: {"value", "stderr"}}, "run", ...}`."""
    names = [*_ROWS, "hit_rate", "tested", "fix_precision"]
    return {
        "dataset": result.settings.dataset,
        "method": result.settings.method,
        "n": result.n,
        "metrics": {name: _figure(result.figures[name]) for name in names},
        "run": str(result.run),
        "abstained": result.abstained,
        "wrong_fixes": result.wrong_fixes,
        "errors": dict(result.errors),
        "seconds_median": _number(result.seconds),
    }


def print_bench(result: Result, console: Console) -> None:
    """The same run prints the same table, however often it was interrupted."""
    settings = result.settings
    title = f"{settings.dataset}, method {settings.method}, {result.n} problems"
    table = Table(title=Text(title, style="bold"), title_justify="left")
    for name, justify in (("", "left"), ("%", "right"), ("standard error", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, label in _ROWS.items():
        figure = result.figures[name]
        table.add_row(label, _percent(figure.value), _percent(figure.stderr))
    console.print(table)
    fixed = result.n - result.abstained
    right = fixed - result.wrong_fixes
    parts = ["the code as it is, no method"]
    if settings.method != "none":
        parts = [f"fixes: {right} right, {result.wrong_fixes} wrong, {result.abstained} abstained"]
    if result.errors:
        parts.append(f"{len(result.errors)} without a result (not counted)")
    console.print(Text("; ".join(parts)))


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": _number(figure.value), "stderr": _number(figure.stderr)}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
