"""Results about functions as text: tests, fixes, and questions to the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from refute.core.problems import Trust
from refute.core.remarks import LOG
from refute.function.contract import Ask, FailingTest, Finding, Question, State
from refute.function.formatting import call_source, describe, expected_source, value_source
from refute.results.formats import short
from refute.results.text.consoles import FittingTable, Working
from refute.sandbox import Returned
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, parse_literal

if TYPE_CHECKING:
    from refute.function.verbs import Fix, Hunt


MOST_CHOICES = 26


def print_hunt(hunt: Hunt, console: Console, *, file: str = "", others: bool = False) -> None:
    """The failing tests of one function.

    `file`: where it is, for one of the functions of many files; there is less to read then.
    `others`: it is one of several; that nothing is known of it is counted then, not listed.
    """
    name = f"{file}::{hunt.function}" if file else hunt.function
    if hunt.failing:
        console.print(_table(_titled(name, hunt), hunt.function, hunt.failing))
    if hunt.findings:
        console.print(_findings(name, hunt.function, hunt.findings))
    if not hunt.found:
        _say_unbroken(hunt, console, name, others)
    _notes(hunt, console, bool(file) or others)


def print_fix(
    fix: Fix, name: str, console: Console, *, tests: int = 5, asked: bool = False, file: str = "",
    others: bool = False,
) -> None:  # fmt: skip
    """The fix of one function as a diff, with the tests that justify it and the alternatives.

    `name`: the file's, in the diff; `asked`: the user was asked already (`--ask`); `file`, `others`
    as in `print_hunt`.
    """
    function = fix.hunt.function
    title = f"{file}::{function}" if file else function
    if fix.hunt.failing:
        shown = fix.hunt.failing[:tests]
        console.print(_table(_titled(title, fix.hunt), function, shown))
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
        _say_unbroken(fix.hunt, console, title, others)
    _notes(fix.hunt, console, bool(file) or others)


def print_diff(diff: str, console: Console) -> None:
    """Coloured on a terminal; byte for byte (so that it can be piped into patch) elsewhere."""
    if console.is_terminal:
        from rich.syntax import Syntax

        console.print(Syntax(diff, "diff", background_color="default", word_wrap=True))
    else:
        console.file.write(diff)


def _notes(hunt: Hunt, console: Console, brief: bool) -> None:
    for note in hunt.notes if hunt.found or not brief else ():
        console.print(Text(f"note: {note}", style="dim"))


def _say(console: Console, function: str, claim: str) -> None:
    console.print(Text.assemble((function, "bold"), f": {claim}"))


def _titled(name: str, hunt: Hunt) -> str:
    late = hunt.state is State.OUT_OF_DATE
    return f"{name}: its documentation is out of date" if late else f"{name} is wrong"


def _say_unbroken(hunt: Hunt, console: Console, name: str, others: bool) -> None:
    """The claim about a function that nothing speaks against."""
    if hunt.state is State.OUT_OF_DATE:
        _say(console, name, "tests that execute it pass, and notice most small changes of it")
    elif hunt.state is not State.CANNOT_TELL:
        _say(console, name, f"passes what is known ({hunt.known} example{'s' * (hunt.known != 1)})")
    elif late := next((note for note in hunt.notes if note.startswith("time was up")), ""):
        _say(console, name, f"cannot tell: {late}")
    elif hunt.trouble:
        _say(console, name, next(note for note in hunt.notes if "trouble" in note))
    elif others:
        LOG.debug("%s: no examples or tests", name)
    else:
        _say(console, name, "cannot tell: no examples or tests")


def _question(fix: Fix, console: Console, asked: bool) -> None:
    """The open question, before the fix that it stands against."""
    question = fix.result.question
    if question is None:
        return
    call = short(call_source(question.call, fix.hunt.function))
    console.print(Text(f"which is right for {call}?"))
    for number, outcome in enumerate(question.outputs, 1):
        console.print(Text(f"  fix {number}: {short(describe(outcome))}"))
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
        table.add(*map(short, cells))
    return table


def _findings(title: str, function: str, findings: Sequence[Finding]) -> FittingTable:
    kinds = ", ".join(dict.fromkeys(item.kind for item in findings))
    title = f"{title}: {kinds} (nothing says what is right)"
    table = FittingTable(("call", "found", "actual", "reason"), title)
    for item in findings:
        cells = (call_source(item.call, function), item.kind, describe(item.actual), item.reason)
        table.add(*map(short, cells))
    return table


def asking(console: Console, shown: Working) -> Callable[[str], Ask]:
    """For a function's name an `Ask` that puts the question on stderr and reads from stdin."""

    def ask(function: str, question: Question) -> Any:
        with shown.paused():
            return _answer(function, question, console)

    return lambda function: partial(ask, function)


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
