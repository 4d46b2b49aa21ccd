"""A benchmark of issues, as tables: how it was made, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from refute_lab.report.grids import Grid, count_cell, row_of
from refute_lab.swt.building.build import REASONS, BuiltBenchmark
from refute_lab.swt.building.statistics import BenchmarkFigure


def print_built(title: str, built: BuiltBenchmark, console: Console) -> None:
    """How many pull requests each stage dropped, and how many are kept."""
    table = Table("stage", "", "pull requests", title=title)
    for reason, stage in REASONS.items():
        if built.dropped.get(reason):
            table.add_row(str(stage), reason, str(built.dropped[reason]))
    if built.unavailable:
        table.add_row("3", "tests cannot be run (fix it, call again)", str(len(built.unavailable)))
    table.add_row("", "kept", str(len(built.rows)))
    console.print(table)


def statistics_grids(
    title: str,
    figures: Sequence[BenchmarkFigure],
    repositories: Mapping[str, int],
    changes: Mapping[str, int],
) -> list[Grid]:
    """Table 1, Figure 2, and what golden tests do to tests."""
    rows = [
        row_of(one.group, one.name, *(count_cell(value, ",.1f") for value in (one.mean, one.max)),
               count_cell(one.instances))
        for one in figures
    ]  # fmt: skip
    return [
        Grid("swt-1", title, ("", "figure", "mean", "max", "instances"), tuple(rows)),
        _shares("repositories", "instances by repository", repositories),
        _shares("changes", "golden tests that", changes),
    ]


def _shares(name: str, title: str, counts: Mapping[str, int]) -> Grid:
    """How many instances are of each kind."""
    total = sum(counts.values())
    rows = [
        row_of(kind, count_cell(count), count_cell(100 * count / total, ".1f"))
        for kind, count in counts.items()
    ]
    return Grid(name, title, ("", "instances", "%"), tuple(rows))
