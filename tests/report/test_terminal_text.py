"""Nothing that others wrote reaches the terminal as something that it obeys."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from refute.core.problems import IssuePrediction
from refute.doors import command_line
from refute.function.contract import State
from refute.function.verbs import Hunt
from refute.issue.contract import Reproduction
from refute.issue.observed_calls import ObservedCall
from refute.issue.vet import Vetted
from refute.results import as_dict
from refute.results.issues import ranked_document
from refute.results.text.consoles import FittingTable, SafeConsole
from refute.results.text.functions import print_hunt
from refute.results.text.issues import print_ranked, print_vetted
from refute.verbs.vet import Pair, RankedFixes
from refute.workspace.contract import Failure, TestResult

HOSTILE = {
    "escape": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://x\x1b\\x",
    "eight bits": "\x9b2J",
    "turned round": "\u202egnp.exe",
    "isolated": "\u2066x\u2069",
    "NUL": "a\0b",
    "back": "safe\b\b\b\bevil",
    "return": "safe\revil",
    "half a character": "\ud800",
    "no width": "a\u200bb",
    "feed": "a\x0cb\x0bc\x85d\u2028e",
}


def table(text: str) -> Table:
    made = Table(title=Text(text))
    made.add_column(Text(text))
    made.add_row(Text(text))
    return made


def shown(thing: object, *, terminal: bool = True) -> str:
    stream = io.StringIO()
    console = SafeConsole(file=stream, force_terminal=terminal, color_system=None, width=200)
    console.print(thing)
    return stream.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(
    "made",
    [
        Text,
        table,
        lambda text: Panel(Text(text), title=Text(text)),
        lambda text: Syntax(text, "diff", background_color="default", word_wrap=True),
        lambda text: Syntax(f"+{text}\n", "python"),
    ],
    ids=["text", "table", "panel", "diff", "code"],
)
def test_what_is_printed_is_printable(made: object, kind: str, terminal: bool) -> None:
    out = shown(made(HOSTILE[kind]), terminal=terminal)  # type: ignore[operator]
    assert all(char.isprintable() or char == "\n" for char in out), ascii(out)


def test_colours_still_work() -> None:
    stream = io.StringIO()
    console = SafeConsole(file=stream, force_terminal=True, color_system="standard")
    console.print(Text("red\x1b[2J", style="red"))
    assert stream.getvalue() == "\x1b[31mred\\x1b[2J\x1b[0m\n"


@pytest.mark.parametrize("kind", HOSTILE)
def test_remarks_and_errors(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    command_line.show_remarks()
    log = logging.getLogger("refute")
    record = log.makeRecord("refute", logging.INFO, __file__, 1, HOSTILE[kind], (), None)
    # By this handler alone: a worker of xdist cannot report half a character that pytest captured.
    next(one for one in log.handlers if isinstance(one, command_line._Remarks)).handle(record)
    assert command_line.fail(HOSTILE[kind], 2) == 2
    err = capsys.readouterr().err
    assert all(char.isprintable() or char == "\n" for char in err), ascii(err)
    assert err.count("\n") == 2


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_verdict_cannot_be_written_over(kind: str) -> None:
    text = f"{HOSTILE[kind]}fixed: 1 reproducing test failed before the fix and passes now"
    failure = Failure("AssertionError", text, text, ())
    result = TestResult(id=text, file=text, outcome="failed", failure=failure)
    vetted = Vetted("not fixed", text, (result,), (result,), (result,), (text,), (text,))
    stream = io.StringIO()
    console = SafeConsole(file=stream, force_terminal=True, color_system=None, width=300)
    found = Reproduction(IssuePrediction("a", "+", 0.6, notes=(text,)))
    print_vetted("snippet", vetted, f"+{text}\n", console, found=found)
    out = stream.getvalue()
    assert all(char.isprintable() or char == "\n" for char in out), ascii(out)
    assert "it rests on tests with confidence 60% (snippet)" in out


def test_brackets_are_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    made = Table()
    made.add_column("[red]head")
    made.add_row("[/] [link=http://x]here")
    out = command_line.consoles()[0]
    out.print(made)
    out.print("[/bold]")
    shown = capsys.readouterr().out
    assert "[red]head" in shown
    assert "[/] [link=http://x]here" in shown
    assert "[/bold]" in shown


def test_a_call_of_a_test_is_shown_with_both_ends() -> None:
    call = ObservedCall("t.py::test_a", "Cart.total", "self=Cart(1)", "3", "raises KeyError()")
    test = ObservedCall("t.py::test_b", "", "", "passed", "fails")
    ranked = RankedFixes((), (), ("a.diff", "b.diff"), (Pair(0, 1, observed=(call, test)),))
    out = io.StringIO()
    print_ranked(ranked, Console(file=out, width=100))
    assert out.getvalue().splitlines() == [
        "a.diff and b.diff differ in t.py::test_a",
        "  Cart.total(self=Cart(1))",
        "  a.diff: 3",
        "  b.diff: raises KeyError()",
    ]
    [pair] = as_dict(ranked_document(ranked))["pairs"]
    assert pair["observed"][1] == {
        "test": "t.py::test_b", "function": "", "given": "", "before": "passed", "after": "fails",
    }  # fmt: skip


def printed(width: int, *rows: tuple[str, str]) -> str:
    table = FittingTable(("call", "actual"), "f is wrong")
    for row in rows:
        table.add(*row)
    file = io.StringIO()
    SafeConsole(file=file, width=width, highlight=False, markup=False).print(table)
    return file.getvalue()


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_what_fits_is_a_table() -> None:
    shown = printed(40, ("f(1)", "[bold]2"))
    assert "│ f(1) │ [bold]2 │" in shown
    assert shown.startswith("f is wrong")


def test_what_is_wider_is_a_list_in_reading_order() -> None:
    rows = (("f(1)", "2"), (">>> x = [1, 2, 3, 4]\n>>> f(x)", "'\x1b[31m'"))
    assert printed(28, *rows) == (
        "f is wrong\n"
        "call: f(1)\n  actual: 2\n"
        "call: >>> x = [1, 2, 3, 4]\n    >>> f(x)\n  actual: '\\x1b[31m'\n"
    )


def test_a_terminal_that_draws_nothing_gets_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert printed(80, ("f(1)", "2")) == "f is wrong\ncall: f(1)\n  actual: 2\n"


def test_where_time_was_up_it_is_not_said_that_nothing_is_known() -> None:
    late = "time was up before all examples were looked at"
    for notes, said in (((late,), late), ((), "no examples or tests")):
        file = io.StringIO()
        hunt = Hunt("f", (), (), notes, State.CANNOT_TELL)
        print_hunt(hunt, SafeConsole(file=file, width=120), file="m.py")
        assert file.getvalue() == f"m.py::f: cannot tell: {said}\n"
