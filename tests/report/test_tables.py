"""The model of a table, and what is made of it: terminal of any width, CSV, LaTeX; intervals."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest
from rich.cells import cell_len

from refute.results.text.consoles import SafeConsole
from refute_lab.figures import (
    Estimate,
    Figure,
    clustered,
    estimate,
    mean,
    unknown,
    wilson,
)
from refute_lab.report import (
    Grid,
    as_csv,
    as_latex,
    difference_cell,
    estimate_cell,
    p_cell,
    print_grid,
    row_of,
)

GRID = Grid(
    "figures",
    "a title with 100 % & more",
    ("", "rate ∩ x", "difference", "p", "where"),
    (
        row_of(
            "utgen a_b=1 " * 4,
            estimate_cell(Estimate(1 / 3, 0.1, 0.6), 2),
            difference_cell(Estimate(-0.05, -0.1, 0.001)),
            p_cell(0.0001),
            "[Table 2]",
        ),
        row_of("=cmd()", estimate_cell(unknown), difference_cell(unknown), p_cell(math.nan), "Ω"),
    ),
    ("warning: look", "a note"),
)


def printed(width: int) -> list[str]:
    text = io.StringIO()
    print_grid(GRID, SafeConsole(file=text, width=width, highlight=False, markup=False))
    return text.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(width: int) -> None:
    lines = printed(width)
    assert max(map(cell_len, lines)) <= width
    text = " ".join(lines)
    for part in ("33.33", "-5.0", "< 0.001", "Table 2", "=cmd()", "a note"):
        assert part in text
    assert lines[0] == "warning: look", "before the table"


def test_a_narrow_terminal_gets_shorter_intervals_and_tables_below_each_other() -> None:
    assert "33.33 [10.0, 60.0]" in " ".join(printed(200))
    narrow = " ".join(printed(80))
    assert "33.33 [10–60]" in narrow
    assert narrow.count("=cmd()") > 1, "every part says what its rows are"


def test_csv_is_read_back_with_all_digits() -> None:
    head, first, second = csv.reader(io.StringIO(as_csv([GRID])))
    assert head[1:4] == ["rate ∩ x", "rate ∩ x low", "rate ∩ x high"]
    assert float(first[1]) == pytest.approx(100 / 3)
    assert (float(first[2]), float(first[3])) == (10, 60)
    assert second[0] == "'=cmd()", "no formula for a spreadsheet"
    assert second[1:8] == [""] * 7
    both = as_csv([GRID, GRID]).splitlines()
    assert [line for line in both if line.startswith("# figures: ")] == [both[0], both[5]]


def test_latex_is_plain_and_escaped() -> None:
    text = as_latex([GRID])
    assert text.isascii()
    assert r"\begin{tabular}{lrrrl}" in text
    assert r"rate $\cap$ x" in text
    assert r"a\_b=1" in text
    assert r"$<$ 0.001" in text
    assert text.count(r"\\") == 3
    assert "\n[" not in text, "a row that begins with [ is an argument to LaTeX"
    assert all(line.startswith("%") for line in text.splitlines()[:3])


def test_a_comment_of_latex_says_what_the_note_says() -> None:
    text = as_latex([replace(GRID, notes=("F→P: 5 %, χ² of a_b",))])
    assert r"% F$\rightarrow$P: 5 %, $\chi$$^2$ of a_b" in text.splitlines()
    assert text.isascii()


def test_the_interval_of_one_answer_a_problem_is_wilsons() -> None:
    for right, n in ((3, 3), (0, 5), (7, 20), (1, 2)):
        found = estimate(mean([1.0] * right + [0.0] * (n - right)), n)
        wanted = wilson(right, n)
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    three = estimate(Figure(1.0, 0.0), 3)
    assert (round(100 * three.low), three.high) == (44, 1.0)


def test_a_rate_says_how_many_it_is_of_where_its_row_says_another_number() -> None:
    tests = estimate(clustered([(2.0, 2)] * 7 + [(0.0, 0)] * 5), 12)
    assert tests.n == 7
    assert estimate_cell(tests, over=12).text == "100.0 [64.6, 100.0] of 7"
    assert estimate_cell(tests, over=7).text == "100.0 [64.6, 100.0]"
    assert estimate_cell(tests).narrow == "100.0 [65–100] of 7"


def test_an_interval_is_only_given_where_something_is_known() -> None:
    assert math.isnan(estimate(Figure(1.0, 0.0)).low)
    assert math.isnan(estimate(None).value)
    assert math.isnan(estimate(Figure(math.nan, math.nan), 4).value)
    wide = estimate(Figure(0.5, 0.2), 10)
    narrow = estimate(Figure(0.5, 0.05), 10)
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
