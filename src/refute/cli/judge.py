"""`refute judge`: rank candidate programs for one task (best of N)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import (
    FILE,
    description_option,
    json_option,
    python_option,
    seed_option,
    session_options,
    tests_option,
)
from refute.cli.output import consoles, show

if TYPE_CHECKING:
    from refute.models.asking import Asked

__all__ = ["command"]


@click.command("judge", short_help="Rank candidate programs by generated tests (best of N).")
@click.argument("target", metavar="PROBLEM.py[::FUNCTION]")
@click.argument("candidates", nargs=-1, required=True, type=FILE, metavar="CANDIDATE.py...")
@click.option("--reward", metavar="SPEC", help="Rank by a reward model instead: hf:PATH_OR_ID.")
@click.option("-n", type=click.IntRange(1, 15), metavar="N", help="Tests a candidate (3).")
@click.option("--k", type=click.IntRange(1), metavar="N", help="Votes on an output (8).")
@tests_option
@description_option
@python_option
@session_options
@seed_option
@json_option
def command(
    target: str,
    candidates: tuple[Path, ...],
    n: int | None,
    k: int | None,
    as_json: bool,
    asked: Asked,
    **what: Any,
) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.
    """
    from refute.api.judging import judge
    from refute.report import terminal

    err = consoles()[1]
    given = {name: value for name, value in (("n", n), ("k", k)) if value is not None}
    asked = replace(asked, model=None if asked.model == "none" else asked.model, options=given)
    with terminal.working(f"judging {len(candidates)} candidates", err):
        result = judge(target, candidates, asked=asked, **what)
    show(result, as_json=as_json)
    return 0
