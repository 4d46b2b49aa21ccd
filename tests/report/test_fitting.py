"""A table where it fits; a list where it does not, and where lines are read out."""

from __future__ import annotations

import io

import pytest

from refute.function.contract import State
from refute.function.verbs import Hunt
from refute.results.text.consoles import FittingTable, SafeConsole
from refute.results.text.functions import print_hunt


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
