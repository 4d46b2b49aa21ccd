"""A benchmark of issues, as tables: how it was made, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from refute.issue.benchmark.build import REASONS, BuiltBenchmark
from refute.issue.benchmark.statistics import BenchmarkFigure

__all__ = ["print_built", "print_shares", "print_statistics"]


def print_built(title: str, built: BuiltBenchmark, console: Console) -> None:
    """How many pull requests each stage dropped, and how many are kept."""
    table = Table("stage", "", "pull requests", title=title)
    for reason, stage in REASONS.items():
        if built.dropped.get(reason):
            table.add_row(str(stage), reason, str(built.dropped[reason]))
    if built.unavailable:
        table.add_row("3", "tests cannot be run (mend it, call again)", str(len(built.unavailable)))
    table.add_row("", "kept", str(len(built.rows)))
    console.print(table)


def print_statistics(title: str, figures: Sequence[BenchmarkFigure], console: Console) -> None:
    """Mean and maximum of each figure, by group."""
    table = Table("", "", "mean", "max", "instances", title=title)
    group = ""
    for one in figures:
        name = one.group if one.group != group else ""
        group = one.group
        table.add_row(name, one.name, f"{one.mean:,.1f}", f"{one.max:,.0f}", str(one.instances))
    console.print(table)


def print_shares(title: str, counts: Mapping[str, int], console: Console) -> None:
    """How many instances are of each kind."""
    total = sum(counts.values())
    table = Table("", "instances", "%", title=title)
    for name, count in counts.items():
        table.add_row(name, str(count), f"{100 * count / total:.1f}")
    console.print(table)
