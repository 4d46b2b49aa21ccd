"""Common parts of all verbs: printing of results, the next step, errors, exit status.

Results go to stdout, everything else to stderr; an error becomes one line and an exit status.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from refute.core.remarks import remark

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

    from refute.function.contract import State
    from refute.results.formats import Case, Report
    from refute.verbs.diff import DiffResult
    from refute.verbs.functions import DebugResult, HuntResult
    from refute.verbs.gate import GateResult
    from refute.verbs.issues import ReproduceResult, VetResult


_AFTER_VET = {
    "fixed": "apply the patch (`git apply`)",
    "not fixed": "change the patch until the tests above pass, and run this again",
    "breaks tests": "change the patch so that the broken tests pass, and run this again",
    "does not apply": "make the patch again with `git diff`; if the checkout has it already, name"
    " the commit before it with --against HEAD",
    "cannot tell": "give a test that fails without the patch, with --tests",
}
"""Verdict -> what to do."""


def next_step(found: Any) -> str:
    """Return what to do after a result, in a line; "" for nothing."""
    step = _STEPS.get(type(found).__name__)
    return step(found) if step else ""


def say_next(found: Any) -> None:
    """Remark what to do after a result."""
    remark(f"next: {line}" for line in [next_step(found)] if line)


def _after_hunt(found: HuntResult) -> str:
    if wrong := _first(found, "wrong"):
        return f"`refute debug {wrong}` looks for a fix"
    line = _without_examples(found)
    more = (
        "" if found.opened.runs or "--tests" in line else "; --tests PATH looks at your tests, too"
    )
    return f"{line}{more}"


def _after_debug(found: DebugResult) -> str:
    if _first(found, "proposed") and not found.proposed:
        return "check the proposed fix: answer with --ask, or add a test and name it with --tests"
    if found.diff:
        files = (module.source for module in found.opened.targets.modules)
        written = any(one.path.is_file() and one.path.read_bytes() != one.raw for one in files)
        return (
            "run `refute gate`" if written else "apply the diff (--write), then run `refute gate`"
        )
    if wrong := _first(found, "wrong"):
        return f"no fix was found of {wrong}: try a longer --budget, or a --model"
    return _without_examples(found)


def _first(found: HuntResult | DebugResult, state: str) -> str:
    """The target that the first function of a state is; "" where there is none."""
    from refute.function.verbs import Fix

    for module, one in found.collected.results:
        if one.state == state:
            name = one.hunt.function if isinstance(one, Fix) else one.function
            return f"{module.source.path}::{name}"
    return ""


def _without_examples(found: HuntResult | DebugResult) -> str:
    without = sum(one == "cannot tell" for one in found.collected.states)
    if not without:
        return "after a change, `refute gate` shows whether it is done"
    many = f"{without} functions have" if without > 1 else "1 function has"
    return (
        f"{many} no examples or tests (-v lists them): add a doctest (`>>> f(2)`, and below it what"
        " that returns), or name tests with --tests PATH"
    )


def _after_diff(found: DiffResult) -> str:
    if found.unexplained:
        return (
            "where it is meant, `refute diff --pin after` writes a test that says so, else fix it"
        )
    return "`refute gate` shows whether the change is done"


def _after_reproduce(found: ReproduceResult) -> str:
    if found.failing:
        return "fix the code until the test passes, then run `refute gate`"
    return "add to the issue a call as in a session (`>>> f(2)`) and what it should return"


def _after_vet(found: VetResult) -> str:
    return _AFTER_VET[found.verdict]


def _after_gate(found: GateResult) -> str:
    if found.passed:
        return "commit"
    rules = {one.rule for one in found.judged.findings}
    if rules & {"no-regression", "green-now"}:
        what = "fix the code until the tests above pass"
    elif "red-first" in rules:
        what = "add a test that fails on the old code (`refute diff --pin after` writes one)"
    else:
        what = "change the code or the tests"
    return f"{what}, then run `refute gate` again"


_STEPS: dict[str, Any] = {
    "HuntResult": _after_hunt,
    "DebugResult": _after_debug,
    "DiffResult": _after_diff,
    "ReproduceResult": _after_reproduce,
    "VetResult": _after_vet,
    "GateResult": _after_gate,
}


# -- calling ---------------------------------------------------------------------------------------


_WIDTH = 100
"""Characters of a line about a result."""
Done = TypeVar("Done")
Progress = Callable[[int, int], None]
"""Is told how many are done, and how many there are."""


def silent(done: int, total: int) -> None:
    """The `Progress` that says nothing."""


class Shown:
    """A result that prints itself: as the command does, as HTML in a notebook, and in a line as
    its `repr`: what all its fields hold fills a screen."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Shown.__repr__  # type: ignore[method-assign]  # before a dataclass has one

    def answer(self) -> str:
        """Return the outcome in one line."""
        return next((line for line in str(self).splitlines() if line.strip()), "")

    def __repr__(self) -> str:
        line = " ".join(self.answer().split())
        return f"<{type(self).__name__.removesuffix('Result')}: {line[:_WIDTH]}>"

    def print(self, console: Console) -> None:
        """Print the result as the command does on stdout."""
        raise NotImplementedError

    def document(self) -> Struct:
        """The result as a document of `refute.results`, which other programs read."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute.results import as_dict

        return as_dict(self.document())

    def _repr_html_(self) -> str:
        from refute.results.text.consoles import as_html

        return as_html(self.print)

    def __str__(self) -> str:
        from refute.results.text.consoles import as_text

        return as_text(self.print)


class Reported(Shown):
    """A result that is also a report in the formats of `refute.results.formats`."""

    __slots__ = ()

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        raise NotImplementedError

    def answer(self) -> str:
        """Return the outcome in one line."""
        found = self.report()
        line = found.summary or super().answer()
        return f"{line}; time was up before the rest" if found.interrupted else line

    def formatted(self, format: str) -> str:
        """The result as a text of `refute.results.formats.FORMATS`, which ends with a line feed."""
        if format == "text":
            return f"{self}".rstrip("\n") + "\n"
        if format == "json":
            from refute.results import as_json

            return as_json(self.document(), indent=2) + "\n"
        from refute.results.formats import formatted

        return formatted(self.report(), format)


def apart(work: Callable[[], Done]) -> Done:
    """Do the work here, or in a thread where this one has a running event loop: methods bring
    their own."""
    from refute.source.syntax import lifted_limits

    with lifted_limits():
        if "asyncio" not in sys.modules:  # then no loop runs
            return work()
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(work).result()


def consoles() -> tuple[Console, Console]:
    """For results and for everything else; nothing that a terminal would obey gets through, and
    brackets in what others wrote are brackets.

    Piped tables are as wide as their content needs.
    """
    from refute.results.text.consoles import SafeConsole

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    plain: Any = {"highlight": False, "emoji": False, "markup": False}
    return SafeConsole(width=width, **plain), SafeConsole(stderr=True, **plain)


@dataclass(frozen=True, slots=True)
class Form:
    """Format of a result on stdout (`--format`), and of its files (`--save`)."""

    name: str
    """One of `refute.results.formats.FORMATS`."""
    saved: tuple[tuple[str, Path], ...] = ()

    @property
    def is_text(self) -> bool:
        """True for the format for people."""
        return self.name == "text"

    @property
    def streams(self) -> bool:
        """True if findings are shown as they come."""
        return self.name in ("text", "jsonl", "github")

    def show_case(self, verb: str, case: Callable[[], Case]) -> None:
        """Show a case as it is found, where the form is for programs and can."""
        if self.streams and not self.is_text:
            from refute.results.formats import writers

            found = case()
            jsonl = self.name == "jsonl"
            for line in [writers.case_line(verb, found)] if jsonl else writers.commands(found):
                click.echo(line)

    def show_end(self, result: Reported) -> None:
        """Show what was not shown as it was found, and write the files."""
        if self.streams and not self.is_text:
            from refute.results.formats import writers

            lines = writers.last_lines if self.name == "jsonl" else writers.notices
            for line in lines(result.report()):
                click.echo(line)
        elif not self.is_text:
            click.echo(result.formatted(self.name), nl=False)
        self.save(result)

    def show(self, result: Reported) -> None:
        """Show a result that is found in one piece, and write the files."""
        if self.is_text:
            result.print(consoles()[0])
        else:
            click.echo(result.formatted(self.name), nl=False)
        self.save(result)
        self.say_next(result)

    def say_next(self, result: Any) -> None:
        """Say to people what to do next."""
        if self.is_text:
            say_next(result)

    def save(self, result: Reported) -> None:
        """Write the files."""
        from refute.core.storage import write_output

        for name, file in self.saved:
            write_output(file, result.formatted(name).encode("utf-8", "backslashreplace"))


def show(result: Any, *, as_json: bool) -> None:
    """Print the result of an API function on stdout, for people or as its JSON document."""
    if as_json:
        print_json(result.to_dict())
    else:
        Form("text").show(result)


def print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, indent=2))


def print_list(rows: Sequence[dict[str, str]], *, as_json: bool) -> None:
    """Print the rows on stdout; all have the same columns."""
    if as_json:
        print_json(list(rows))
        return
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in rows[0] if rows else ():
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        table.add_row(*row.values())
    consoles()[0].print(table)


FOUND = 1
PROPOSED, CANNOT_TELL, NOTHING_TO_CHANGE = 4, 5, 6


def status_of_states(
    states: Iterable[State], *, fixing: bool = False, fail_on: str | None = None
) -> int:
    """The exit status for what is claimed about functions; `fixing`: `debug`'s. `fail_on`: "wrong":
    1 where any was wrong, fixed or not, else 0; "never": 0."""
    from refute.function.contract import State, overall

    if fail_on is not None:
        wrong = {State.WRONG, State.PROPOSED, State.FIXED}
        return FOUND if fail_on == "wrong" and wrong & set(states) else 0
    passes = NOTHING_TO_CHANGE if fixing else 0
    statuses = {
        State.WRONG: FOUND,
        State.PROPOSED: PROPOSED,
        State.FIXED: 0,
        State.OUT_OF_DATE: passes,
        State.PASSES: passes,
        State.CANNOT_TELL: CANNOT_TELL,
    }
    return statuses[overall(states)]
