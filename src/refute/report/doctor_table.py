"""The table that `refute doctor` prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.doctor import Check


def print_checks(checks: Sequence[Check], console: Console) -> None:
    """One row a check; below the table one line on how to get each thing that is missing."""
    table = Table()
    for name in ("", "what", "works", "detail"):
        table.add_column(name, overflow="fold")
    group = ""
    for check in checks:
        works = Text("yes", style="green") if check.works else Text("no", style="yellow")
        shown = check.group if check.group != group else ""
        table.add_row(shown, Text(check.name), works, Text(check.detail))
        group = check.group
    console.print(table)
    for check in checks:
        if not check.works and check.remedy:
            console.print(Text(f"{check.name}: {check.remedy}"), soft_wrap=True)
