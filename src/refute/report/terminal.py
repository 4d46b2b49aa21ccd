"""The terminal besides results, on stderr: a spinner, and questions to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from refute.function.contract import Ask, Question
from refute.function.formatting import call_source, value_source
from refute.sandbox import Returned
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, parse_literal

if TYPE_CHECKING:
    from rich.status import Status

    from refute.diffing.differences import Difference
    from refute.diffing.pinning import Pin, Side
    from refute.diffing.service import Compared

MOST_CHOICES = 26


class Working:
    """A spinner on stderr that makes room for what else is printed."""

    def __init__(self, status: Status | None) -> None:
        self._status = status

    @property
    def shown(self) -> bool:
        """Whether there is one: stderr is a terminal."""
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
    """A function that is told how many are done, and of how many: a progress bar, or a line now
    and then."""
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


def asking(console: Console, shown: Working) -> Callable[[str], Ask]:
    """For a function's name an `Ask` that puts the question on stderr and reads from stdin."""

    def ask(function: str, question: Question) -> Any:
        with shown.paused():
            return _answer(function, question, console)

    return lambda function: partial(ask, function)


def which_side(console: Console) -> Pin:
    """Asks on stderr which side of a difference is right, and reads from stdin."""
    sides: dict[str, Side] = {"b": "before", "before": "before", "a": "after", "after": "after"}

    def ask(one: Compared, difference: Difference) -> Side | None:
        from refute.report.diffs import observed_source

        console.print(Text(f"{one.function.qualname}: {difference.scenario.source}"))
        console.print(Text(f"  b) before: {observed_source(difference.before, difference.kind)}"))
        console.print(Text(f"  a) after:  {observed_source(difference.after, difference.kind)}"))
        console.print(Text("which is right? b, a, or nothing for no test: "), end="")
        try:
            return sides.get(input().strip().lower())
        except EOFError:
            return None

    return ask


def _answer(function: str, question: Question, console: Console) -> Any:
    """A letter for one of the candidates' outputs, or a Python literal; empty: not answered."""
    choices = _choices(question)
    call = call_source(question.call, function)
    console.print(Text(f"What should {call} return?"))
    for letter, value in choices.items():
        console.print(Text(f"  {letter}) {value_source(value)}"))
    while True:
        console.print(Text("a letter, a Python value, or nothing to skip: "), end="")
        try:
            line = input().strip()
        except EOFError:
            line = ""
        if not line:
            raise KeyError(call)
        if line in choices:
            return choices[line]
        try:
            return parse_literal(line)
        except NotLiteral as error:
            console.print(Text(f"{error}; strings need quotes"))


def _choices(question: Question) -> dict[str, Any]:
    """The candidates' different outputs by letter; those that raise cannot be chosen."""
    values: list[Any] = []
    for outcome in question.outputs:
        if isinstance(outcome, Returned):
            try:
                value = outcome.value
            except MalformedValue:
                continue
            if not any(value_source(value) == value_source(other) for other in values):
                values.append(value)
    letters = (chr(ord("a") + at) for at in range(MOST_CHOICES))
    return dict(zip(letters, values, strict=False))
