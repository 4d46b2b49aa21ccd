"""Tables, charts and the self-contained page about runs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute_lab.figures import Estimate, Figure, PairedRuns, estimate

Kind = Literal["run", "paper", "total"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of a table."""

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


def figure_document(figure: Figure) -> dict[str, float | int | None]:
    """`{"value", "stderr", "n"}`, null where unknown; `n`: problems that it is a mean over."""
    return {"value": number(figure.value), "stderr": number(figure.stderr), "n": figure.n}


def figures_grid(
    title: str, figures: Iterable[tuple[str, Figure]], problems: int | None = None
) -> Grid:
    """Figures of one run under one another, each with its interval and how many it is of."""
    rows = []
    for label, figure in figures:
        one = estimate(figure, problems)
        of = count_cell(None if math.isnan(one.value) else one.n)
        rows.append(row_of(label, estimate_cell(replace(one, n=None), 2), of))
    return Grid("figures", title, ("", "% [95 % interval]", "of"), tuple(rows))


MOST_PAIRS = 15
"""Rows about pairs of runs that are printed without being asked for."""


def pairs_grid(
    title: str, pairs: Sequence[PairedRuns], labels: Sequence[str], heads: Mapping[str, str]
) -> list[Grid]:
    """Two runs on the same problems; [] without a pair. `heads`: what figures are called."""
    rows = [
        row_of(
            f"{labels[pair.first]} / {labels[pair.second]}",
            heads[pair.metric],
            *map(count_cell, (pair.n, pair.better, pair.worse)),
            difference_cell(Estimate(pair.difference, pair.interval.low, pair.interval.high)),
            p_cell(pair.p),
            p_cell(pair.adjusted),
        )
        for pair in pairs
        if not math.isnan(pair.difference)
    ]
    names = ("", "figure", "n", "first better", "second better", "difference", "p", "p (Holm)")
    note = (
        "points, first less second [95 %]; p: exact sign test over problems (McNemar's for one "
        "answer a problem), and adjusted for the pairs (Holm)"
    )
    shown = len(rows) <= MOST_PAIRS
    return [Grid("pairs", title, names, tuple(rows), (note,), shown=shown)] if pairs else []


# -- grid text -------------------------------------------------------------------------------------


_BORDER = 3
"""Width that a column takes besides its text."""
_LABEL = 28
"""Width to which the first column may shrink, over several lines."""


def print_grid(grid: Grid, console: Console) -> None:
    """The table with its notes; one line a row, as far as the first column allows."""
    width = console.width
    texts = [[cell.text for cell in row.cells] for row in grid.rows]
    if _needed(grid.heads, texts) > width:
        texts = [[cell.narrow for cell in row.cells] for row in grid.rows]
    for note in grid.notes:
        if note.startswith("warning"):
            console.print(Text(note, style="bold"))
    label, blocks = _layout(grid.heads, texts, width - _BORDER - 1)
    for number, places in enumerate(blocks):
        title = grid.title if not number else f"{grid.title} (continued)"
        table = Table(title=Text(title, style="bold"), title_justify="left")
        table.add_column(Text(grid.heads[0]), overflow="fold", max_width=label)
        for at in places:
            justify = "right" if grid.numeric[at] else "left"
            table.add_column(Text(grid.heads[at]), justify=justify, overflow="fold")  # type: ignore[arg-type]
        before = ""
        for row, line in zip(grid.rows, texts, strict=True):
            shown = "" if line[0] == before else line[0]
            before = line[0]
            style = {"run": "", "paper": "dim", "total": "bold"}[row.kind]
            cells = [shown, *(line[at] for at in places)]
            table.add_row(*(Text(cell, style=style) for cell in cells))
        console.print(table)
    for note in grid.notes:
        if not note.startswith("warning"):
            console.print(Text(note, style="dim"))


def _layout(
    heads: Sequence[str], texts: Sequence[Sequence[str]], room: int
) -> tuple[int, list[list[int]]]:
    """Width of the first column and the columns of each block: few blocks, then a wide label."""
    natural = _width(heads, texts, 0)
    least = min(natural, _LABEL, max(room // 3, 1))
    most = max(least, min(natural, room // 2))
    fewest = len(_blocks(heads, texts, room - least))
    for label in range(most, least, -1):
        blocks = _blocks(heads, texts, room - label)
        if len(blocks) == fewest:
            return label, blocks
    return least, _blocks(heads, texts, room - least)


def _needed(heads: Sequence[str], texts: Sequence[Sequence[str]]) -> int:
    return sum(_width(heads, texts, at) + _BORDER for at in range(len(heads))) + 1


def _width(heads: Sequence[str], texts: Sequence[Sequence[str]], at: int) -> int:
    return max([cell_len(heads[at]), *(cell_len(row[at]) for row in texts)])


def _blocks(heads: Sequence[str], texts: Sequence[Sequence[str]], room: int) -> list[list[int]]:
    """Places of the columns after the first, as many in a block as there is room for."""
    blocks: list[list[int]] = [[]]
    left = room
    for at in range(1, len(heads)):
        wanted = _width(heads, texts, at) + _BORDER
        if blocks[-1] and wanted > left:
            blocks.append([])
            left = room
        blocks[-1].append(at)
        left -= wanted
    return blocks


# -- exports ---------------------------------------------------------------------------------------


def as_csv(grids: Sequence[Grid]) -> str:
    """Each table with a line of heads; a column with intervals becomes `X`, `X low`, `X high`.

    Of several tables each has a line `# NAME: TITLE` above it, and an empty line between. Numbers
    are not rounded.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, grid in enumerate(grids):
        if len(grids) > 1:
            text.write(("\n" if number else "") + f"# {grid.name}: {_line(grid.title)}\n")
        ranged = [any(row.cells[at].low is not None for row in grid.rows) for at in _places(grid)]
        heads: list[str] = []
        for head, wide in zip(grid.heads, ranged, strict=True):
            heads += [head, f"{head} low", f"{head} high"] if wide else [head]
        writer.writerow([_harmless(head) for head in heads])
        for row in grid.rows:
            values: list[str] = []
            for cell, wide in zip(row.cells, ranged, strict=True):
                values.append(_plain(cell))
                values += [_number(cell.low), _number(cell.high)] if wide else []
            writer.writerow(values)
    return text.getvalue()


def _places(grid: Grid) -> range:
    return range(len(grid.heads))


def _plain(cell: Cell) -> str:
    if cell.value is not None:
        return _number(cell.value)
    return "" if cell.text == "-" else _harmless(cell.text)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _harmless(text: str) -> str:
    """Names that others chose must not become formulas of a spreadsheet."""
    text = _line(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and len(text) > 1 else text


def _line(text: str) -> str:
    return " ".join(text.split())


def as_latex(grids: Sequence[Grid]) -> str:
    """Plain `tabular`s: no package is needed. Title and notes are comments."""
    return "\n".join(map(_tabular, grids))


def _tabular(grid: Grid) -> str:
    lines = [f"% {grid.name}: {_comment(grid.title)}"]
    lines += [f"% {_comment(note)}" for note in grid.notes]
    columns = "".join("r" if wide else "l" for wide in grid.numeric)
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
    lines += [_joined(grid.heads), r"\hline"]
    lines += [_joined([cell.text for cell in row.cells]) for row in grid.rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _joined(texts: Sequence[str]) -> str:
    # An empty group first: a row that begins with [ would be an argument of the \\ before it.
    return "{}" + " & ".join(map(_latex, texts)) + r" \\"


def _comment(text: str) -> str:
    """Return the text as a comment, which needs no escapes."""
    return "".join(one if one.isascii() else _latex(one) for one in _line(text))


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\^{}", "~": r"\~{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "∩": r"$\cap$", "→": r"$\rightarrow$", "×": r"$\times$", "Δ": r"$\Delta$", "±": r"$\pm$",
    "≥": r"$\geq$", "≤": r"$\leq$", "χ": r"$\chi$", "²": "$^2$", "–": "--", "·": r"$\cdot$",
    "✓": "yes", "✗": "no", '"': "''",
}  # fmt: skip


def _latex(text: str) -> str:
    """Escaped; a letter that plain LaTeX may not have is a question mark."""
    found = []
    for letter in _line(text):
        known = _LATEX.get(letter, letter)
        found.append(known if known.isascii() else "?")
    return "".join(found)


# -- report ----------------------------------------------------------------------------------------
