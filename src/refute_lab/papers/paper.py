"""What the papers print, from `papers/*.toml`: figures by run, facts, and claims."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

UTGEN, SWT_BENCH = "UTGen", "SWT-Bench"
_FILES = {UTGEN: "utgen.toml", SWT_BENCH: "swt-bench.toml"}
_UNITS = ("percent", "count", "dollars")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """One cell of a paper's table."""

    paper: str
    version: str = "v1"
    """Of the paper, a key of `version` in the file: `later` is a list that the authors keep."""
    table: str
    dataset: str
    size: int
    """Problems of the paper's data set, or of the part that the table is about."""
    model: str
    """As the paper prints it; `-`: none, or any."""
    method: str
    metric: str
    """As in `benches.grade.metrics`, or in `report.issue_grids.ISSUE_HEADS`."""
    value: float
    """In its unit, as printed."""
    unit: str = "percent"
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the table states or varies, by the names of the method's options."""
    given: Mapping[str, str] = field(default_factory=dict)
    """What the method is given besides (SWT-Bench, Table 5): `test`, `files`, `patch`."""


@cache
def paper_figures(paper: str) -> tuple[PaperFigure, ...]:
    """All figures of a paper, in the file's order."""
    found = []
    for row in _document(paper)["row"]:
        shared = {name: value for name, value in row.items() if name not in _UNITS}
        for unit in _UNITS:
            for metric, value in row.get(unit, {}).items():
                one = PaperFigure(
                    paper=paper, metric=metric, value=float(value), unit=unit, **shared
                )
                found.append(one)
    return tuple(found)


def claims(paper: str = UTGEN) -> list[tuple[str, str]]:
    """What a paper says about differences: (text, where)."""
    return [(row["text"], row["where"]) for row in _document(paper)["claim"]]


def facts(paper: str) -> list[tuple[str, str, str, float]]:
    """Numbers that no table holds: (where, dataset, name, value)."""
    rows = _document(paper)["fact"]
    return [(row["where"], row["dataset"], row["name"], float(row["value"])) for row in rows]


def notes(paper: str, dataset: str) -> list[str]:
    """What to know before comparing with the paper on a data set."""
    rows = _document(paper).get("note", [])
    return [row["text"] for row in rows if row["dataset"] == dataset]


def settings(paper: str) -> Mapping[str, Any]:
    """What the paper says of all its runs, by the names of the methods' options."""
    found: Mapping[str, Any] = _document(paper).get("settings", {})
    return found


def version_text(paper: str, version: str) -> tuple[str, str]:
    """A version's short label, and what it is."""
    one = _document(paper)["version"][version]
    return one["label"], one["text"]


@cache
def _document(paper: str) -> dict[str, Any]:
    home = files("refute_lab.papers").joinpath("figures")
    return tomllib.loads(home.joinpath(_FILES[paper]).read_text(encoding="utf-8"))
