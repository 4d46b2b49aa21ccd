"""Which rows of a data set a run is about, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refute.cli.options import FILE

__all__ = ["executor_option", "run_options", "selecting_options", "split_ids"]


_SELECTING = (
    click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA)."),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N rows."),
    click.option("--ids", metavar="A,B", help="Only these rows."),
)
_RUN = (
    click.option(
        "--run", type=FILE, metavar="DIR", help="Folder of the run; go on where it stopped."
    ),
    click.option(
        "--runs-dir", type=FILE, default=Path("runs"), show_default=True, help="Where runs go."
    ),
)
executor_option = click.option(
    "--executor", metavar="NAME", help="What does the work: processes, or a plugin's."
)


def selecting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `data`, `limit` and `ids`."""
    return _with(command, _SELECTING)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `run` and `runs_dir`."""
    return _with(command, _RUN)


def _with(command: Callable[..., Any], options: tuple[Any, ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def split_ids(ids: str | None) -> tuple[str, ...] | None:
    """The names in `--ids A,B`; None where it was not given."""
    return tuple(part.strip() for part in ids.split(",") if part.strip()) if ids else None
