"""`gate`: is a change that claims to be done shown to be?

>>> result = refute.gate(repo=".", base="main")
>>> result.verdict, [finding.what for finding in result.judged.findings]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from refute.core.methods import Bounds
from refute.core.parameters import options_with, parameter
from refute.errors import InputError, RefuteError
from refute.gating.change import Change, open_change
from refute.gating.hook import BLOCK, Memory, read_message, reason_of
from refute.gating.judging import Judged, Settings, judge
from refute.gating.running import chosen_rules
from refute.models.asking import Asked
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.issues import IssueOptions, reproduced, with_bounds
from refute.verbs.options import form_options
from refute.verbs.output import FOUND, Form, Reported, apart, consoles
from refute.workspace.factory import Checkout
from refute.workspace.snapshot import checkout_root

if TYPE_CHECKING:
    from refute.results.formats import Report
    from refute.results.gate import Gate


@dataclass(frozen=True, slots=True)
class GateResult(Reported):
    """Result of `gate`."""

    judged: Judged

    @property
    def verdict(self) -> str:
        """`proven`, `not proven`, `nothing against it` or `nothing to prove`."""
        return self.judged.verdict

    @property
    def passed(self) -> bool:
        """True if nothing is against the change."""
        return self.verdict != "not proven"

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        from refute.results.formats.changes import report_of_gate

        return report_of_gate(self.judged)

    def document(self) -> Gate:
        """The result as `gate/1`."""
        from refute.results.gate import gate_document

        return gate_document(self.judged)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.changes import print_gate

        print_gate(self.judged, console)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """Answer of the hook."""

    status: int
    """Exit status: 2 keeps the agent at work, 0 lets it stop."""
    reason: str = ""
    """Text for the agent's program: on stderr with status 2, on stdout with 0."""
    result: GateResult | None = None
    """None: nothing was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(IssueOptions):
    """Options of `gate`."""

    base: str | None = parameter(None, "Commit before the change.", metavar="REF", for_agents=True)
    head: str | None = None
    issue: Path | None = parameter(
        None, "The issue that the change is for.", metavar="ISSUE.md", text=True, for_agents=True
    )
    about: str = parameter("", "Purpose of the change, in a few words.", metavar="TEXT")
    tests: tuple[str, ...] = parameter(
        (), "More test files or ids to run.", metavar="TEST", in_files=True, for_agents=True
    )
    rules: tuple[str, ...] = parameter((), "Only these rules.", metavar="A,B")
    without: tuple[str, ...] = parameter((), "Not these rules.", metavar="A,B")
    neighbours: int = parameter(
        5, "Existing test files near the change to run.", at_least=0, in_files=True
    )
    behaviour: bool = parameter(True, "Find what else it changes.", in_files=True, for_agents=True)
    behaviour_seconds: float = parameter(30.0, "Seconds for it.", metavar="SECONDS", above=0)


def gate(*, options: GateOptions | None = None, **given: Any) -> GateResult:
    """Judge what a checkout has beside a base: was something red that is green now, does what is
    near still pass, do the tests demand what they did, and what else is different?

    `options`: a `GateOptions`, or its fields by name. `base`: the commit before; None: HEAD where
    the working tree has changes that are not committed, else where the branch left the main one.
    `head`: the commit after; None: the working tree, new files included. `python`, `runner`: how
    the tests run, as in `refute.reproduce`. `issue`: a test of its own is made of it as
    `refute.reproduce` does, and must go from red to green. `rules`, `without`: names of
    `refute.gating.running.RULES`.

    Everything runs in a workspace; nothing in the checkout is changed. Raises `InputError`,
    `Unavailable`.
    """
    chosen, bounds = with_bounds(options_with(GateOptions, options, given))
    settings = Settings(
        rules=chosen_rules(_names(chosen.without), _names(chosen.rules)),
        tests=chosen.tests,
        neighbours=chosen.neighbours,
        timeout=bounds.test_seconds,
        behaviour=chosen.behaviour,
        behaviour_seconds=chosen.behaviour_seconds,
    )

    def work() -> GateResult:
        change = open_change(_place_of(chosen), chosen.base, chosen.head)
        return GateResult(_judged(change, settings, chosen, bounds))

    return apart(work)


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """`a,b` as well as one at a time."""
    return tuple(name.strip() for one in given for name in one.split(",") if name.strip())


def _place_of(options: GateOptions) -> Checkout:
    return Checkout(options.repo, options.python, options.runner)


def gate_hook(message: str, *, options: GateOptions | None = None, **given: Any) -> HookAnswer:
    """Answer the hook that a coding agent runs when it stops.

    `message`: what the hook was given on stdin. `repo`: by default where the agent works. The
    others as in `gate`. The agent may stop where it is kept at work already, where it works in no
    repository, and where this state of the checkout was judged in its session before. Raises as
    `gate`.
    """
    chosen, told = options_with(GateOptions, options, given), read_message(message)
    if told.active:
        return HookAnswer(0)
    if chosen.repo == Path():
        chosen = replace(chosen, repo=told.cwd or Path())
    try:
        checkout_root(chosen.repo)
    except InputError:
        return HookAnswer(0)
    change = open_change(_place_of(chosen), chosen.base, chosen.head)
    asks = (str(chosen.rules), str(chosen.without), str(chosen.issue))
    memory = Memory(told.session, change.base, change.head, *asks)
    if memory.knows():
        return HookAnswer(0)
    result = gate(options=chosen)
    memory.keep(result.judged)
    if result.passed:
        return HookAnswer(0, result=result)
    return HookAnswer(*told.keep(reason_of(result.judged)), result)


def _judged(change: Change, settings: Settings, options: GateOptions, bounds: Bounds) -> Judged:
    if options.issue is None:
        return judge(change, settings, about=options.about)
    from refute.issue.contract import read_issue

    text = read_issue(str(options.issue))
    written, about = _issue_tests(change, text, options, bounds), f"{text}\n\n{options.about}"
    return judge(change, settings, about=about.strip(), issue_tests=written)


def _issue_tests(change: Change, text: str, asked: Asked, bounds: Bounds) -> str:
    """A test patch that reproduces the issue on the base; "" where none was found."""
    import asyncio

    from refute.core.problems import IssueProblem
    from refute.issue.choosing import chosen_reproducer
    from refute.workspace.factory import open_local, prepare

    _, spec, options = chosen_reproducer(asked)
    base = prepare(str(change.store), change.base, change.recipe, checkout=change.root)
    problem = IssueProblem(change.root.name, str(change.store), change.base, text, change.recipe)
    found = asyncio.run(reproduced(spec, options, problem, lambda: open_local(base), asked, bounds))
    return found.prediction.patch


class _HookFailed(RefuteError):
    """Trouble of the hook's: said to the user, and the agent may stop (status 2 would keep it)."""

    exit_status: ClassVar[int] = 1


@contextmanager
def _letting_go(hooked: bool) -> Iterator[None]:
    try:
        yield
    except (click.ClickException, RefuteError) as error:
        if not hooked:
            raise
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise _HookFailed(f"gate: {' '.join(said.split())}") from None


class _Gate(MethodCommand):
    """With --hook, a wrong option does not keep the agent either."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:  # fmt: skip
        with _letting_go("--hook" in args):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _letting_go(ctx.params["hook"]):
            return super().invoke(ctx)


@click.command("gate", cls=_Gate, levels=("issue",), more=(Bounds,))
@offered(GateOptions)
@click.option("--hook", is_flag=True, help="Answer an agent's stop hook, whose JSON is on stdin.")
@form_options
def command(options: GateOptions, hook: bool, form: Form) -> int:
    """Prove that a change is done: a test was red before and is green now, nothing near it broke,
    no test was weakened; list what else differs.

    Compares the checkout as it is, uncommitted changes and new files included, with --base: by
    default HEAD if Python files have uncommitted changes, else the commit where the branch left the
    main one. Runs the change's tests on the old code and on the new; on both also tests near it,
    and changed tests as they were. docs/gate.md has the rules. Never changes the checkout.

    Exit status 0: proven, or nothing to prove; 1: not proven; 2: usage; 3: unavailable. With
    --hook: the answer that the agent's program reads (Claude Code, Codex, Cursor, Gemini CLI,
    Copilot CLI); 1 lets the agent stop.
    """
    from refute.results.text.consoles import working

    if hook:
        answer = gate_hook(sys.stdin.read(), options=options)
        if answer.reason:
            click.echo(answer.reason, err=answer.status == BLOCK)
        return answer.status
    with working("judging the change", consoles()[1]):
        result = gate(options=options)
    form.show(result)
    return 0 if result.passed else FOUND
