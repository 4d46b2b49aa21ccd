"""Results go to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from refute.sandbox import Sandbox

__all__ = ["consoles", "diff_name", "print_json", "remark", "warn"]


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


def warn(console: Console, box: Sandbox) -> None:
    """Say in one line what the sandbox does not protect from on this machine."""
    from refute.sandbox.gaps import gaps

    open_here = gaps(box.protections())
    if open_here:
        what = ", ".join(open_here)
        remark(console, [f"not fully isolated here: code under test can {what}; see refute doctor"])


def diff_name(path: Path) -> str:
    """The path that a diff names: relative to the working directory where it lies below."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.resolve().as_posix().lstrip("/")


def print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, indent=2))
