"""Consoles, and what shows on any of them: fitting tables, a notebook's HTML, work under way.

Nothing reaches a terminal that it would obey.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from refute.sandbox.values import printable

if TYPE_CHECKING:
    from rich.status import Status


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
    """Return the output of `show` as HTML with inline styles."""
    console = _Page(
        file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, force_jupyter=False,
        highlight=False, emoji=False, markup=False,
    )  # fmt: skip
    show(console)
    return console.export_html(inline_styles=True, code_format=_FORMAT)


def as_text(show: Callable[[Console], None]) -> str:
    """Return the output of `show` without styles."""
    text = io.StringIO()
    show(
        SafeConsole(
            file=text, width=_WIDTH, force_jupyter=False, highlight=False, emoji=False, markup=False
        )
    )
    return text.getvalue()


class Working:
    """A spinner on stderr that makes room for what else is printed."""

    def __init__(self, status: Status | None) -> None:
        self._status = status

    @property
    def shown(self) -> bool:
        """True if stderr is a terminal, so that a status line is shown."""
        return self._status is not None

    def say(self, text: str) -> None:
        """Replace the spinner's text."""
        if self._status is not None:
            self._status.update(Text(text))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No spinner meanwhile: results on stdout share its terminal."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()


@contextmanager
def working(text: str, console: Console) -> Iterator[Working]:
    """A spinner while something takes its time; nothing where stderr is not a terminal."""
    if not console.is_terminal:
        yield Working(None)
        return
    with console.status(Text(text)) as status:
        yield Working(status)


@contextmanager
def counting(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the numbers done and in all, and shows a progress bar, or a line
    now and then."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TimeRemainingColumn())
    shown = -1
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=None)

        def count(done: int, total: int) -> None:
            nonlocal shown
            if done == 0:
                shown = -1  # of several tasks the next one begins
            progress.update(bar, completed=done, total=total)
            tenth = 10 * done // total
            if not console.is_terminal and tenth > shown:
                shown = tenth
                console.print(f"refute: {done}/{total} problems done", markup=False)

        yield count


@contextmanager
def counting_stages(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """As `counting`, with a bar for each stage that is named; nothing where stderr is not a
    terminal."""
    from rich.progress import Progress, TaskID

    bars: dict[str, TaskID] = {}
    with Progress(console=console, disable=not console.is_terminal) as progress:

        def count(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=total)
            progress.update(bars[stage], completed=done, total=total)

        yield count
