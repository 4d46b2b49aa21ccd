"""Charts: what is drawn, what is not, and that series are told apart without colour."""

from __future__ import annotations

import re

from refute_lab.figures import Estimate, unknown
from refute_lab.report.page import (
    ChartLine,
    ChartRow,
    dot_plot,
    line_chart,
    line_plot,
    marker,
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
