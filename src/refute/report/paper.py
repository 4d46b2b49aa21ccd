"""What the papers report, from `paper.toml`, to stand beside a run's figures."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = ["PaperFigure", "claims", "paper_figures"]


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """One figure of a paper."""

    dataset: str
    method: str
    model: str
    metric: str
    """As in `refute.function.grade.metrics`, or in `refute.issue.grading.grade_summary.FIGURES`."""
    value: float
    """In percent."""
    where: str
    """The table or section it stands in, and the row."""


def paper_figures(dataset: str) -> list[PaperFigure]:
    """The papers' figures on a dataset, in the file's order."""
    rows = [PaperFigure(**row) for row in _paper()["figure"]]
    return [row for row in rows if row.dataset == dataset]


def claims(paper: str = "UTGen") -> list[tuple[str, str]]:
    """What a paper (UTGen, SWT-Bench) says about differences: (text, where)."""
    return [(row["text"], row["where"]) for row in _paper()["claim"] if row["paper"] == paper]


def _paper() -> dict[str, Any]:
    text = files("refute.report").joinpath("paper.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
