"""Options and arguments that several verbs share, each defined once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.method_options import take_options
from refute.cli.output import Form
from refute.errors import InputError
from refute.report.formats import FORMATS
from refute.storage import refuse_links

if TYPE_CHECKING:
    from refute.models.asking import Asked

FILE = click.Path(path_type=Path)


class _Output(click.Path):
    """Refuses links before the work, not after it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        refuse_links(path)
        return path


OUTPUT = _Output(path_type=Path)
"""A file to write."""
target_argument = click.argument("target", metavar="FILE.py[::FUNCTION]")
tests_option = click.option(
    "--tests", type=FILE, metavar="PATH", help="Tests to believe: pytest file or folder, JSONL."
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
total_option = click.option(
    "--total-budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time for all functions; those that it does not last for are named.",
)
fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["wrong", "never"]),
    help="Exit status 1 only if something is wrong, or never; else 0 (default: see above).",
)
baseline_options = (
    click.option(
        "--baseline", type=FILE, metavar="FILE", help="Known problems: not shown, not counted."
    ),
    click.option(
        "--write-baseline", is_flag=True, help="Write what is found to the --baseline; status 0."
    ),
)
_FORM = (
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="For people or for programs.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option(
        "--save", multiple=True, metavar="FORMAT=FILE", help="Write it in another format, too."
    ),
)


def with_options(options: Sequence[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options that are declared elsewhere, in their order."""

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def given_names(context: click.Context) -> set[str]:
    """The options that the user gave, as opposed to those at their default."""
    default = click.core.ParameterSource.DEFAULT
    return {n for n in context.params if context.get_parameter_source(n) is not default}


_COUNT = click.IntRange(1)
_SESSION_OPTIONS = (
    click.option(
        "--model",
        metavar="SPEC",
        help="openai:NAME, anthropic:NAME, hf:PATH, batch:DIR, replay:FILE.",
    ),
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
method_option = click.option("--method", metavar="NAME", help="By name: see `refute methods`.")
preset_option = click.option(
    "--preset",
    metavar="NAME",
    help="A paper's values: paper; for functions also released, released-intrinsic.",
)
_WHOSE = (
    preset_option,
    click.option(
        "--prompts", type=FILE, metavar="DIR", help="Templates of your own, named as ours are."
    ),
)
_METHOD_OPTIONS = (
    method_option,
    *_WHOSE,
    click.option("--tester", metavar="SPEC", help="Another model for writing the tests."),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a `MethodCommand` the options about a method and its models, as one argument `asked`."""
    options = (*_SESSION_OPTIONS, *_METHOD_OPTIONS)
    return gathering(command, "asked", _asked("method", "tester", "preset", "prompts"), options)


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a model alone, as one argument `asked`."""
    return gathering(command, "asked", _asked(), _SESSION_OPTIONS)


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
        raise InputError(f"--save {text}: {file} is no file in a folder that exists")
    refuse_links(place)
    return name, place


def _asked(*more: str) -> Callable[[dict[str, Any]], Asked]:
    def asked(given: dict[str, Any]) -> Asked:
        from refute.models.asking import Asked

        names = (*more, *_SESSION_FIELDS)
        return Asked(options=take_options(given), **{name: given.pop(name) for name in names})

    return asked


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
