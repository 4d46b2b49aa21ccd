"""The papers' figures in tables: rows under a run, and a table of differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from refute_lab.papers.paper import UTGEN, notes, settings
from refute_lab.papers.paper_join import Match
from refute_lab.report.grids import (
    Cell,
    Grid,
    Row,
    count_cell,
    difference_cell,
    estimate_cell,
    row_of,
    text_cell,
)


def paper_rows(
    found: Sequence[Match], heads: Iterable[str], *, empty: int, digits: int
) -> list[Row]:
    """The paper's figures of a run, under it: one row for each version of the paper."""
    heads = list(heads)
    versions: dict[str, dict[str, Match]] = {}
    for match in found:
        if match.figure.metric in heads:
            versions.setdefault(match.version, {})[match.figure.metric] = match
    rows = []
    for label, values in versions.items():
        tables = ", ".join(dict.fromkeys(match.table for match in values.values()))
        cells = [
            Cell(f"{values[name].figure.value:.{digits}f}", values[name].figure.value)
            if name in values
            else text_cell("")
            for name in heads
        ]
        named = next(iter(values.values())).model
        label = f"{label}, {named}" if named else label
        other = ", of other settings" if any(one.differing for one in values.values()) else ""
        rows.append(row_of(f"  {label}: {tables}{other}", *([""] * empty), *cells, kind="paper"))
    return rows


def paper_grid(
    title: str, dataset: str, found: Sequence[tuple[str, Match]], heads: Mapping[str, str]
) -> list[Grid]:
    """Each figure that a paper prints of the same run, with the difference; [] for none.

    `heads`: metric -> what the main table calls it.
    """
    if not found:
        return []
    differ = any(match.differing for _, match in found)
    rows = []
    for label, match in found:
        figure, difference = match.figure, match.difference
        percent = figure.unit == "percent"
        digits = 2 if figure.paper == UTGEN or not percent else 1
        there = match.paper * (100 if percent else 1)
        rows.append(
            row_of(
                label,
                heads.get(figure.metric, "US$ each" if figure.metric == "usd" else figure.metric),
                estimate_cell(match.here, digits)
                if percent
                else count_cell(match.here.value, ".2f"),
                Cell(f"{there:.{digits}f}", there),
                difference_cell(difference) if percent else count_cell(difference.value, "+.2f"),
                ", ".join(filter(None, (match.version, match.model, match.table))),
                f"{match.problems} of {figure.size}",
                *([", ".join(match.differing)] if differ else []),
            )
        )
    paper = found[0][1].figure.paper
    fixed = ", ".join(f"{name}={value}" for name, value in settings(paper).items())
    lines = ["difference [95 % interval of our figure alone: the paper prints no spread]"]
    lines += [f"settings: where the run has others than the paper ({fixed})"] if differ else []
    names = ["", "figure", "here", "paper", "difference", "where", "problems"]
    names += ["settings"] if differ else []
    lines += notes(paper, dataset)
    return [Grid("paper", f"{title}, beside the paper", tuple(names), tuple(rows), tuple(lines))]


def differing(things: str, sizes: Sequence[int], common: int) -> str:
    """The warning that runs stand side by side which do not cover the same."""
    each = f"{min(sizes)} to {max(sizes)}" if len(set(sizes)) > 1 else f"{sizes[0]}"
    return (
        f"warning: the runs cover different {things} ({each} each, {common} in common); "
        "--common restricts every table to the common ones"
    )
