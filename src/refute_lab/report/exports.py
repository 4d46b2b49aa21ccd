"""Tables as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from refute_lab.report.grids import Cell, Grid


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
    """What has to be escaped elsewhere stands as it is, as in a comment nothing is read."""
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
