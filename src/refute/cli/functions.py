"""What `hunt` and `debug` share: their options, progress, and how they end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from refute.cli.exit_statuses import status_of_states
from refute.cli.options import (
    budget_option,
    description_option,
    python_option,
    seed_option,
    tests_option,
    total_option,
    with_options,
)
from refute.cli.output import consoles
from refute.errors import InputError
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.api.functions import Show
    from refute.function.parallel import Found
    from refute.function.service import Collected, Opened
    from refute.function.target import Module
    from refute.report.terminal import Working

_MOST_LISTED = 4 << 20
"""Characters of a list of targets."""
MOST_NAMED = 10
FEW = 20
"""For so many functions no lines of progress are written."""


def _files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A shell completes targets as files and folders."""
    return [CompletionItem(incomplete, type="file")]


_OPTIONS = (
    click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=_files),
    click.option("--since", metavar="REF", help="Only what changed since this commit."),
    tests_option,
    description_option,
    budget_option,
    total_option,
    seed_option,
    python_option,
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (all cores)."
    ),
)
"""Each is a parameter of `refute.api.hunt` and `refute.api.debug`."""


def subject_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the targets and the options about them."""
    return with_options(_OPTIONS)(command)


def read_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets; in place of `-` those on stdin, one a line."""
    found: list[str] = []
    for target in targets:
        if target != "-":
            found.append(target)
            continue
        text = sys.stdin.read(_MOST_LISTED + 1)
        if len(text) > _MOST_LISTED:
            raise InputError("-: the list of targets is longer than 4 MiB")
        found += [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(found)


@contextmanager
def watching(
    print_one: Callable[[Module, Found, bool], None],
) -> Iterator[tuple[Callable[[Opened], None], Show, Working]]:
    """A spinner, and what is to be told of the targets and of each result, which `print_one`
    prints; its last argument: whether it is one of many files'."""
    from refute.report import terminal

    broad, total, done, told = False, 0, 0, 0
    with terminal.working("opening", consoles()[1]) as spinner:

        def opened(found: Opened) -> None:
            nonlocal broad, total
            broad, total = found.targets.broad, found.functions
            spinner.say(f"looking at {total} function{'s' * (total > 1)}")

        def show(module: Module, one: Found, how_far: str) -> None:
            nonlocal done, told
            with spinner.paused():
                print_one(module, one, broad)
            spinner.say(how_far)
            done += 1
            if not spinner.shown and total > FEW and 10 * done // total > told:
                told = 10 * done // total
                remark([how_far])

        yield opened, show, spinner


def conclude(got: Collected, *, fixing: bool = False, fail_on: str | None = None) -> int:
    """Say how it all came out, and return the exit status."""
    from refute.function.service import summary

    if len(got.results) + len(got.skipped) > 1 or (got.interrupted and got.results):
        remark([summary(Counter(got.states), Counter(one.kind for one in got.skipped))])
        if got.troubles:
            remark([f"of these {got.troubles} given up, for trouble of refute's own"])
    late = [one.where for one in got.skipped if one.kind == "no time left"]
    if late:
        shown = ", ".join(late[:MOST_NAMED]) + ", ..." * (len(late) > MOST_NAMED)
        remark([f"no time was left for {shown}"])
    if got.known:
        remark([f"{got.known} function{'s' * (got.known != 1)} with known problems alone"])
    if got.interrupted:
        raise KeyboardInterrupt
    if not got.results and (got.known or not got.skipped):
        return 0  # nothing changed since the commit that was named, or nothing is new
    return status_of_states(got.states, fixing=fixing, fail_on=fail_on)
