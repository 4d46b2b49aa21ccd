"""A table of what others wrote; where it does not fit, and where lines are read out, a list."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text


class FittingTable(Table):
    """Wide cells are not broken into narrow columns: each row is a list then, a cell a line, the
    first as its head and the others below it with the names of their columns. On a terminal that
    draws nothing (`TERM=dumb`) it always is, so that what is read out is in order.
    """

    def __init__(self, names: Sequence[str], title: str = "", **look: Any) -> None:
        """`title` and `names`, of the columns: plain text."""
        head = Text(title, style="bold") if title else None
        super().__init__(title=head, title_justify="left", **look)
        self._names, self._rows = tuple(names), list[tuple[str, ...]]()
        for name in names:
            self.add_column(name, overflow="fold")

    def add(self, *cells: str) -> None:
        """A row: a text for each column."""
        self._rows.append(cells)
        self.add_row(*map(Text, cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fits = self.__rich_measure__(console, options).maximum <= options.max_width
        if fits and os.environ.get("TERM") != "dumb":
            yield from super().__rich_console__(console, options)
        else:
            yield from self._listed()

    def _listed(self) -> Iterator[Text]:
        if isinstance(self.title, Text):
            yield self.title
        for first, *others in self._rows:
            yield Text(f"{self._names[0]}: {_indented(first)}", overflow="fold")
            for name, cell in zip(self._names[1:], others, strict=True):
                yield Text(f"  {name}: {_indented(cell)}", overflow="fold")


def _indented(cell: str) -> str:
    """Lines behind the first one stand below it."""
    return cell.replace("\n", "\n    ")
