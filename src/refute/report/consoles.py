"""A console through which nothing reaches a terminal that it would obey."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from refute.sandbox.values import printable


class SafeConsole(Console):
    """Writes out escape sequences, marks of direction and the like in everything that is shown.

    What is shown was made by others: names in datasets, messages of tests, lines of a fix. Rich
    leaves escape sequences in it as they are. Its own (colours, the cursor) are added later.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable, each with printable text only."""
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield Segment(printable(text), segment.style)
