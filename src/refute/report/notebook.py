"""What the terminal shows, as HTML for a notebook and as plain text."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from refute.report.consoles import SafeConsole

__all__ = ["as_html", "as_text"]

_WIDTH = 120
_FORMAT = "<pre style=\"font-family:Menlo,'DejaVu Sans Mono',monospace\">{code}</pre>"


def as_html(show: Callable[[Console], None]) -> str:
    """What `show` prints, with inline styles."""
    console = SafeConsole(
        file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, highlight=False,
        emoji=False, markup=False,
    )  # fmt: skip
    show(console)
    return console.export_html(inline_styles=True, code_format=_FORMAT)


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` prints, without styles."""
    text = io.StringIO()
    show(SafeConsole(file=text, width=_WIDTH, highlight=False, emoji=False, markup=False))
    return text.getvalue()
