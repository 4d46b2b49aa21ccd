"""Results as text for people, with rich: tables, diffs and one-line remarks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from refute.function.contract import FailingTest, Finding
from refute.function.show import call_source, describe, expected_source
from refute.function.verbs import Fix, Hunt
from refute.problems import Trust

__all__ = ["print_fix", "print_hunt"]

CELL = 400
"""Longest text in a cell, in characters."""


def print_hunt(hunt: Hunt, console: Console) -> None:
    """The failing tests of one function."""
    if not hunt.found:
        console.print(Text.assemble((hunt.function, "bold"), ": no failing test found"))
    if hunt.failing:
        console.print(_table(f"{hunt.function} fails", hunt.function, hunt.failing))
    if hunt.findings:
        title = f"{hunt.function}, without an oracle for its outputs"
        console.print(_findings(title, hunt.function, hunt.findings))
    for note in hunt.notes:
        console.print(Text(f"note: {note}", style="dim"))


def print_fix(
    fix: Fix, name: str, console: Console, *, tests: int = 5, asked: bool = False
) -> None:
    """The fix of one function as a diff, with the tests that justify it and the alternatives.

    `name`: the file's, in the diff; `asked`: the user was asked already (`--ask`).
    """
    function = fix.hunt.function
    if fix.hunt.failing:
        shown = fix.hunt.failing[:tests]
        console.print(_table(f"{function} fails", function, shown))
        if len(fix.hunt.failing) > len(shown):
            console.print(Text(f"and {len(fix.hunt.failing) - len(shown)} more", style="dim"))
    elif fix.hunt.findings:
        title = f"{function}, without an oracle for its outputs"
        console.print(_findings(title, function, fix.hunt.findings))
    if fix.fixed:
        best = fix.result.candidates[0]
        word = "fixed" if fix.hunt.failing else "proposed"  # no test shows that it was wrong
        console.print(Text.assemble((function, "bold"), f": {word}: ", "; ".join(best.edits)))
        print_diff(fix.diff(name), console)
        _alternatives(fix, console, asked)
    elif fix.hunt.failing:
        console.print(Text.assemble((function, "bold"), ": no fix found that passes every test"))
    else:
        console.print(Text.assemble((function, "bold"), ": nothing to fix"))
    for note in fix.hunt.notes:
        console.print(Text(f"note: {note}", style="dim"))


def print_diff(diff: str, console: Console) -> None:
    """Coloured on a terminal; byte for byte (so that it can be piped into patch) elsewhere."""
    if console.is_terminal:
        console.print(Syntax(diff, "diff", background_color="default", word_wrap=True))
    else:
        console.file.write(diff)


def _alternatives(fix: Fix, console: Console, asked: bool) -> None:
    others, question = fix.result.candidates[1:], fix.result.question
    if not others:
        return
    console.print(Text("other fixes that pass the same tests:", style="dim"))
    for number, candidate in enumerate(others, 2):
        console.print(Text(f"  {number}. {'; '.join(candidate.edits)}", style="dim"))
    if question is not None:
        call = _short(call_source(question.call, fix.hunt.function))
        console.print(Text(f"they differ on {call}:", style="dim"))
        for number, outcome in enumerate(question.outputs, 1):
            console.print(Text(f"  {number}. {_short(describe(outcome))}", style="dim"))
        hint = (
            "add a test with --tests" if asked else "answer with --ask, or add a test with --tests"
        )
        console.print(Text(hint, style="dim"))


def _table(title: str, function: str, tests: Sequence[FailingTest]) -> Table:
    table = _columns(title, ("call", "expected", "actual", "source"))
    for item in tests:
        source = item.test.source
        if item.test.trust is Trust.PREDICTED:
            source = f"{source} ({item.test.confidence:.0%})"
        call, expected = call_source(item.test.call, function), expected_source(item.test)
        cells = (call, expected, describe(item.actual, item.test.call), source)
        table.add_row(*(Text(_short(cell)) for cell in cells))
    return table


def _findings(title: str, function: str, findings: Sequence[Finding]) -> Table:
    table = _columns(title, ("call", "found", "actual", "reason"))
    for item in findings:
        cells = (call_source(item.call, function), item.kind, describe(item.actual), item.reason)
        table.add_row(*(Text(_short(cell)) for cell in cells))
    return table


def _columns(title: str, names: Sequence[str]) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left", show_lines=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _short(text: str) -> str:
    return text if len(text) <= CELL else f"{text[: CELL - 3]}..."
