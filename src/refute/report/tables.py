"""Results as text for people, with rich: tables, diffs and one-line remarks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from refute.function.contract import FailingTest, Finding, State
from refute.function.show import call_source, describe, expected_source
from refute.function.verbs import Fix, Hunt
from refute.problems import Trust

__all__ = ["print_fix", "print_hunt"]

CELL = 400
"""Longest text in a cell, in characters."""


def print_hunt(hunt: Hunt, console: Console) -> None:
    """The failing tests of one function."""
    if hunt.failing:
        console.print(_table(f"{hunt.function} is wrong", hunt.function, hunt.failing))
    if hunt.findings:
        console.print(_findings(hunt.function, hunt.findings))
    if not hunt.found:
        _say(console, hunt.function, _unbroken(hunt))
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
        console.print(_table(f"{function} is wrong", function, shown))
        if len(fix.hunt.failing) > len(shown):
            console.print(Text(f"and {len(fix.hunt.failing) - len(shown)} more", style="dim"))
    elif fix.hunt.findings:
        console.print(_findings(function, fix.hunt.findings))
    if fix.result.candidates:
        best = fix.result.candidates[0]
        if not fix.fixed:
            _question(fix, console, asked)
        _say(console, function, f"{fix.state}: {'; '.join(best.edits)}")
        for reason in fix.result.reservations:
            console.print(Text(f"only proposed: {reason}", style="dim"))
        print_diff(fix.diff(name), console)
        _alternatives(fix, console)
    elif fix.hunt.found:
        _say(console, function, "wrong: no fix found that passes every test")
    else:
        _say(console, function, _unbroken(fix.hunt))
    for note in fix.hunt.notes:
        console.print(Text(f"note: {note}", style="dim"))


def print_diff(diff: str, console: Console) -> None:
    """Coloured on a terminal; byte for byte (so that it can be piped into patch) elsewhere."""
    if console.is_terminal:
        console.print(Syntax(diff, "diff", background_color="default", word_wrap=True))
    else:
        console.file.write(diff)


def _say(console: Console, function: str, claim: str) -> None:
    console.print(Text.assemble((function, "bold"), f": {claim}"))


def _unbroken(hunt: Hunt) -> str:
    """The claim about a function that nothing speaks against."""
    if hunt.state is State.CANNOT_TELL:
        return "cannot tell: nothing is known about what it should return"
    return f"passes what is known ({hunt.known} example{'s' * (hunt.known != 1)})"


def _question(fix: Fix, console: Console, asked: bool) -> None:
    """The open question, before the fix that it stands against."""
    question = fix.result.question
    if question is None:
        return
    call = _short(call_source(question.call, fix.hunt.function))
    console.print(Text(f"which is right for {call}?"))
    for number, outcome in enumerate(question.outputs, 1):
        console.print(Text(f"  fix {number}: {_short(describe(outcome))}"))
    hint = "add a test with --tests" if asked else "answer with --ask, or add a test with --tests"
    console.print(Text(hint, style="dim"))


def _alternatives(fix: Fix, console: Console) -> None:
    others = fix.result.candidates[1:]
    if others:
        console.print(Text("other fixes that pass the same tests:", style="dim"))
    for number, candidate in enumerate(others, 2):
        console.print(Text(f"  {number}. {'; '.join(candidate.edits)}", style="dim"))


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


def _findings(function: str, findings: Sequence[Finding]) -> Table:
    kinds = ", ".join(dict.fromkeys(item.kind for item in findings))
    title = f"{function}: {kinds} (nothing says what is right)"
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
