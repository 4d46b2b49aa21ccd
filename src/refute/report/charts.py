"""Charts as SVG text, for pages that load nothing: shares in [0, 1] with their standard errors.

Every text is escaped. Colours are CSS variables `--c0` to `--c7` of the page, so that a chart reads
in light and in dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from refute.figures import Figure

__all__ = ["COLOURS", "ChartLine", "ChartRow", "dot_plot", "line_plot", "trade_off"]

COLOURS = 8
LABEL = 6.6
"""Width of a letter of the labels, in pixels, about."""


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One row of a dot plot: a figure of several series, None where one has none."""

    label: str
    figures: tuple[Figure | None, ...]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a line plot."""

    label: str
    points: tuple[tuple[float, Figure], ...]
    """(x, figure), x rising."""


def dot_plot(rows: Sequence[ChartRow], series: Sequence[str]) -> str:
    """Figures as dots on a scale from 0 to 100 %, with bars of one standard error either way."""
    left = 16 + LABEL * max((len(row.label) for row in rows), default=0)
    width, pitch, gap = 760.0, 17.0, 14.0
    right = width - 110
    parts = []
    y = 24.0
    for row in rows:
        top = y
        if not any(figure and not math.isnan(figure.value) for figure in row.figures):
            continue
        for at, figure in enumerate(row.figures):
            if figure is not None and not math.isnan(figure.value):
                parts.append(_dot_row(figure, at, y, left, right, series[at]))
                y += pitch
        parts.append(_text(left - 10, (top + y - pitch) / 2 + 4, row.label, anchor="end"))
        y += gap
    height = y + 12
    grid = [_vertical(left + (right - left) * at / 5, 10, y - 8, f"{20 * at} %") for at in range(6)]
    return _svg(width, height, [*grid, *parts], "Figures with standard errors")


def _dot_row(figure: Figure, at: int, y: float, left: float, right: float, name: str) -> str:
    def place(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), 1.0)

    x, bars, error = place(figure.value), "", ""
    if not math.isnan(figure.stderr):
        low, high = place(figure.value - figure.stderr), place(figure.value + figure.stderr)
        bars = f'<path class="whisker c{at % COLOURS}" d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        error = f" ± {100 * figure.stderr:.2f}"
    dot = f'<circle class="dot c{at % COLOURS}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    value = f"{100 * figure.value:.2f}{error}"
    title = f"<title>{escape(name)}: {value} %</title>"
    return f"<g>{title}{bars}{dot}{_text(right + 10, y + 4, value, kind='value')}</g>"


def line_plot(lines: Sequence[ChartLine], x_label: str) -> str:
    """Figures over a small whole number (a round, a number of tests), y from 0 to 100 %."""
    xs = sorted({x for line in lines for x, _ in line.points})
    low, high = (xs[0], xs[-1]) if xs else (0.0, 1.0)
    left, right, top, bottom = 52.0, 740.0, 14.0, 270.0

    def across(x: float) -> float:
        return left + 14 + (right - left - 28) * ((x - low) / (high - low) if high > low else 0.5)

    def up(value: float) -> float:
        return bottom - (bottom - top) * min(max(value, 0.0), 1.0)

    parts = []
    for fifth in range(6):
        y = up(fifth / 5)
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(_text(left - 8, y + 4, f"{20 * fifth} %", anchor="end", kind="axis"))
    for x in xs:
        parts.append(_text(across(x), bottom + 18, f"{x:g}", anchor="middle", kind="axis"))
    parts.append(_text((left + right) / 2, bottom + 38, x_label, anchor="middle", kind="axis"))
    for at, line in enumerate(lines):
        shift = 4.0 * (at - (len(lines) - 1) / 2)  # so that bars of equal x do not hide each other
        shown = [(across(x) + shift, x, figure) for x, figure in line.points]
        shown = [entry for entry in shown if not math.isnan(entry[2].value)]
        path = "L".join(f"{x:.1f} {up(figure.value):.1f}" for x, _, figure in shown)
        if len(shown) > 1:
            parts.append(f'<path class="line c{at % COLOURS}" d="M{path}"/>')
        for place, x, figure in shown:
            parts.append(_point(place, x, figure, up, at, line.label))
    return _svg(760, bottom + 50, parts, x_label)


def trade_off(lines: Sequence[ChartLine]) -> str:
    """Precision (y) over recall (x), both from 0 to 100 %."""
    left, right, top, bottom = 52.0, 460.0, 14.0, 300.0

    def across(x: float) -> float:
        return left + (right - left) * x

    def up(value: float) -> float:
        return bottom - (bottom - top) * min(max(value, 0.0), 1.0)

    parts = []
    for fifth in range(6):
        share, label = fifth / 5, f"{20 * fifth} %"
        parts.append(f'<path class="grid" d="M{left:.1f} {up(share):.1f}H{right:.1f}"/>')
        parts.append(_text(left - 8, up(share) + 4, label, anchor="end", kind="axis"))
        parts.append(_vertical(across(share), top, bottom + 4, label))
    parts.append(_text((left + right) / 2, bottom + 38, "recall", anchor="middle", kind="axis"))
    for at, line in enumerate(lines):
        shown = [(x, figure) for x, figure in line.points if not math.isnan(figure.value)]
        path = "L".join(f"{across(x):.1f} {up(figure.value):.1f}" for x, figure in shown)
        if len(shown) > 1:
            parts.append(f'<path class="line c{at % COLOURS}" d="M{path}"/>')
        parts += [_point(across(x), 100 * x, figure, up, at, line.label) for x, figure in shown]
    return _svg(480, bottom + 50, parts, "Precision over recall")


def _point(place: float, x: float, figure: Figure, up: object, at: int, name: str) -> str:
    assert callable(up)
    bars, error = "", ""
    if not math.isnan(figure.stderr):
        low, high = up(figure.value - figure.stderr), up(figure.value + figure.stderr)
        bars = f'<path class="whisker c{at % COLOURS}" d="M{place:.1f} {low:.1f}V{high:.1f}"/>'
        error = f" ± {100 * figure.stderr:.2f}"
    title = f"<title>{escape(name)}, {x:g}: {100 * figure.value:.2f}{error} %</title>"
    dot = (
        f'<circle class="dot c{at % COLOURS}" cx="{place:.1f}" cy="{up(figure.value):.1f}" r="4"/>'
    )
    return f"<g>{title}{bars}{dot}</g>"


def _vertical(x: float, top: float, bottom: float, label: str) -> str:
    line = f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
    return line + _text(x, bottom + 14, label, anchor="middle", kind="axis")


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str], name: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px"'
    return f'<svg {size} role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
