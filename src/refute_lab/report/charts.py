"""Charts as SVG text, for pages that load nothing: shares in [0, 1] with their intervals.

Every text is escaped. A series has a colour (the page's `--c0` to `--c7`), a mark and a dash, whose
numbers have no common divisor, so that series are separate without colour, and many of them. Both
axes say what they show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from refute_lab.figures import Estimate
from refute_lab.report.grids import estimate_cell

COLOURS = 8
LABEL = 6.6
"""Width of a letter of the labels, in pixels, about."""
_MARKS = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",  # circle
    "M-3.7 -3.7H3.7V3.7H-3.7Z",  # square
    "M0 -5L4.8 3.6H-4.8Z",  # triangle
    "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",  # diamond
    "M0 5L4.8 -3.6H-4.8Z",  # triangle, down
    "M-1.6 -5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",  # cross
    "M-4 -2L-2 -4L0 -2L2 -4L4 -2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0Z",  # x
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One row of a dot plot: a figure of several series, None where one has none."""

    label: str
    figures: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a line plot."""

    label: str
    points: tuple[tuple[float, Estimate], ...]
    """(x, figure), x rising. Without one nothing is drawn, and later lines keep their marks."""


def marker(at: int, x: float = 0, y: float = 0) -> str:
    """The mark of a series."""
    d = _MARKS[at % len(_MARKS)]
    return f'<path class="dot c{at % COLOURS}" transform="translate({x:.1f} {y:.1f})" d="{d}"/>'


def dot_plot(rows: Sequence[ChartRow], series: Sequence[str], x_label: str) -> str:
    """Figures as marks on a scale from 0 to 100 %, with their intervals."""
    left = 16 + LABEL * max((len(row.label) for row in rows), default=0)
    width, pitch, gap = 760.0, 17.0, 14.0
    right = width - 170
    parts = []
    y = 24.0
    for row in rows:
        top = y
        for at, figure in enumerate(row.figures):
            if figure is not None and not math.isnan(figure.value):
                parts.append(_dot_row(figure, at, y, left, right, series[at]))
                y += pitch
        if y > top:
            parts.append(_text(left - 10, (top + y - pitch) / 2 + 4, row.label, anchor="end"))
            y += gap
    grid = [_vertical(left + (right - left) * at / 5, 10, y - 8, f"{20 * at} %") for at in range(6)]
    name = _text((left + right) / 2, y + 26, x_label, anchor="middle", kind="axis")
    return _svg(width, y + 36, [*grid, *parts, name], x_label)


def _dot_row(figure: Estimate, at: int, y: float, left: float, right: float, name: str) -> str:
    def place(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), 1.0)

    bars = ""
    if not math.isnan(figure.low):
        d = f"M{place(figure.low):.1f} {y:.1f}H{place(figure.high):.1f}"
        bars = f'<path class="whisker c{at % COLOURS}" d="{d}"/>'
    value = estimate_cell(figure).text
    title = f"<title>{escape(name)}: {value}</title>"
    shown = _text(right + 10, y + 4, value, kind="value")
    return f"<g>{title}{bars}{marker(at, place(figure.value), y)}{shown}</g>"


def line_plot(
    lines: Sequence[ChartLine], x_label: str, y_label: str, *, shares: bool = False
) -> str:
    """Figures over a small whole number (a round, a number of tests), y from 0 to 100 %.

    `shares`: x is a share as well, from 0 to 100 %, and the points stand where they are.
    """
    xs = (
        [at / 5 for at in range(6)]
        if shares
        else sorted({x for one in lines for x, _ in one.points})
    )
    low, high = (xs[0], xs[-1]) if xs else (0.0, 1.0)

    def across(x: float) -> float:
        return (x - low) / (high - low) if high > low else 0.5

    ticks = [(x, f"{100 * x:.0f} %" if shares else f"{x:g}") for x in xs]
    spread = 0.0 if shares else 4.0
    return _plot(lines, across, ticks, x_label, y_label, spread=spread)


def over_tokens(lines: Sequence[ChartLine], y_label: str) -> str:
    """Figures over the tokens that they cost, on a scale of powers of ten."""
    xs = [x for line in lines for x, _ in line.points]
    first = math.floor(math.log10(min(xs)))
    last = max(math.ceil(math.log10(max(xs))), first + 1)

    def across(x: float) -> float:
        return (math.log10(x) - first) / (last - first)

    named = (1, 2, 5) if last - first < 3 else (1,)
    ticks = [
        (float(step * 10**power), f"{step * 10**power:,}" if step in named else "")
        for power in range(max(first, 0), last)
        for step in (1, 2, 5)
    ]
    ticks.append((float(10**last), f"{10**last:,}"))
    return _plot(lines, across, ticks, "tokens for one problem (log)", y_label, spread=0.0)


def _plot(
    lines: Sequence[ChartLine],
    across: Callable[[float], float],
    ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_label: str,
    *,
    spread: float,
) -> str:
    """`across` places an x in [0, 1]. `spread`: pixels between lines at one x, so that intervals do
    not hide each other."""
    left, right, top, bottom = 70.0, 740.0, 14.0, 270.0

    def place(x: float) -> float:
        return left + 20 + (right - left - 40) * across(x)

    def up(value: float) -> float:
        return bottom - (bottom - top) * min(max(value, 0.0), 1.0)

    parts = []
    for fifth in range(6):
        y = up(fifth / 5)
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(_text(left - 8, y + 4, f"{20 * fifth} %", anchor="end", kind="axis"))
    parts += [_vertical(place(x), bottom, bottom + 4, label) for x, label in ticks]
    parts.append(_text((left + right) / 2, bottom + 40, x_label, anchor="middle", kind="axis"))
    parts.append(_sideways(16, (top + bottom) / 2, y_label))
    for at, line in enumerate(lines):
        shift = spread * (at - (len(lines) - 1) / 2)
        shown = [(place(x) + shift, x, one) for x, one in line.points if not math.isnan(one.value)]
        path = "L".join(f"{x:.1f} {up(figure.value):.1f}" for x, _, figure in shown)
        if len(shown) > 1:
            dash = f' stroke-dasharray="{_DASHES[at % len(_DASHES)]}"' if at % len(_DASHES) else ""
            parts.append(f'<path class="line c{at % COLOURS}"{dash} d="M{path}"/>')
        parts += [_point(at_x, x, figure, up, at, line.label) for at_x, x, figure in shown]
    return _svg(760, bottom + 50, parts, f"{y_label} over {x_label}")


def _point(
    place: float, x: float, figure: Estimate, up: Callable[[float], float], at: int, name: str
) -> str:
    bars = ""
    if not math.isnan(figure.low):
        d = f"M{place:.1f} {up(figure.low):.1f}V{up(figure.high):.1f}"
        bars = f'<path class="whisker c{at % COLOURS}" d="{d}"/>'
    title = f"<title>{escape(name)}, {x:,.4g}: {estimate_cell(figure).text}</title>"
    return f"<g>{title}{bars}{marker(at, place, up(figure.value))}</g>"


def _vertical(x: float, top: float, bottom: float, label: str) -> str:
    line = f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
    return line + (_text(x, bottom + 14, label, anchor="middle", kind="axis") if label else "")


def _sideways(x: float, y: float, text: str) -> str:
    turned = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"'
    return f'<text class="axis" {turned} text-anchor="middle">{escape(text)}</text>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str], name: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px"'
    return (
        f'<svg class="chart" {size} role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


# -- venn ------------------------------------------------------------------------------------------


MOST_SETS = 4
_WIDTH, _HEIGHT = 440, 300
_LONGEST = 58
"""Letters of a name that fit under the picture."""

_Shape = tuple[float, float, float, float, float]
"""Centre, half axes, and degrees of turning."""
_SHAPES: Mapping[int, tuple[_Shape, ...]] = {
    2: ((165, 150, 115, 115, 0), (275, 150, 115, 115, 0)),
    3: ((165, 110, 95, 95, 0), (275, 110, 95, 95, 0), (220, 195, 95, 95, 0)),
    4: (
        (150, 165, 140, 78, 45),
        (215, 125, 140, 72, 45),
        (225, 125, 140, 72, 135),
        (290, 165, 140, 78, 135),
    ),
}


def venn(names: Sequence[str], regions: Mapping[tuple[int, ...], int]) -> str:
    """`regions`: places of sets -> number of things in just these. Two to four sets."""
    shapes, parts = _SHAPES[len(names)], []
    for at, (x, y, a, b, turn) in enumerate(shapes):
        parts.append(
            f'<ellipse class="set c{at % COLOURS}" cx="{x}" cy="{y}" rx="{a}" ry="{b}" '
            f'transform="rotate({turn} {x} {y})" style="fill: var(--c{at % COLOURS})"/>'
        )
    for places, (x, y) in _labels(len(names)).items():
        parts.append(_words(x, y + 5, str(regions.get(places, 0)), "label"))
        if len(places) == 1:
            parts.append(_words(x, y + 19, "ABCD"[places[0]], "value"))
    height = _HEIGHT
    for at, name in enumerate(names):
        total = sum(count for places, count in regions.items() if at in places)
        height += 18
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
        line = escape(f"{'ABCD'[at]}: {short} ({total})")
        parts.append(f'<text class="label" x="12" y="{height - 6}">{line}</text>')
    size = f'viewBox="0 0 {_WIDTH} {height}" style="max-width:{_WIDTH}px"'
    return f'<svg class="venn" {size} role="img" aria-label="Venn diagram">{"".join(parts)}</svg>'


def _words(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'


@cache
def _labels(sets: int) -> Mapping[tuple[int, ...], tuple[float, float]]:
    """For each region the point that lies deepest in it, found on a raster."""
    best: dict[tuple[int, ...], tuple[float, float, float]] = {}
    for x in range(4, _WIDTH, 4):
        for y in range(4, _HEIGHT, 4):
            depths = [_depth(x, y, shape) for shape in _SHAPES[sets]]
            region = tuple(at for at, depth in enumerate(depths) if depth > 0)
            depth = min(map(abs, depths))
            if region and depth > best.get(region, (-1.0, 0.0, 0.0))[0]:
                best[region] = (depth, float(x), float(y))
    return {region: (x, y) for region, (_, x, y) in best.items()}


def _depth(x: float, y: float, shape: _Shape) -> float:
    """Estimate the depth inside the shape in pixels (negative: outside)."""
    cx, cy, a, b, turn = shape
    angle = math.radians(turn)
    along = (x - cx) * math.cos(angle) + (y - cy) * math.sin(angle)
    aside = -(x - cx) * math.sin(angle) + (y - cy) * math.cos(angle)
    return (1 - math.hypot(along / a, aside / b)) * min(a, b)
