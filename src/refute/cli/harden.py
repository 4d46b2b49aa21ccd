"""`refute harden`: the tests that a change lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refute.cli.declared import FILE
from refute.cli.exit_statuses import FOUND
from refute.cli.options import json_option, python_option, seed_option, with_options
from refute.cli.output import consoles, show

_OPTIONS = (
    click.argument("targets", metavar="[TARGET...]", nargs=-1),
    click.option("--since", metavar="REF", help="What changed since this commit."),
    click.option(
        "-C", "repo", type=FILE, metavar="REPO", help="The checkout (that of the first target)."
    ),
    click.option(
        "--budget",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="Time for all of it, but for the last runs of what is offered.",
    ),
    click.option(
        "--most",
        type=click.IntRange(1),
        default=5,
        show_default=True,
        metavar="N",
        help="Tests that are offered.",
    ),
    click.option(
        "--recorded",
        type=FILE,
        metavar="FILE",
        help="Calls that `pytest --refute-record` wrote (.refute/recorded.jsonl).",
    ),
    seed_option,
    python_option,
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Mutants run at once (half the cores)."
    ),
)
"""Each is a parameter of `refute.harden`."""


@click.command("harden")
@with_options(_OPTIONS)
@click.option("--write", is_flag=True, help="Put the tests among the project's own.")
@json_option
def command(
    targets: tuple[str, ...], repo: Path | None, write: bool, as_json: bool, **how: Any
) -> int:
    """Find mutants of what changed that the project's tests do not kill, and a test for each.

    A TARGET is as in `refute hunt`; without one, and without --since: what differs from HEAD. The
    tests pin what the code does today: that it is right, nobody has said.

    Exit status 0: no test is offered, 1: some are.
    """
    from refute.api.hardening import harden
    from refute.report import terminal

    with terminal.working("opening", consoles()[1]) as spinner:
        result = harden(*targets, repo=repo, say=spinner.say, **how)
    show(result, as_json=as_json)
    if write:
        result.write()
    if result.interrupted:
        raise KeyboardInterrupt
    return FOUND if result.offers else 0
