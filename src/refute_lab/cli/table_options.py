"""`--format` and `--table` of commands whose result is tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from refute.cli.options import json_option, with_options
from refute.cli.output import consoles, show

if TYPE_CHECKING:
    from refute_lab.api.tables import Tabled

_OPTIONS = (
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "csv", "latex", "json"]),
        default="text",
        show_default=True,
        help="Of what is printed: every table as CSV or as LaTeX, or one JSON document.",
    ),
    click.option(
        "--table",
        "tables",
        multiple=True,
        metavar="NAME",
        help="Only this table, also one in a paper's form (utgen-2); a wrong name lists them.",
    ),
    json_option,
)


table_options = with_options(_OPTIONS)
"""`form`, `tables` and `as_json`, which `show_tables` takes."""


def show_tables(found: Tabled, form: str, tables: tuple[str, ...], as_json: bool) -> None:
    """Print the tables that are asked for in the form that is. Raises `InputError`."""
    if form == "csv":
        click.echo(found.csv(*tables), nl=False)
    elif form == "latex":
        click.echo(found.latex(*tables), nl=False)
    elif tables and not (as_json or form == "json"):
        from refute_lab.report.grid_text import print_grid

        for grid in found.chosen(tables):
            print_grid(grid, consoles()[0])
    else:
        show(found, as_json=as_json or form == "json")
