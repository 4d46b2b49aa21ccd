"""Charts: what is drawn, what is not, and that series are told apart without colour."""

from __future__ import annotations

import re

import pytest

from refute_lab.figures import Estimate, unknown
from refute_lab.report.page import (
    ChartLine,
    ChartRow,
    dot_plot,
    line_chart,
    line_plot,
    marker,
    over_tokens,
    venn,
)

HALF = Estimate(0.5, 0.4, 0.6)


def test_charts_escape_and_leave_out_what_is_not_there() -> None:
    dots = dot_plot(
        [ChartRow("<b>", (HALF, None)), ChartRow("none", (unknown, None))], ["<i>", "b"], "%"
    )
    assert "<b>" not in dots
    assert "&lt;b&gt;" in dots
    assert dots.count('class="dot') == 1
    assert "nan" not in dots
    line = ChartLine("a", ((1.0, HALF), (3.0, unknown), (5.0, Estimate(1.0))))
    lines = line_plot([line], "n", "code accuracy")
    assert lines.count('class="dot') == 2
    assert "nan" not in lines
    assert "code accuracy" in lines
    ys = [float(y) for y in re.findall(r'class="dot[^>]*translate\([\d.]+ ([\d.]+)\)', lines)]
    assert ys[1] < ys[0], "more is higher"


def test_series_differ_in_more_than_colour() -> None:
    looks = [marker(at) for at in range(20)]
    assert len(set(looks)) == 20
    shapes = [re.sub(r"c\d", "", look) for look in looks]
    assert shapes[0] != shapes[8], "the ninth has the first's colour, but another mark"
    lines = line_plot([ChartLine(str(at), ((1.0, HALF), (2.0, HALF))) for at in range(9)], "x", "y")
    assert len(set(re.findall(r"stroke-dasharray=\"([^\"]+)", lines))) >= 3


def test_a_run_keeps_its_mark_in_every_chart_of_a_page() -> None:
    lines = [ChartLine("a", ()), ChartLine("b", ((1.0, HALF), (2.0, HALF)))]
    drawn = line_chart("t", lines, line_plot(lines, "x", "y"))
    assert drawn["legend"] == [(1, "b")], "the first has nothing to show"
    assert set(re.findall(r'class="dot (c\d)', drawn["svg"])) == {"c1"}, "the second one's colour"


def test_tokens_stand_on_a_scale_of_powers_of_ten() -> None:
    chart = over_tokens(
        [ChartLine("a", ((950.0, HALF),)), ChartLine("b", ((95_000.0, HALF),))], "S"
    )
    xs = [float(x) for x in re.findall(r'class="dot[^>]*translate\(([\d.]+)', chart)]
    assert 100 < xs[1] - xs[0] < 600
    assert "100,000" in chart


@pytest.mark.parametrize("sets", [2, 3, 4])
def test_a_venn_diagram_has_a_place_for_every_region(sets: int) -> None:
    regions = {
        tuple(at for at in range(sets) if number & 1 << at): number for number in range(1, 2**sets)
    }
    drawn = venn([f"<{at}>" for at in range(sets)], regions)
    numbers = re.findall(r'class="label"[^>]*>(\d+)<', drawn)
    assert sorted(map(int, numbers)) == sorted(regions.values()), "each once"
    places = re.findall(r'class="label" (x="[\d.]+" y="[\d.]+") text-anchor', drawn)
    assert len(set(places)) == len(regions)
    assert f"({sum(n for where, n in regions.items() if 0 in where)})" in drawn
    assert "<0>" not in drawn
