"""What the terminal shows, as HTML for a notebook and as plain text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from refute.report.consoles import SafeConsole

_WIDTH = 120
_FORMAT = "<pre style=\"font-family:Menlo,'DejaVu Sans Mono',monospace\">{code}</pre>"


class _Page(SafeConsole):
    """Shows no colours: a notebook may be light or dark, and has its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable, in the notebook's colour."""
        return Segment.remove_color(super().render(renderable, options))


def as_html(show: Callable[[Console], None]) -> str:
    """What `show` prints, with inline styles."""
    console = _Page(
        file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, force_jupyter=False,
        highlight=False, emoji=False, markup=False,
    )  # fmt: skip
    show(console)
    return console.export_html(inline_styles=True, code_format=_FORMAT)


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` prints, without styles."""
    text = io.StringIO()
    show(
        SafeConsole(
            file=text, width=_WIDTH, force_jupyter=False, highlight=False, emoji=False, markup=False
        )
    )
    return text.getvalue()
