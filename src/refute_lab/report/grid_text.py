"""Tables on a terminal of any width: intervals are shortened, then columns go below each other."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute_lab.report.grids import Grid

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
