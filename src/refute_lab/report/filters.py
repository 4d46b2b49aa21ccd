"""A filter of fixes as tables and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute_lab.figures import Interval
from refute_lab.report.grids import number
from refute_lab.swt.analysis.filters import FilterRun, Point

FILTER_HEADS = ("", "fixes", "right", "precision", "recall")

MOST_POINTS = 10
"""Points of the trade-off that are printed; JSON has all."""


def filter_document(run: FilterRun) -> dict[str, Any]:
    """`{"proposed", "applied", "unfiltered", "filtered", "curve", "instances", "errors", ...}`."""
    result = run.result
    return {
        "dataset": run.dataset,
        "fixer": run.fixer,
        "tests": run.tests,
        "run": str(run.folder),
        "proposed": result.proposed,
        "applied": result.unfiltered.kept,
        "unfiltered": _point(result.unfiltered),
        "filtered": _point(result.filtered),
        "curve": [_point(point) for point in result.curve],
        "instances": [
            {
                "id": one.id,
                "status": one.status,
                "resolved": one.resolved,
                "kept": one.kept,
                "tests": one.verdict,
                "confidence": one.confidence,
            }
            for one in run.judged
        ],
        "errors": dict(run.errors),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "threshold": point.threshold,
        "kept": point.kept,
        "right": point.right,
        "resolved": point.resolved,
        "precision": number(point.precision),
        "precision_interval": _interval(point.precision_interval),
        "recall": number(point.recall),
        "recall_interval": _interval(point.recall_interval),
    }


def print_filter(run: FilterRun, console: Console) -> None:
    """Precision and recall with and without the filter, and over the confidence."""
    result = run.result
    table = Table(title=Text(run.title, style="bold"), title_justify="left")
    for at, head in enumerate(FILTER_HEADS):
        table.add_column(head, justify="right" if at else "left", overflow="fold")
    for row in filter_rows(run):
        table.add_row(*map(Text, row))
    console.print(table)
    left_out = result.proposed - result.unfiltered.kept
    if left_out:
        console.print(Text(f"{left_out} fixes do not apply", style="dim"))
    console.print(Text("%, with 95 % intervals; right: by the golden tests", style="dim"))


def filter_rows(run: FilterRun) -> list[tuple[str, ...]]:
    """Rows about all fixes, the kept ones, and those kept by tests of some confidence."""
    result = run.result
    rows = [("all that apply", result.unfiltered), ("kept by generated tests", result.filtered)]
    points = _chosen(result.curve[:-1])
    rows += [(f"  confidence ≥ {point.threshold:.2f}", point) for point in points]
    return [
        (
            label,
            str(point.kept),
            str(point.right),
            _share(point.precision, point.precision_interval),
            _share(point.recall, point.recall_interval),
        )
        for label, point in rows
    ]


def _chosen(curve: Sequence[Point]) -> Sequence[Point]:
    """At most `MOST_POINTS`, evenly spread, the first among them."""
    step = max(1, math.ceil(len(curve) / MOST_POINTS))
    return curve[::step]


def _share(value: float, interval: Interval) -> str:
    if math.isnan(value):
        return "-"
    return f"{100 * value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _interval(interval: Interval) -> list[float | None]:
    return [number(interval.low), number(interval.high)]
