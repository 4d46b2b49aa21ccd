"""Rows of names, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from refute.cli.output import consoles, print_json


def print_list(rows: Sequence[dict[str, str]], *, as_json: bool) -> None:
    """Print the rows on stdout; all have the same columns."""
    if as_json:
        print_json(list(rows))
        return
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in rows[0] if rows else ():
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        table.add_row(*row.values())
    consoles()[0].print(table)
