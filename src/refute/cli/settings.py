"""The options of a command as settings: what the environment and a file set is its defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.method_options import PREFIX, told
from refute.variables import Variable

if TYPE_CHECKING:
    from refute.config.declared import Declared, Kind
    from refute.config.resolving import Held
    from refute.config.table import Table

CONFIGURED = ("hunt", "debug", "diff", "reproduce", "fix", "vet", "gate", "harden", "mcp", "lsp")
"""The verbs that read settings: daily work. What measures (`bench`, `grade`, `train`...) is told
everything on the command line, so that a run is what its command says."""


_NO_SETTINGS = ("as_json", "repo")
"""Another way to say `--format`, and what says where the settings are."""
_PLAIN = (bool, int, float, str, Path)


def defaults_for(verb: str, args: Sequence[str]) -> dict[str, Any]:
    """Parameter's name -> value, of what is set in the environment and the file.

    Raises `InputError` for what is wrong in either.
    """
    from refute.config.table import find_table

    table = find_table(Path(told(args, "-C") or "."))
    if table is None and not _variables():
        return {}
    every = _set_of_methods(verb, table)
    held = _held(verb, table, every)
    return {one.declared.name: one.value for one in held if one.source != "default"}


def held_by(verb: str) -> list[Held]:
    """Every setting of a verb, here. Raises `InputError`."""
    from refute.config.table import find_table

    return _held(verb, find_table(Path()), True)


def _held(verb: str, table: Table | None, every: bool) -> list[Held]:
    from refute.config.resolving import check_names, held_settings

    if table is not None:
        check_names(table, CONFIGURED, partial(declared_options, every=every))
    return held_settings(verb, declared_options(verb, every=every).values(), table)


def _set_of_methods(verb: str, table: Table | None) -> bool:
    """Whether something is set that may be an option of a method: these are slow to look up."""
    from refute.config.resolving import variables

    own = {name: declared_options(name, every=False) for name in CONFIGURED}
    known = {name for key in own[verb] for name in variables(verb, key)}
    if set(_variables()) - known:
        return True
    keys = {key for one in own.values() for key in one}
    if table is None:
        return False
    for key, value in table.values.items():
        if key not in CONFIGURED and key not in keys:
            return True
        if key in CONFIGURED and isinstance(value, dict) and set(value) - set(own[key]):
            return True
    return False


def _variables() -> list[str]:
    known = set(Variable)
    return [name for name in os.environ if name.startswith("REFUTE_") and name not in known]


@cache
def declared_options(verb: str, *, every: bool) -> Mapping[str, Declared]:
    """The options of a verb, by key; with `every` those of the methods that it may run, too."""
    command: click.Command = import_module(f"refute.cli.{verb}").command
    context = click.Context(command)
    found: dict[str, Declared] = {}
    for one in command.get_params(context) if every else command.params:
        place = isinstance(one, click.Argument) and one.nargs == 1
        if not (one.is_eager or place or one.name in _NO_SETTINGS):
            made = _declared(one, context)
            found.setdefault(made.key, made)
    return found


def _declared(one: click.Parameter, context: click.Context) -> Declared:
    from refute.config.declared import Declared

    assert one.name is not None
    kind = _kind(one)

    def check(value: Any) -> None:
        try:
            one.type_cast_value(context, value)
        except click.BadParameter as error:
            raise ValueError(error.message.rstrip(".")) from None

    default = one.get_default(context)
    numbers = kind in ("integer", "number") or isinstance(one.type, click.Choice)
    return Declared(
        key=_key(one),
        name=one.name,
        kind=kind,
        default=default if isinstance(default, _PLAIN) else None,
        check=check,
        of_method=one.name.startswith(PREFIX) and numbers,
    )


def _key(one: click.Parameter) -> str:
    if isinstance(one, click.Argument):
        assert one.name is not None
        return one.name
    flags = sorted(one.opts, key=len, reverse=True)
    return flags[0].lstrip("-")


def _kind(one: click.Parameter) -> Kind:
    if one.multiple if isinstance(one, click.Option) else one.nargs != 1:
        return "texts"
    if isinstance(one, click.Option) and one.is_flag:
        return "boolean"
    if isinstance(one.type, click.types.IntParamType):
        return "integer"
    if isinstance(one.type, click.types.FloatParamType):
        return "number"
    return "file" if isinstance(one.type, click.Path) else "text"
