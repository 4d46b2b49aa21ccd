"""Options and arguments that several verbs share, each defined once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

__all__ = [
    "FILE",
    "ModelOptions",
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


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What the options about a method and its model say; None where one was not given."""

    method: str | None = None
    model: str | None = None
    tester: str | None = None
    base_url: str | None = None
    concurrency: int = 64
    cache: bool = True
    record: Path | None = None
    timeout: float = 300.0
    budget_usd: float | None = None
    budget_tokens: int | None = None
    n: int | None = None
    k: int | None = None
    m: int | None = None
    vote: bool | None = None
    backtrack: bool | None = None
    guard: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None

    def of_methods(self) -> dict[str, Any]:
        """What was given of the methods' own parameters, by name; None where it was not."""
        return {name: getattr(self, name) for name in _METHOD_FIELDS}


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
_METHOD_FIELDS = (
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
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a method and its model, as one argument `asked`."""
    return gathering(command, "asked", ModelOptions, (*_SESSION_OPTIONS, *_METHOD_OPTIONS))


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a model alone, as one argument `asked`."""
    return gathering(command, "asked", ModelOptions, _SESSION_OPTIONS, names=_SESSION_FIELDS)


def gathering(
    command: Callable[..., Any],
    argument: str,
    kind: type[Any],
    options: Sequence[Any],
    *,
    names: Collection[str] | None = None,
) -> Callable[..., Any]:
    """Give a command options as one argument, an instance of the dataclass `kind`.

    `names`: the fields that the options set; None: all of them.
    """
    names = [field.name for field in fields(kind)] if names is None else names

    @functools.wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        given[argument] = kind(**{name: given.pop(name) for name in names})
        return command(*args, **given)

    wrapped: Callable[..., Any] = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped
