"""Options and steps that the verbs about issues share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, gathering

if TYPE_CHECKING:
    from refute.methods import Bounds

__all__ = [
    "ReproducingOptions",
    "checkout_options",
    "method_option",
    "reproducing_options",
]


@dataclass(frozen=True, slots=True)
class ReproducingOptions:
    """What the options about a method for issues say; None where one was not given."""

    samples: int | None = None
    context_tokens: int | None = None
    agent: str | None = None
    tools: str | None = None
    network: bool | None = None
    calls: int = 60
    seconds: float = 1800.0
    test_seconds: float = 300.0

    @property
    def bounds(self) -> Bounds:
        """What one issue may cost."""
        from refute.methods import Bounds

        return Bounds(self.calls, self.seconds, self.test_seconds)

    @property
    def given(self) -> dict[str, Any]:
        """The options of methods that were given, by name."""
        given = {name: getattr(self, name) for name in _OF_METHODS}
        return {name: value for name, value in given.items() if value is not None}


_OF_METHODS = ("samples", "context_tokens", "agent", "tools", "network")
method_option = click.option(
    "--method", metavar="NAME", help="snippet; redgreen, zeroshotplus, libro... with a model."
)
_SECONDS = click.FloatRange(0, min_open=True)
_OPTIONS = (
    click.option(
        "--samples",
        type=click.IntRange(1),
        metavar="N",
        help="Drafts of libro (5).",
    ),
    click.option(
        "--context-tokens",
        type=click.IntRange(500),
        metavar="N",
        help="Of the repository, in one prompt (27000).",
    ),
    click.option(
        "--agent", metavar="CMD", help="Of external: a preset, or a command with {prompt_file}."
    ),
    click.option(
        "--tools",
        type=click.Choice(["auto", "native", "text"]),
        help="How an agent's model calls its tools (auto).",
    ),
    click.option(
        "--allow-network",
        "network",
        is_flag=True,
        default=None,
        help="Let the agent's command out of its jail: it reads your files and the network.",
    ),
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


def reproducing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a reproducer, as one argument `how`."""
    return gathering(command, "how", ReproducingOptions, _OPTIONS)


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
    for option in reversed(_CHECKOUT):
        command = option(command)
    return command
