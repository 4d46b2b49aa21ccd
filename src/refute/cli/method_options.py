"""The options of methods on the command line: made of the fields of their options' classes.

A command takes those of the method that it is told to use, so that no other has to be imported;
its help shows those of all methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from refute.methods import Level, MethodSpec
    from refute.parameters import Parameter

PREFIX = "option_"
"""Of the names that the options have among the parameters of a command."""
_TYPES = {int: int, float: float, str: str, bool: bool}
_METAVARS = {int: "N", float: "X"}


def take_options(given: dict[str, Any]) -> dict[str, Any]:
    """Take the method's options out of a command's parameters: those that were given, by name."""
    names = [name for name in given if name.startswith(PREFIX)]
    taken = {name.removeprefix(PREFIX): given.pop(name) for name in names}
    return {name: value for name, value in taken.items() if value is not None}


class MethodCommand(click.Command):
    """A command with the options of a method, besides its own."""

    def __init__(self, *args: Any, levels: tuple[Level, ...], **how: Any) -> None:
        super().__init__(*args, **how)
        self.levels = levels
        """Of the methods that it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the method before anything is read. Raises `InputError` for an unknown one, and
        for an option of another method."""
        if not any(name in args for name in ctx.help_option_names):
            ctx.meta[PREFIX] = self._chosen(ctx, args)
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            raise self._explained(ctx, error) from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters, then those of the method, or where none is chosen of all methods."""
        found: dict[str, click.Option] = {}
        for one, _ in self._parameters(ctx):
            if one.name not in found:
                found[one.name] = _option(one)
        return [*super().get_params(ctx), *found.values()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own options, then those of methods: a line for each meaning and default of a flag."""
        own = [one.get_help_record(ctx) for one in super().get_params(ctx)]
        by_flags: dict[tuple[str, ...], dict[tuple[str, str], list[str]]] = {}
        for one, method in self._parameters(ctx):
            if (row := _option(one).get_help_record(ctx)) is not None:
                by_flags.setdefault(one.flags, {}).setdefault(row, []).append(method)
        with formatter.section("Options"):
            formatter.write_dl([row for row in own if row is not None])
        with formatter.section("Options of methods (in brackets: of which)"):
            formatter.write_dl(
                [
                    (flags, f"{text} [{', '.join(methods)}]")
                    for rows in by_flags.values()
                    for (flags, text), methods in rows.items()
                ]
            )

    def _parameters(self, ctx: click.Context) -> Iterator[tuple[Parameter, str]]:
        """Each parameter with the method that has it, but those that a flag of its own hides."""
        from refute.parameters import parameters_of
        from refute.registry import METHODS

        chosen: list[MethodSpec[Any, Any]] | None = ctx.meta.get(PREFIX)
        if chosen is None:
            chosen = [spec for spec in METHODS.all() if spec.level in self.levels]
        own = {flag for one in self.params for flag in (*one.opts, *one.secondary_opts)}
        for spec in chosen:
            for one in parameters_of(spec.options):
                if not own & set(one.flags):
                    yield one, spec.name

    def named(self, args: Sequence[str]) -> str | None:
        """The method that the command line names."""
        return told(args, "--method")

    def _chosen(self, ctx: click.Context, args: Sequence[str]) -> list[MethodSpec[Any, Any]] | None:
        """The method that is named, else the defaults. None where
        the dataset says what kind of method it should have been."""
        from refute.registry import METHODS, method_of
        from refute.selection import default_method

        name = self.named(args) or ctx.lookup_default("method")
        model = told(args, "--model") or ctx.lookup_default("model")
        if name is None:
            return [method_of(default_method(level, model), level) for level in self.levels]
        if "issue" in self.levels and name.startswith("pass@"):
            from refute.issue.choosing import issue_method

            return [issue_method(name)]
        if len(self.levels) == 1:
            return [method_of(name, self.levels[0])]
        return [METHODS.get(name)] if name in METHODS else None

    def _explained(self, ctx: click.Context, error: click.NoSuchOption) -> Exception:
        """Which methods have the option; click's own error where none has."""
        from refute.selection import not_its_option

        flags = {flag for one, _ in self._parameters(click.Context(self)) for flag in one.flags}
        if error.option_name not in flags or not ctx.meta.get(PREFIX):
            return error
        return not_its_option(error.option_name, ctx.meta[PREFIX][0])


def told(args: Sequence[str], flag: str) -> str | None:
    """The value of an option, as the command line gives it, before anything is read."""
    value = None
    for at, arg in enumerate(args):
        if arg == flag and at + 1 < len(args):
            value = args[at + 1]
        elif arg.startswith(f"{flag}="):
            value = arg.partition("=")[2]
    return value


def _option(one: Parameter) -> click.Option:
    kind: Any = click.Choice(one.choices) if one.choices else _TYPES.get(one.kind, str)
    text = one.help
    if one.default is not None:
        default = ("yes" if one.default else "no") if one.kind is bool else one.default
        text = f"{text.rstrip('.')} ({default})."
    return click.Option(
        ["/".join(one.flags), PREFIX + one.name],
        type=None if one.kind is bool else kind,
        is_flag=one.kind is bool,
        default=None,
        help=text,
        metavar=None if one.kind is bool or one.choices else _METAVARS.get(one.kind, "TEXT"),
    )
