"""Commands whose options are fields of dataclasses (`refute.core.parameters`).

An option that is seldom wanted has no flag: `--set NAME=VALUE` takes those of the method that is
run, and what else the command sets by name. `refute help model` lists those of the model.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from refute.core.parameters import Parameter, nearest, pairs_of, parameters_of, settable
from refute.errors import InputError
from refute.models.asking import Asked

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from refute.core.methods import Level, MethodSpec


START = """\
refute finds inputs on which Python code is wrong, and proves fixes by tests.

  find an input that fails   refute hunt FILE.py
  fix a function             refute debug FILE.py::FUNCTION
  compare a change           refute diff
  prove that it is done      refute gate

Start with `refute hunt` on a file whose functions have doctests.
`refute help COMMAND` explains one, `refute --help` lists all."""
"""Of `refute` alone."""


def expanded(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that `refute` alone, `refute help` and `refute version` stand for."""
    match list(arguments):
        case [] | ["help"]:
            return ["--start"]
        case ["help", "model"]:
            return ["--help-model"]
        case ["help", verb, *_]:
            return [verb, "--help"]
        case ["version"]:
            return ["--version"]
        case given:
            return given


def no_such_command(name: str, known: Sequence[str]) -> click.UsageError:
    """Return the error for a command that does not exist, with the nearest one."""
    return click.UsageError(f"{name}: unknown command{nearest(name, known)}")


def starting(command: Any) -> Any:
    """Give the root command -q, -v, and the pages of `refute` alone and of `refute help model`."""
    for flag, text in (("--start", lambda ctx: START), ("--help-model", _help_model)):
        command = click.option(
            flag, is_flag=True, is_eager=True, expose_value=False, hidden=True,
            callback=partial(_show_page, text),
        )(command)  # fmt: skip
    return verbosity(hidden=False)(command)


def _show_page(
    text: Callable[[click.Context], str], ctx: click.Context, param: click.Parameter, wanted: bool
) -> None:
    if wanted:
        click.echo(text(ctx))
        ctx.exit()


def _help_model(ctx: click.Context) -> str:
    formatter = ctx.make_formatter()
    formatter.write_text("SPEC: openai:NAME, anthropic:NAME, hf:PATH, batch:DIR, replay:FILE.")
    with formatter.section("Options of the model"):
        rows = (option_of(replace(one, of_model=False)) for one in _OF_MODEL)
        formatter.write_dl([row for one in rows if (row := one.get_help_record(ctx))])
    return formatter.getvalue().rstrip()


def verbosity(*, hidden: bool) -> Callable[[Any], Any]:
    """A decorator that gives a command -q and -v; they also stand behind the verb, unlisted."""

    def given(command: Any) -> Any:
        for flag, level, text in (
            ("quiet", logging.WARNING, "Print results and errors only."),
            ("verbose", logging.DEBUG, "List functions without examples or tests, too."),
        ):
            command = click.option(
                f"-{flag[0]}", f"--{flag}", is_flag=True, is_eager=True, expose_value=False,
                hidden=hidden, callback=partial(_set_level, level), help=text,
            )(command)  # fmt: skip
        return command

    return given


def _set_level(level: int, ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        logging.getLogger("refute").setLevel(level)


_ASKED = {one.name for one in parameters_of(Asked)}
_OF_MODEL = [one for one in parameters_of(Asked) if one.of_model]
_OF_METHODS = [
    one for one in parameters_of(Asked) if one.name in ("method", "preset", "prompts", "tester")
]
"""Options that mean something only where a method is run."""
SET_BY_SETTINGS = "set in settings"
"""In the defaults of a context: what settings set by name."""
_TYPES: Mapping[type[Any], Any] = {int: click.IntRange, float: click.FloatRange}
_METAVARS = {int: "N", float: "X", Path: "FILE"}
FILE = click.Path(path_type=Path)


class _Output(click.Path):
    """Refuses links before the work, not after it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        from refute.core.storage import refuse_links

        refuse_links(path)
        return path


OUTPUT = _Output(path_type=Path)
"""A file to write."""


class _Option(click.Option):
    """Its help says its default; its bounds are told where they are overstepped."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        return {}


class _Argument(click.Argument):
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """A shell completes what is looked at as files and folders."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


def declared_by(option: click.Parameter) -> Parameter | None:
    """The field that declares an option; None: it is one of click's."""
    return getattr(option, "field", None)


def option_of(one: Parameter) -> click.Parameter:
    """The option, or the argument, that a field declares."""
    made: Any = _argument(one) if one.positional else _option(one)
    made.field = one
    return cast(click.Parameter, made)


def _argument(one: Parameter) -> click.Argument:
    nargs = -1 if one.many else 1
    return _Argument(
        [one.name], metavar=one.metavar or None, nargs=nargs, type=_type(one), required=one.required
    )


def _option(one: Parameter) -> click.Option:
    text = one.help
    if one.default not in (None, False, "", (), Path()):
        default = "yes" if one.default is True else one.default
        text = f"{text.rstrip('.')} ({f'{default:g}' if one.kind is float else default})."
    return _Option(
        ["/".join(one.flags), one.name],
        type=_type(one),
        is_flag=one.kind is bool,
        multiple=one.many,
        required=one.required,
        default=one.default,
        help=text,
        hidden=one.of_model,
        metavar=one.metavar or (None if one.choices else _METAVARS.get(one.kind)),
    )


def _type(one: Parameter) -> Any:
    if one.choices:
        return click.Choice(one.choices)
    if one.kind is Path:
        return OUTPUT if one.writes else FILE
    if one.kind not in _TYPES:
        return None if one.kind is bool else str
    low = one.at_least if one.above is None else one.above
    return _TYPES[one.kind](low, one.at_most, min_open=one.above is not None)


def offered(kind: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the function of a `MethodCommand` the fields of `kind` as options of the command line,
    in their order but for the model's, and an instance of them as its argument `options`."""
    fields = parameters_of(kind)
    shown = [one for one in fields if one.help and not one.by_name]
    shown.sort(key=lambda one: one.name in _ASKED)

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def called(**values: Any) -> Any:
            context = click.get_current_context()
            assert isinstance(context.command, MethodCommand)
            by_name = context.command.take_set(context, values)
            told = {one.name: values.pop(one.name) for one in shown if one.name in values}
            told |= {
                one.name: by_name.pop(one.name)
                for one in fields
                if one.by_name and one.name in by_name
            }
            options = kind(**told, set=by_name) if by_name else kind(**told)
            return command(options=options, **values)

        called.__dict__.setdefault("__click_params__", []).extend(map(option_of, reversed(shown)))
        return called

    return given


def set_option(more: Sequence[type[Any]], *, methods: bool) -> click.Option:
    """`--set NAME=VALUE` for the fields of `more`, and for options of methods."""
    names = ", ".join(settable(more))
    whose = ["an option of the method (`refute methods NAME`)"] * methods
    text = " or ".join((*whose, *([names] if names else ()))) if whose else f"one of {names}"
    return click.Option(
        ["--set"], multiple=True, metavar="NAME=VALUE", help=f"{text[0].upper()}{text[1:]}."
    )


class MethodCommand(click.Command):
    """A command that sets by name what has no flag of its own: options of the method that it runs,
    and the fields of the classes `more`."""

    def __init__(
        self,
        *args: Any,
        levels: tuple[Level, ...] = (),
        more: tuple[type[Any], ...] = (),
        **how: Any,
    ) -> None:
        super().__init__(*args, **how)
        self.levels, self.more = levels, more
        if not levels:
            self.params = [one for one in self.params if declared_by(one) not in _OF_METHODS]
        self.params += [set_option(more, methods=bool(levels))] if more or levels else []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises `InputError` for a flag of what is set by name, with what to write instead."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from refute.core.registry import explained_flag

            if error.option_name == "--help-model":
                raise InputError("--help-model: write `refute help model`") from None
            specs = self._specs({name: told(given, f"--{name}") for name in _CHOOSING})
            value = told(given, error.option_name) or ""
            raise explained_flag(error.option_name, value, self.more, specs) or error from None

    def take_set(self, ctx: click.Context, given: dict[str, Any]) -> dict[str, Any]:
        """Take what is set by name out of a command's parameters: the values by name.

        Of settings those that mean something here. Raises `InputError`.
        """
        texts: Mapping[str, str] = pairs_of(given.pop("set", ()))
        settings: Mapping[str, Any] = ctx.lookup_default(SET_BY_SETTINGS) or {}
        if not texts and not settings:
            return {}
        from refute.core.registry import read_options

        specs = self._specs(given)
        known = settable((*self.more, *(spec.options for spec in specs)))
        set_here = {name: value for name, value in settings.items() if name in known}
        return {**set_here, **read_options(texts, specs, self.more)}

    def named(self, given: Mapping[str, Any]) -> str | None:
        """The method that the command line names."""
        return given.get("method")

    def _specs(self, given: Mapping[str, Any]) -> list[MethodSpec[Any, Any]]:
        """The methods that may be run: the named one, else the defaults.

        Raises `InputError` for an unknown one."""
        if not self.levels:
            return []
        from refute.core.registry import METHODS, default_method, method_of

        name = self.named(given)
        if name is None:
            model = given.get("model")
            return [method_of(default_method(level, model), level) for level in self.levels]
        if "issue" in self.levels and name.startswith("pass@"):
            from refute.issue.choosing import issue_method

            return [issue_method(name)]
        return [method_of(name, self.levels[0]) if len(self.levels) == 1 else METHODS.get(name)]


_CHOOSING = ("method", "model", "run")
"""The options that say which methods may be run."""


def command_of(verb: str, home: str = "refute.verbs") -> click.Command:
    """The command of a verb, which its module in `home` defines."""
    command = import_module(f"{home}.{verb}").command
    assert isinstance(command, click.Command)
    below = command.commands.values() if isinstance(command, click.Group) else ()
    for one in (command, *below):
        if all("--help" not in option.opts for option in one.params):
            click.help_option("-h", "--help", hidden=True)(one)
    if all("--quiet" not in one.opts for one in command.params):
        verbosity(hidden=True)(command)
    return command


def told(args: Sequence[str], flag: str) -> str | None:
    """The value of an option, as the command line gives it, before anything is read."""
    value = None
    for at, arg in enumerate(args):
        if arg == flag and at + 1 < len(args) and not args[at + 1].startswith("--"):
            value = args[at + 1]
        elif arg.startswith(f"{flag}="):
            value = arg.partition("=")[2]
    return value
