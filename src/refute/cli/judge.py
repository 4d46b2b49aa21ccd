"""`refute judge`: rank candidates: programs for one task (best of N), or patches for one issue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.exit_statuses import FOUND
from refute.cli.issue_options import bounds_options, checkout_options
from refute.cli.options import (
    FILE,
    description_option,
    given_names,
    json_option,
    seed_option,
    session_options,
)
from refute.cli.output import consoles, show
from refute.errors import InputError

if TYPE_CHECKING:
    from refute.methods import Bounds
    from refute.models.asking import Asked

_OF_PROGRAMS = {"reward": "--reward", "n": "-n", "k": "--k", "description": "--description"}
_OF_PATCHES = {
    "repo": "-C", "runner": "--runner", "calls": "--calls", "seconds": "--seconds",
    "test_seconds": "--test-seconds",
}  # fmt: skip


@click.command("judge", short_help="Rank candidate programs or patches (best of N).")
@click.argument("target", metavar="PROBLEM.py[::FUNCTION]")
@click.argument("candidates", nargs=-1, required=True, type=FILE, metavar="CANDIDATE.py...")
@click.option("--reward", metavar="SPEC", help="Rank by a reward model instead: hf:PATH_OR_ID.")
@click.option("-n", type=click.IntRange(1, 15), metavar="N", help="Tests a candidate (3).")
@click.option("--k", type=click.IntRange(1), metavar="N", help="Votes on an output (8).")
@click.option(
    "--tests", type=FILE, metavar="PATH",
    help="Tests to believe: pytest file or folder, JSONL; of patches a patch of tests.",
)  # fmt: skip
@description_option
@click.option("--issue", metavar="ISSUE.md", help="Rank patches for this issue (`-`: stdin).")
@checkout_options
@bounds_options
@session_options
@seed_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    target: str,
    candidates: tuple[Path, ...],
    n: int | None,
    k: int | None,
    issue: str | None,
    as_json: bool,
    asked: Asked,
    bounds: Bounds,
    **what: Any,
) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.

    `judge A.diff B.diff... --issue ISSUE.md -C REPO` ranks patches of a repository, as `vet` does
    several fixes: by tests for the issue, then by how many of the others do the same; with inputs
    that tell them apart. Exit status then 0: the first is shown to fix it; 1: it is not.
    """
    from refute.report import terminal

    _check(given_names(context), patches=issue is not None)
    asked = replace(asked, model=None if asked.model == "none" else asked.model)
    checkout = {name: what.pop(name) for name in ("repo", "runner")}
    with terminal.working(
        f"judging {len(candidates) + (issue is not None)} candidates", consoles()[1]
    ):
        if issue is not None:
            from refute.api.fixes import rank_fixes

            shared = {name: what[name] for name in ("tests", "python")}
            fixes: tuple[Path | str, ...] = (target, *candidates)
            ranked = rank_fixes(
                fixes, issue=issue, asked=asked, bounds=bounds, **shared, **checkout
            )
        else:
            from refute.api.judging import judge

            options = {name: value for name, value in (("n", n), ("k", k)) if value is not None}
            result = judge(target, candidates, asked=replace(asked, options=options), **what)
    if issue is None:
        show(result, as_json=as_json)
        return 0
    show(ranked, as_json=as_json)
    return 0 if ranked.results[0].verdict == "fixed" else FOUND


def _check(given: set[str], *, patches: bool) -> None:
    """Raise `InputError` for an option of the other form."""
    for name, flag in (_OF_PROGRAMS if patches else _OF_PATCHES).items():
        if name in given:
            whose = "programs: leave --issue out" if patches else "patches: add --issue ISSUE.md"
            raise InputError(f"{flag} is about {whose}")
