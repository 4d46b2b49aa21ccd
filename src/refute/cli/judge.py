"""`refute judge`: rank candidate programs for one task (best of N)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from refute.cli.declared import FILE, MethodCommand
from refute.cli.options import (
    description_option,
    json_option,
    python_option,
    seed_option,
    session_options,
    tests_option,
)
from refute.cli.output import consoles, show
from refute.core.parameters import settable
from refute.function.llm.options import SuiteOptions
from refute.models.asking import Asked


@click.command("judge", cls=MethodCommand, more=(SuiteOptions,))
@click.argument("target", metavar="PROBLEM.py[::FUNCTION]")
@click.argument("candidates", nargs=-1, required=True, type=FILE, metavar="CANDIDATE.py...")
@click.option("--reward", metavar="SPEC", help="Rank by a reward model instead: hf:PATH_OR_ID.")
@tests_option
@description_option
@python_option
@session_options
@seed_option
@json_option
def command(
    target: str, candidates: tuple[Path, ...], as_json: bool, asked: Asked, **what: Any
) -> int:
    """Rank candidate programs for the function that PROBLEM.py describes by its docstring.

    With --model, tests are generated against each candidate and collated. Without (or with
    `--model none`), the stated examples and what most candidates return decide. Every candidate
    defines the function; PROBLEM.py's own body is not run, and may be empty.
    """
    from refute.api.judging import judge
    from refute.results.text.consoles import working

    options = {name: what.pop(name) for name in settable((SuiteOptions,)) if name in what}
    model = None if asked.model == "none" else asked.model
    asked = replace(asked, model=model, set=options)
    with working(f"judging {len(candidates)} candidates", consoles()[1]):
        result = judge(target, candidates, asked=asked, **what)
    show(result, as_json=as_json)
    return 0
