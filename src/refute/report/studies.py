"""Analyses of graded runs over issues, on the terminal; and the cells of their tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.figures import Figure
from refute.issue.analysis.groups import Share
from refute.issue.analysis.overlap import Ensemble, Independence, Pair
from refute.issue.analysis.sampling import RunCost
from refute.issue.analysis.study import Breakdown, Study
from refute.report.paper import paper_figures

__all__ = [
    "COST_HEADS",
    "FIX_HEADS",
    "PAIR_HEADS",
    "cautions",
    "cost_cells",
    "figure_heads",
    "figure_rows",
    "ideal_text",
    "independence_cells",
    "pair_cells",
    "print_study",
    "region_name",
    "share_text",
]

HEADS = {
    "applicable": "A",
    "fail_to_any": "F→×",
    "fail_to_pass": "F→P",
    "pass_to_pass": "P→P",
    "success": "S",
    "coverage": "ΔC",
    "coverage_success": "ΔC of S",
    "coverage_other": "ΔC of others",
}
"""Figures of Tables 2 and 3 and the heads of their columns."""
PAIR_HEADS = ("", "n", "both", "only first", "only second", "difference of S", "p", "p (Holm)")
FIX_HEADS = ("", "n", "tests", "fixes", "both", "both, if independent", "p", "p (χ²)")
COST_HEADS = ("", "instances", "samples", "tokens", "US$", "a piece", "per success", "hours")


def print_study(study: Study, console: Console) -> None:
    """The tables of a study."""
    console.print(_figures(study))
    if any(subject.pass_at for subject in study.subjects):
        console.print(_samples(study))
    for breakdown in study.breakdowns:
        if len(breakdown.groups) > 1:
            console.print(_breakdown(breakdown, study))
    if study.pairs:
        console.print(_regions(study))
        console.print(_pairs(study))
    for name, rows in study.fixes:
        console.print(_fixes(name, rows, study))
    if any(subject.cost and subject.cost.samples for subject in study.subjects):
        console.print(_costs(study))
    for line in cautions(study):
        console.print(Text(f"note: {line}", style="dim"))


def _figures(study: Study) -> Table:
    table = _table(f"{Path(study.dataset).name}: % of instances ± standard error", figure_heads())
    runs = len(study.subjects)
    for at, row in enumerate(figure_rows(study)):
        table.add_row(*(Text(cell, style="" if at < runs else "dim") for cell in row))
    return table


def figure_heads() -> tuple[str, ...]:
    """Heads of the columns of `figure_rows`."""
    return ("", "n", *HEADS.values())


def figure_rows(study: Study) -> list[tuple[str, ...]]:
    """One row for each run, then those of the paper on this dataset."""
    rows = []
    for subject in study.subjects:
        summary, missing = subject.summary, subject.run.missing
        size = f"{summary.n}" + (f" (+{missing})" if missing else "")
        rows.append((subject.label, size, *(figure_text(summary.figures[n]) for n in HEADS)))
    paper: dict[str, dict[str, float]] = {}
    for figure in paper_figures(study.dataset):
        label = f"paper: {figure.method}, {figure.model} ({figure.where})"
        paper.setdefault(label, {})[figure.metric] = figure.value
    for label, values in paper.items():
        cells = (f"{values[name]:.1f}" if name in values else "" for name in HEADS)
        rows.append((label, "", *cells))
    return rows


def _samples(study: Study) -> Table:
    most = max(len(subject.pass_at) for subject in study.subjects)
    table = _table("S of the best of k samples", ["", *(f"pass@{k + 1}" for k in range(most))])
    for subject in study.subjects:
        if subject.pass_at:
            cells = [figure_text(figure) for figure in subject.pass_at]
            table.add_row(*map(Text, (subject.label, *cells, *[""] * (most - len(cells)))))
    return table


def _breakdown(breakdown: Breakdown, study: Study) -> Table:
    heads = ["", *(subject.label for subject in study.subjects)]
    table = _table(f"S {breakdown.title}, % [95 % interval]", heads)
    for group, shares in zip(breakdown.groups, breakdown.shares, strict=True):
        table.add_row(*map(Text, (group.label, *(share_text(share) for share in shares))))
    return table


def _regions(study: Study) -> Table:
    found = study.ensemble
    title = f"Overlap of S on {found.n} common instances"
    table = _table(title, ["solved by just", "instances"])
    for places in found.regions:
        table.add_row(Text(region_name(places, study)), Text(str(found.regions[places])))
    table.add_section()
    table.add_row(Text("the ideal ensemble"), Text(ideal_text(found)))
    return table


def ideal_text(found: Ensemble) -> str:
    """How many instances a perfect choice among the runs would solve."""
    return f"{found.ideal}" + (f" ({100 * found.ideal / found.n:.1f} %)" if found.n else "")


def region_name(places: Sequence[int], study: Study) -> str:
    """The runs of a region of the Venn diagram."""
    if len(places) > 1 and len(places) == sum(not one.run.oracle for one in study.subjects):
        return "all"
    return " + ".join(study.subjects[at].label for at in places)


def _pairs(study: Study) -> Table:
    table = _table("Two runs on the same instances (McNemar, exact)", PAIR_HEADS)
    for pair in study.pairs:
        table.add_row(*map(Text, pair_cells(pair, study)))
    return table


def pair_cells(pair: Pair, study: Study) -> tuple[str, ...]:
    """A row about two runs: names, counts, the difference with its interval, p-values."""
    names = f"{study.subjects[pair.first].label} / {study.subjects[pair.second].label}"
    counts = map(str, (pair.n, pair.both, pair.only_first, pair.only_second))
    low, high = pair.interval.low, pair.interval.high
    difference = f"{100 * pair.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    return names, *counts, difference if pair.n else "-", p_text(pair.p), p_text(pair.adjusted)


def _fixes(name: str, rows: Sequence[Independence], study: Study) -> Table:
    table = _table(f"Solving tests and solving fixes: {name} (Fisher, exact)", FIX_HEADS)
    for subject, found in zip(study.subjects, rows, strict=True):
        table.add_row(*map(Text, (subject.label, *independence_cells(found))))
    return table


def independence_cells(found: Independence) -> tuple[str, ...]:
    """A row about tests and fixes: counts, the expected overlap, p-values."""
    tests, fixes = found.both + found.only_tests, found.both + found.only_fixes
    counts = map(str, (found.n, tests, fixes, found.both))
    return *counts, f"{found.expected:.1f}", p_text(found.p), p_text(found.p_chi_squared)


def _costs(study: Study) -> Table:
    table = _table("RunCost", COST_HEADS)
    for subject in study.subjects:
        if subject.cost is not None:
            table.add_row(*map(Text, (subject.label, *cost_cells(subject.cost))))
    return table


def cost_cells(cost: RunCost) -> tuple[str, ...]:
    """A row about cost."""
    money = (cost.usd, cost.usd_per_instance, cost.usd_per_success)
    return (
        f"{cost.instances}",
        f"{cost.samples:,}",
        f"{cost.tokens:,}",
        *("-" if value is None else f"{value:.2f}" for value in money),
        f"{cost.seconds / 3600:.1f}",
    )


def cautions(study: Study) -> list[str]:
    """What to be careful about, a line for each run."""
    lines = []
    for subject in study.subjects:
        summary = subject.summary
        if summary.errors:
            lines.append(f"{subject.label}: no grade for {_some(sorted(summary.errors))}")
        if summary.doubtful:
            doubtful = _some(summary.doubtful)
            lines.append(f"{subject.label}: the golden tests reproduce nothing here: {doubtful}")
    return lines


def figure_text(figure: Figure) -> str:
    """`12.5 ± 3.1`, in percent."""
    if math.isnan(figure.value):
        return "-"
    error = "" if math.isnan(figure.stderr) else f" ± {100 * figure.stderr:.1f}"
    return f"{100 * figure.value:.1f}{error}"


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return ", ".join(ids[:3]) + more


def share_text(share: Share) -> str:
    """`25.0 [9.1, 49.1] of 8`, in percent."""
    if not share.n:
        return "-"
    low, high = share.interval.low, share.interval.high
    value = 100 * share.successes / share.n
    return f"{value:.1f} [{100 * low:.1f}, {100 * high:.1f}] of {share.n}"


def p_text(p: float) -> str:
    """A p-value for people."""
    if math.isnan(p):
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left")
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left", overflow="fold")
    return table
