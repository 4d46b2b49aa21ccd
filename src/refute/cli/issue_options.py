"""Options and steps that the verbs about issues share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from refute.cli.declared import FILE
from refute.cli.options import with_options
from refute.methods import Bounds
from refute.models.asking import Asked


def bounds_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what one issue may cost, which is set by name, as one argument `bounds`.

    Below `model_options`, and for a `MethodCommand` with `more=(Bounds,)`."""

    @functools.wraps(command)
    def bounded(*args: Any, asked: Asked, **given: Any) -> Any:
        names = {one.name for one in fields(Bounds)}
        limits = {name: value for name, value in asked.options.items() if name in names}
        options = {name: value for name, value in asked.options.items() if name not in names}
        asked = replace(asked, options=options)
        return command(*args, asked=asked, bounds=Bounds(**limits), **given)

    return bounded


_CHECKOUT = (
    click.option(
        "-C", "repo", type=FILE, default=Path(), metavar="REPO", help="The checkout (here)."
    ),
    click.option(
        "--python", type=FILE, metavar="FILE", help="Interpreter of its tests (default: active)."
    ),
    click.option(
        "--runner",
        type=click.Choice(["pytest", "unittest", "django", "sympy"]),
        help="How its tests are started (default: read from it).",
    ),
)


def checkout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a user's checkout, as `refute.reproduce` takes them."""
    return with_options(_CHECKOUT)(command)
