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
from refute.results.formats import FORMATS
from refute.verbs.output import Form

_MOST_LISTED = 4 << 20
"""Characters of a list of targets."""
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


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about how its result is shown, as one argument `form`."""

    @functools.wraps(command)
    def shown(*, form: str, as_json: bool, save: Sequence[str], **given: Any) -> Any:
        name = "json" if as_json else form
        return command(form=Form(name, tuple(map(_saved, save))), **given)

    return with_options(_FORM)(shown)


def _saved(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if name not in FORMATS or not file:
        raise InputError(f"--save {text}: write FORMAT=FILE; formats: {', '.join(FORMATS)}")
    place = Path(file)
    if not place.parent.is_dir() or place.is_dir():
        raise InputError(f"--save {text}: {file} is not a file in an existing folder")
    refuse_links(place)
    return name, place


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
