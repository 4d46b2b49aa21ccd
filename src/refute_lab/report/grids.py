"""One model of a table, which the terminal, the page, CSV, LaTeX and JSON are all made from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from refute_lab.report.intervals import Estimate

Kind = Literal["run", "paper", "total"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    value: float | None = None
    """The number that the text shows, in the unit of the column; None: no number."""
    low: float | None = None
    high: float | None = None
    compact: str = ""
    """The same for a narrow screen; empty: as `text`."""

    @property
    def narrow(self) -> str:
        return self.compact or self.text


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table."""

    cells: tuple[Cell, ...]
    kind: Kind = "run"
    """Of a run, of a paper (dim), or a sum."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. The first column says what a row is about."""

    name: str
    """`--table`."""
    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    shown: bool = True
    """False: a form of figures that another table shows as well (a paper's); printed on request."""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Of each column, whether it holds numbers."""
        cells = [[row.cells[at] for row in self.rows] for at in range(len(self.heads))]
        return tuple(
            any(cell.value is not None for cell in column)
            or (at > 0 and all(cell.text in ("", "-") for cell in column))
            for at, column in enumerate(cells)
        )


def row_of(*cells: Cell | str, kind: Kind = "run") -> Row:
    """A row; texts become cells."""
    return Row(tuple(text_cell(c) if isinstance(c, str) else c for c in cells), kind)


def text_cell(text: str) -> Cell:
    return Cell(text)


def count_cell(value: float | None, form: str = ",.0f") -> Cell:
    """A number without an interval."""
    if value is None or math.isnan(value):
        return Cell("-")
    return Cell(format(value, form), value)


def estimate_cell(one: Estimate, digits: int = 1, over: int | None = None) -> Cell:
    """`57.1 [49.3, 64.6] of 7`, in percent. `over`: how many the row says it is of; a figure of as
    many does not say so again."""
    if math.isnan(one.value):
        return Cell("-")
    value, low, high = 100 * one.value, 100 * one.low, 100 * one.high
    text = f"{value:.{digits}f}"
    of = "" if one.n in (over, None) else f" of {one.n}"
    if math.isnan(low):
        return Cell(text + of, value)
    full, compact = f"{text} [{low:.1f}, {high:.1f}]{of}", f"{text} [{low:.0f}–{high:.0f}]{of}"
    return Cell(full, value, low, high, compact)


def difference_cell(one: Estimate) -> Cell:
    """`+3.2 [-1.0, +7.4]`, in points."""
    if math.isnan(one.value):
        return Cell("-")
    value, low, high = 100 * one.value, 100 * one.low, 100 * one.high
    if math.isnan(low):
        return Cell(f"{value:+.1f}", value)
    full, compact = (
        f"{value:+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{value:+.1f} [{low:+.0f}, {high:+.0f}]",
    )
    return Cell(full, value, low, high, compact)


def p_cell(p: float) -> Cell:
    """A p-value."""
    if math.isnan(p):
        return Cell("-")
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}", p)


def grid_document(grid: Grid) -> dict[str, Any]:
    """`{"name", "title", "columns", "rows": [[{"text", "value", "low", "high"}]], "notes"}`."""
    return {
        "name": grid.name,
        "title": grid.title,
        "columns": list(grid.heads),
        "rows": [
            {"kind": row.kind, "cells": [_cell_document(cell) for cell in row.cells]}
            for row in grid.rows
        ],
        "notes": list(grid.notes),
    }


def _cell_document(cell: Cell) -> dict[str, Any] | str:
    if cell.value is None:
        return cell.text
    return {"text": cell.text, "value": cell.value, "low": cell.low, "high": cell.high}


def number(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return None if math.isnan(value) else value
