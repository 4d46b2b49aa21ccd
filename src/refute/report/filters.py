"""A filter of fixes as tables and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.issue.analysis.filters import FilterResult, Point
from refute.issue.analysis.inference import Interval
from refute.issue.filtering import Judged

__all__ = ["filter_document", "print_filter"]

MOST_POINTS = 10
"""Points of the trade-off that are printed; JSON has all."""


def filter_document(
    result: FilterResult, judged: Sequence[Judged], errors: Mapping[str, str]
) -> dict[str, Any]:
    """`{"proposed", "applied", "unfiltered", "filtered", "curve", "instances", "errors"}`."""
    return {
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
            for one in judged
        ],
        "errors": dict(errors),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "threshold": point.threshold,
        "kept": point.kept,
        "right": point.right,
        "resolved": point.resolved,
        "precision": _number(point.precision),
        "precision_interval": _interval(point.precision_interval),
        "recall": _number(point.recall),
        "recall_interval": _interval(point.recall_interval),
    }


def print_filter(title: str, result: FilterResult, console: Console) -> None:
    """Precision and recall with and without the filter, and over the confidence."""
    table = Table(title=Text(title, style="bold"), title_justify="left")
    for at, head in enumerate(("", "fixes", "right", "precision", "recall")):
        table.add_column(head, justify="right" if at else "left", overflow="fold")
    _add(table, "all that apply", result.unfiltered)
    _add(table, "kept by generated tests", result.filtered)
    for point in _chosen(result.curve[:-1]):
        _add(table, f"  confidence ≥ {point.threshold:.2f}", point)
    console.print(table)
    left_out = result.proposed - result.unfiltered.kept
    if left_out:
        console.print(Text(f"{left_out} fixes do not apply", style="dim"))
    console.print(Text("%, with 95 % intervals; right: by the golden tests", style="dim"))


def _add(table: Table, label: str, point: Point) -> None:
    precision = _share(point.precision, point.precision_interval)
    recall = _share(point.recall, point.recall_interval)
    table.add_row(*map(Text, (label, str(point.kept), str(point.right), precision, recall)))


def _chosen(curve: Sequence[Point]) -> Sequence[Point]:
    """At most `MOST_POINTS`, evenly spread, the first among them."""
    step = max(1, math.ceil(len(curve) / MOST_POINTS))
    return curve[::step]


def _share(value: float, interval: Interval) -> str:
    if math.isnan(value):
        return "-"
    return f"{100 * value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _interval(interval: Interval) -> list[float | None]:
    return [_number(interval.low), _number(interval.high)]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
