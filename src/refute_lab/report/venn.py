"""A Venn diagram of up to four sets as SVG text: numbers in fixed shapes, not areas to scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape

from refute_lab.report.charts import COLOURS

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
        parts.append(_text(x, y + 5, str(regions.get(places, 0)), "label"))
        if len(places) == 1:
            parts.append(_text(x, y + 19, "ABCD"[places[0]], "value"))
    height = _HEIGHT
    for at, name in enumerate(names):
        total = sum(count for places, count in regions.items() if at in places)
        height += 18
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
        line = escape(f"{'ABCD'[at]}: {short} ({total})")
        parts.append(f'<text class="label" x="12" y="{height - 6}">{line}</text>')
    size = f'viewBox="0 0 {_WIDTH} {height}" style="max-width:{_WIDTH}px"'
    return f'<svg class="venn" {size} role="img" aria-label="Venn diagram">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, kind: str) -> str:
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
    """How far inside of the shape (negative: outside), in pixels, about."""
    cx, cy, a, b, turn = shape
    angle = math.radians(turn)
    along = (x - cx) * math.cos(angle) + (y - cy) * math.sin(angle)
    aside = -(x - cx) * math.sin(angle) + (y - cy) * math.cos(angle)
    return (1 - math.hypot(along / a, aside / b)) * min(a, b)
