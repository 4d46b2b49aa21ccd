"""Options and steps that the verbs about issues share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refute.cli.options import FILE, gathering, with_options

_SECONDS = click.FloatRange(0, min_open=True)
_BOUNDS = (
    click.option(
        "--calls",
        type=click.IntRange(1),
        default=60,
        show_default=True,
        metavar="N",
        help="Samples of the model for one issue, at most.",
    ),
    click.option(
        "--seconds",
        type=_SECONDS,
        default=1800.0,
        show_default=True,
        help="For one issue, at most.",
    ),
    click.option(
        "--test-seconds",
        type=_SECONDS,
        default=300.0,
        show_default=True,
        help="For one run of tests.",
    ),
)


def bounds_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what one issue may cost, as one argument `bounds`."""

    def made(given: dict[str, Any]) -> Any:
        from refute.methods import Bounds

        return Bounds(**{name: given.pop(name) for name in ("calls", "seconds", "test_seconds")})

    return gathering(command, "bounds", made, _BOUNDS)


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
