"""Options and arguments that several verbs share, each defined once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from refute.models.asking import Asked

__all__ = [
    "FILE",
    "budget_option",
    "description_option",
    "gathering",
    "given_names",
    "json_option",
    "model_options",
    "python_option",
    "seed_option",
    "session_options",
    "target_argument",
    "tests_option",
    "workspace_option",
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
    help="Time for one function, of the search.",
)
python_option = click.option(
    "--python", type=FILE, metavar="FILE", help="Interpreter to run on (active, or .venv's)."
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same work."
)
workspace_option = click.option(
    "--workspace",
    type=click.Choice(["local", "docker", "podman"]),
    default="local",
    show_default=True,
    help="Issues: where tests run; in the images that the rows name, or here.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def given_names(context: click.Context) -> set[str]:
    """The options that the user gave, as opposed to those at their default."""
    default = click.core.ParameterSource.DEFAULT
    return {n for n in context.params if context.get_parameter_source(n) is not default}


_COUNT = click.IntRange(1)
_SESSION_OPTIONS = (
    click.option("--model", metavar="SPEC", help="openai:NAME, hf:PATH, batch:DIR, replay:FILE."),
    click.option("--base-url", metavar="URL", help="Server of openai: (or OPENAI_BASE_URL)."),
    click.option(
        "--concurrency",
        type=_COUNT,
        default=64,
        show_default=True,
        metavar="N",
        help="Requests sent to the model at once.",
    ),
    click.option("--cache/--no-cache", default=True, help="Keep answers and use kept ones (yes)."),
    click.option(
        "--record", type=FILE, metavar="FILE", help="Write every answer there, for replay:FILE."
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=300.0,
        show_default=True,
        metavar="SECONDS",
        help="For one request.",
    ),
    click.option(
        "--budget-usd", type=click.FloatRange(0), metavar="X", help="Stop before it costs more."
    ),
    click.option(
        "--budget-tokens", type=click.IntRange(0), metavar="N", help="Stop before it takes more."
    ),
)
"""About a model that is asked, whatever for."""
_SESSION_FIELDS = (
    "model",
    "base_url",
    "concurrency",
    "cache",
    "record",
    "timeout",
    "budget_usd",
    "budget_tokens",
)
_OF_METHODS = (
    "n", "k", "m", "vote", "backtrack", "guard", "temperature", "top_p", "max_tokens",
)  # fmt: skip
_METHOD_OPTIONS = (
    click.option(
        "--method", metavar="NAME", help="none, search; random, prompted, utgen... with a model."
    ),
    click.option("--tester", metavar="SPEC", help="Another model for writing the unit tests."),
    click.option("-n", type=_COUNT, metavar="N", help="Unit tests to look for (3)."),
    click.option("--k", type=_COUNT, metavar="N", help="Votes on an expected output (8)."),
    click.option("--rounds", "m", type=click.IntRange(0), metavar="N", help="Of debugging (3)."),
    click.option("--vote/--no-vote", default=None, help="Vote on expected outputs (yes)."),
    click.option(
        "--backtrack/--no-backtrack",
        default=None,
        help="Discard edits that do not raise the pass rate (yes).",
    ),
    click.option(
        "--guard/--no-guard", default=None, help="Discard edits that break a certain test (yes)."
    ),
    click.option("--temperature", type=float, metavar="T", help="Of sampling (0.7)."),
    click.option("--top-p", type=float, metavar="P", help="Of sampling (0.9)."),
    click.option("--max-tokens", type=_COUNT, metavar="N", help="Of one answer (2048)."),
    click.option(
        "-O", "more", multiple=True, metavar="NAME=VALUE", help="Any other option of the method."
    ),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a method and its model, as one argument `asked`."""

    def asked(given: dict[str, Any]) -> Asked:
        from refute.models.asking import Asked

        options = {name: given.pop(name) for name in _OF_METHODS}
        options = {name: value for name, value in options.items() if value is not None}
        options |= dict(map(_pair, given.pop("more")))
        names = ("method", "tester", *_SESSION_FIELDS)
        return Asked(options=options, **{name: given.pop(name) for name in names})

    return _gathering(command, "asked", asked, (*_SESSION_OPTIONS, *_METHOD_OPTIONS))


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a model alone, as one argument `asked`."""

    def asked(given: dict[str, Any]) -> Asked:
        from refute.models.asking import Asked

        return Asked(**{name: given.pop(name) for name in _SESSION_FIELDS})

    return _gathering(command, "asked", asked, _SESSION_OPTIONS)


def _pair(text: str) -> tuple[str, Any]:
    """`NAME=VALUE`: a Python literal, else the text."""
    from refute.errors import InputError
    from refute.literals import NotLiteral, parse_literal

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"-O {text}: must be NAME=VALUE")
    try:
        return name, parse_literal(value)
    except NotLiteral:
        return name, value


def gathering(
    command: Callable[..., Any], argument: str, kind: type[Any], options: Sequence[Any]
) -> Callable[..., Any]:
    """Give a command options as one argument, an instance of the dataclass `kind`."""

    def made(given: dict[str, Any]) -> Any:
        return kind(**{field.name: given.pop(field.name) for field in fields(kind)})

    return _gathering(command, argument, made, options)


def _gathering(
    command: Callable[..., Any],
    argument: str,
    made: Callable[[dict[str, Any]], Any],
    options: Sequence[Any],
) -> Callable[..., Any]:
    """`made` takes what the options set out of what was given, and gives the argument."""

    @functools.wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        given[argument] = made(given)
        return command(*args, **given)

    wrapped: Callable[..., Any] = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped
