"""Results as text for people, with rich: tables, diffs and one-line remarks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from refute.core.problems import Trust
from refute.function.contract import FailingTest, Finding, State
from refute.function.formatting import call_source, describe, expected_source
from refute.function.verbs import Fix, Hunt
from refute.report.fitting import FittingTable

CELL = 400
"""Longest text in a cell, in characters."""


def print_hunt(hunt: Hunt, console: Console, *, file: str = "") -> None:
    """The failing tests of one function.

    `file`: where it is, for one of the functions of many files; there is less to read then.
    """
    name = f"{file}::{hunt.function}" if file else hunt.function
    if hunt.failing:
        console.print(_table(f"{name} is wrong", hunt.function, hunt.failing))
    if hunt.findings:
        console.print(_findings(name, hunt.function, hunt.findings))
    if not hunt.found:
        _say(console, name, _unbroken(hunt))
    _notes(hunt, console, file)


def print_fix(
    fix: Fix, name: str, console: Console, *, tests: int = 5, asked: bool = False, file: str = ""
) -> None:
    """The fix of one function as a diff, with the tests that justify it and the alternatives.

    `name`: the file's, in the diff; `asked`: the user was asked already (`--ask`); `file` as in
    `print_hunt`.
    """
    function = fix.hunt.function
    title = f"{file}::{function}" if file else function
    if fix.hunt.failing:
        shown = fix.hunt.failing[:tests]
        console.print(_table(f"{title} is wrong", function, shown))
        if len(fix.hunt.failing) > len(shown):
            console.print(Text(f"and {len(fix.hunt.failing) - len(shown)} more", style="dim"))
    elif fix.hunt.findings:
        console.print(_findings(title, function, fix.hunt.findings))
    if fix.result.candidates:
        best = fix.result.candidates[0]
        if not fix.fixed:
            _question(fix, console, asked)
        sure = "" if best.confidence is None else f" ({best.confidence:.0%})"
        _say(console, title, f"{fix.state}{sure}: {'; '.join(best.edits)}")
        for reason in fix.result.reservations:
            console.print(Text(f"only proposed: {reason}", style="dim"))
        print_diff(fix.diff(name), console)
        _alternatives(fix, console)
    elif fix.hunt.found:
        _say(console, title, "wrong: no fix found that passes every test")
    else:
        _say(console, title, _unbroken(fix.hunt))
    _notes(fix.hunt, console, file)


def print_diff(diff: str, console: Console) -> None:
    """Coloured on a terminal; byte for byte (so that it can be piped into patch) elsewhere."""
    if console.is_terminal:
        from rich.syntax import Syntax

        console.print(Syntax(diff, "diff", background_color="default", word_wrap=True))
    else:
        console.file.write(diff)


def _notes(hunt: Hunt, console: Console, file: str) -> None:
    for note in hunt.notes if hunt.found or not file else ():
        console.print(Text(f"note: {note}", style="dim"))


def _say(console: Console, function: str, claim: str) -> None:
    console.print(Text.assemble((function, "bold"), f": {claim}"))


def _unbroken(hunt: Hunt) -> str:
    """The claim about a function that nothing speaks against."""
    if hunt.state is State.CANNOT_TELL:
        late = next((note for note in hunt.notes if note.startswith("time was up")), "")
        if late:
            return f"cannot tell: {late}"
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
    if console.record:
        return  # a notebook's page has no command line
    hint = "add a test with --tests" if asked else "answer with --ask, or add a test with --tests"
    console.print(Text(hint, style="dim"))


def _alternatives(fix: Fix, console: Console) -> None:
    others = fix.result.candidates[1:]
    if others:
        console.print(Text("other fixes that pass the same tests:", style="dim"))
    for number, candidate in enumerate(others, 2):
        console.print(Text(f"  {number}. {'; '.join(candidate.edits)}", style="dim"))


def _table(title: str, function: str, tests: Sequence[FailingTest]) -> FittingTable:
    table = FittingTable(("call", "expected", "actual", "source"), title)
    for item in tests:
        source = item.test.source
        if item.test.trust is Trust.PREDICTED:
            source = f"{source} ({item.test.confidence:.0%})"
        call, expected = call_source(item.test.call, function), expected_source(item.test)
        cells = (call, expected, describe(item.actual, item.test.call), source)
        table.add(*map(_short, cells))
    return table


def _findings(title: str, function: str, findings: Sequence[Finding]) -> FittingTable:
    kinds = ", ".join(dict.fromkeys(item.kind for item in findings))
    title = f"{title}: {kinds} (nothing says what is right)"
    table = FittingTable(("call", "found", "actual", "reason"), title)
    for item in findings:
        cells = (call_source(item.call, function), item.kind, describe(item.actual), item.reason)
        table.add(*map(_short, cells))
    return table


def _short(text: str) -> str:
    return text if len(text) <= CELL else f"{text[: CELL - 3]}..."
