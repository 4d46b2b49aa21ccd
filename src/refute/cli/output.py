"""Results go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["consoles", "print_json", "remark", "show", "show_remarks"]


def consoles() -> tuple[Console, Console]:
    """For results and for everything else; nothing that a terminal would obey gets through, and
    brackets in what others wrote are brackets.

    Piped tables are as wide as their content needs.
    """
    from refute.report.consoles import SafeConsole

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    plain: Any = {"highlight": False, "emoji": False, "markup": False}
    return SafeConsole(width=width, **plain), SafeConsole(stderr=True, **plain)


def remark(console: Console, lines: Any) -> None:
    for line in lines:
        console.print(f"refute: {line}", markup=False, soft_wrap=True)


def show_remarks() -> None:
    """Print on stderr what the library has to say besides its results (`refute.remarks`)."""
    log = logging.getLogger("refute")
    if not any(isinstance(one, _Remarks) for one in log.handlers):
        log.addHandler(_Remarks())
        log.setLevel(logging.INFO)
        log.propagate = False


class _Remarks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        remark(consoles()[1], [record.getMessage()])


def show(result: Any, *, as_json: bool) -> None:
    """Print the result of an API function on stdout, for people or as its JSON document."""
    if as_json:
        print_json(result.to_dict())
    else:
        result.print(consoles()[0])


def print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, indent=2))
