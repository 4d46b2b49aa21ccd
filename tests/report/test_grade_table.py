"""What `refute grade` prints of its figures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rich.console import Console

from refute_lab.figures import mean
from refute_lab.report.issue_grids import ISSUE_HEADS, print_fix_grades, print_grades
from refute_lab.swt.grade import Summary
from refute_lab.swt.repair import FixSummary

ALL, HALF = mean([1.0] * 3), mean([1.0, 0.0, 1.0, 0.0])


def grades(console: Console) -> None:
    figures = dict.fromkeys(ISSUE_HEADS, ALL) | {"coverage": HALF, "coverage_other": mean([])}
    print_grades("gold", Summary(3, figures, {}, {}, 0, (), 0, 2), console)


def fixes(console: Console) -> None:
    print_fix_grades("gold", FixSummary(3, ALL, ALL, ALL, {}, (), {}), console)


@pytest.mark.parametrize("shown", [grades, fixes])
def test_three_of_three_are_not_certain(shown: Callable[[Console], None]) -> None:
    console = Console(record=True, width=200)
    shown(console)
    text = console.export_text()
    assert "standard error" not in text
    if shown is fixes:
        assert "100.00 [43.9, 100.0] │  3 │" in text
    else:
        assert "│ 3 │ 100.0 [43.9, 100.0] │" in text, "as many as the row is of"
        assert "50.0 [15.0, 85.0] of 4" in text
        assert "note: ΔC is a mean over 2: the others have no line that it counts" in text


def test_the_table_of_tdd_bench() -> None:
    console = Console(record=True, width=200)
    figures = dict.fromkeys(("applicable", "success", "coverage", "tdd_score"), HALF)
    print_grades("gold", Summary(4, figures, {}, {}, 0, (), 0, 4), console, "tdd")
    text = console.export_text()
    heads = next(line for line in text.splitlines() if "tddScore" in line)
    assert [cell.strip() for cell in heads.split("┃")[2:-1]] == [
        "n", "A", "F→P", "adequacy", "tddScore",
    ]  # fmt: skip
