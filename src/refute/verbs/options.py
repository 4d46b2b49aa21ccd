"""Options and arguments that several verbs share, each defined once."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from refute.core.storage import refuse_links
from refute.errors import InputError
from refute.models.asking import Asked
from refute.results.formats import FORMATS
from refute.verbs.declared import FILE, MethodCommand, declaring, options_of
from refute.verbs.output import Form

_MOST_LISTED = 4 << 20
"""Characters of a list of targets."""
tests_option = click.option(
    "--tests", type=FILE, metavar="PATH", help="Trusted tests: pytest file or folder, JSONL."
)
description_option = click.option(
    "--description", type=FILE, metavar="FILE", help="Its purpose (default: the docstring)."
)
budget_option = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to search one function.",
)
python_option = click.option(
    "--python", type=FILE, metavar="FILE", help="Interpreter to run on (active, or .venv's)."
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same work."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["wrong", "never"]),
    help="Exit status 1 for wrong alone, or never.",
)
write_baseline_option = click.option(
    "--write-baseline", is_flag=True, help="Write the findings to the baseline; status 0."
)
_FORM = (
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)}.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option(
        "--save", multiple=True, metavar="FORMAT=FILE", help="Save it in another format, too."
    ),
)


def with_options(options: Sequence[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options that are declared elsewhere, in their order."""

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return given


_SESSION = (
    "model", "base_url", "concurrency", "cache", "record", "timeout", "budget_usd", "budget_tokens",
)  # fmt: skip
"""About a model that is asked, whatever for."""


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a `MethodCommand` the options about a model alone, as one argument `asked`."""

    def asked(given: dict[str, Any]) -> Asked:
        context = click.get_current_context()
        assert isinstance(context.command, MethodCommand)
        given |= context.command.take_set(context, given)
        return Asked(**{name: given.pop(name) for name in _SESSION})

    options = [declaring(one) for one in options_of(Asked, _SESSION)]
    return gathering(command, "asked", asked, options)


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about how its result is shown, as one argument `form`."""

    def made(given: dict[str, Any]) -> Form:
        name = "json" if given.pop("as_json") else given.pop("form")
        given.pop("form", None)
        return Form(name, tuple(map(_saved, given.pop("save"))))

    return gathering(command, "form", made, _FORM)


def _saved(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if name not in FORMATS or not file:
        raise InputError(f"--save {text}: write FORMAT=FILE; formats: {', '.join(FORMATS)}")
    place = Path(file)
    if not place.parent.is_dir() or place.is_dir():
        raise InputError(f"--save {text}: {file} is not a file in an existing folder")
    refuse_links(place)
    return name, place


def gathering(
    command: Callable[..., Any],
    argument: str,
    made: Callable[[dict[str, Any]], Any],
    options: Sequence[Any],
) -> Callable[..., Any]:
    """Give a command options as one argument: `made` takes what they set out of what was given."""

    @functools.wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        given[argument] = made(given)
        return command(*args, **given)

    return with_options(options)(gathered)


def read_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets; in place of `-` those on stdin, one a line."""
    found: list[str] = []
    for target in targets:
        if target != "-":
            found.append(target)
            continue
        text = sys.stdin.read(_MOST_LISTED + 1)
        if len(text) > _MOST_LISTED:
            raise InputError("-: the list of targets is longer than 4 MiB")
        found += [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(found)
