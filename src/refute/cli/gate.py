"""`refute gate`: is a change that claims to be done shown to be?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from refute.cli.declared import MethodCommand
from refute.cli.exit_statuses import FOUND
from refute.cli.issue_options import bounds_options, checkout_options
from refute.cli.options import json_option, model_options, with_options
from refute.cli.output import consoles, show
from refute.errors import RefuteError
from refute.methods import Bounds

if TYPE_CHECKING:
    from refute.models.asking import Asked


class _HookFailed(RefuteError):
    """Trouble of the hook's: said to the user, and the agent may stop (status 2 would keep it)."""

    exit_status: ClassVar[int] = 1


class _Gate(MethodCommand):
    """With --hook, a wrong option does not keep the agent either."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:  # fmt: skip
        hooked = "--hook" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            if not hooked:
                raise
            raise _HookFailed(error.format_message()) from None


def _names(
    context: click.Context, parameter: click.Parameter, given: Sequence[str]
) -> tuple[str, ...]:
    """`a,b` as well as one at a time."""
    return tuple(name.strip() for one in given for name in one.split(",") if name.strip())


_JUDGED = (
    click.option("--base", metavar="REF", help="What the change is compared with."),
    click.option("--issue", metavar="ISSUE.md", help="The issue that the change is for."),
    click.option("--about", default="", metavar="TEXT", help="What it is for, in a few words."),
    click.option(
        "--tests", multiple=True, metavar="TEST", help="Test files or ids to run besides."
    ),
    click.option(
        "--rules", multiple=True, callback=_names, metavar="NAMES", help="Only these rules."
    ),
    click.option(
        "--without", multiple=True, callback=_names, metavar="NAMES", help="Not these rules."
    ),
    click.option(
        "--neighbours",
        type=click.IntRange(0),
        default=5,
        show_default=True,
        metavar="N",
        help="Existing test files near the change to run.",
    ),
    click.option(
        "--behaviour/--no-behaviour",
        default=True,
        help="Look for what else the change does (see `refute diff`).",
    ),
    click.option(
        "--behaviour-seconds",
        type=click.FloatRange(0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="For that, in all.",
    ),
)


@click.command("gate", cls=_Gate, levels=("issue",), more=(Bounds,))
@with_options(_JUDGED)
@click.option("--hook", is_flag=True, help="Answer an agent's Stop hook, whose JSON is on stdin.")
@checkout_options
@model_options
@bounds_options
@json_option
def command(
    asked: Asked, bounds: Bounds, hook: bool, as_json: bool, repo: Path, **what: Any
) -> int:
    """Show that a change is done: a test that was red before and is green now, nothing near broken,
    no test weakened, and what else is different.

    The checkout as it is (changes that are not committed, and new files, included) is compared with
    --base: by default HEAD where Python files have changes that are not committed, else where the
    branch left the main one. The change's tests run on the old code and on the new; tests near it,
    and those that it changes as they were, on both. docs/gate.md has the rules. The checkout is
    never changed.

    Exit status 0: proven, or nothing to prove; 1: not proven; 2: usage; 3: unavailable. With
    --hook: 2 keeps the agent at work, with the reason on stderr; 0 and 1 let it stop.
    """
    from refute.api.gating import gate, gate_hook
    from refute.report.terminal import working

    if hook:
        given = sys.stdin.read()
        where = None if repo == Path() else repo
        try:
            answer = gate_hook(given, repo=where, asked=asked, bounds=bounds, **what)
        except RefuteError as error:
            raise _HookFailed(f"gate: {' '.join(str(error).split())}") from None
        if answer.reason:
            click.echo(answer.reason, err=True)
        return answer.status
    with working("judging the change", consoles()[1]):
        result = gate(repo=repo, asked=asked, bounds=bounds, **what)
    show(result, as_json=as_json)
    return 0 if result.passed else FOUND
