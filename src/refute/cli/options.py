"""Options and arguments that several verbs share, each defined once."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = [
    "FILE",
    "budget_option",
    "description_option",
    "given_names",
    "json_option",
    "seed_option",
    "target_argument",
    "tests_option",
]

FILE = click.Path(path_type=Path)
target_argument = click.argument("target", metavar="FILE.py[::FUNCTION]")
tests_option = click.option(
    "--tests", type=FILE, metavar="FILE", help="Tests to believe: pytest file or JSONL."
)
description_option = click.option(
    "--description", type=FILE, metavar="FILE", help="What it should do (default: the docstring)."
)
budget_option = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one function.",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same work."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def given_names(context: click.Context) -> set[str]:
    """The options that the user gave, as opposed to those at their default."""
    default = click.core.ParameterSource.DEFAULT
    return {n for n in context.params if context.get_parameter_source(n) is not default}
