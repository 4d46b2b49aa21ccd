"""`refute config`: what settings hold, and from where."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.starting import Variable
from refute.verbs.declared import SET_BY_SETTINGS, command_of, declared_by, told
from refute.verbs.output import consoles, print_json

if TYPE_CHECKING:
    from refute.core.settings import Declared, Held, Kind, Table


CONFIGURED = ("hunt", "debug", "diff", "reproduce", "fix", "vet", "gate", "harden", "mcp", "lsp")
"""The verbs that read settings: daily work. Measurements (`bench`, `grade`, `train`...) get
everything on the command line, so that a run is what its command says."""


_NO_SETTINGS = ("as_json", "repo", "set")
"""Another way to say `--format`, what says where the settings are, and what is set by name."""
_PLAIN = (bool, int, float, str, Path)


def defaults_for(verb: str, args: Sequence[str]) -> dict[str, Any]:
    """Parameter's name -> value, of what is set in the environment and the file.

    Raises `InputError` for what is wrong in either.
    """
    from refute.core.settings import find_table

    table = find_table(Path(told(args, "-C") or "."))
    if table is None and not _variables():
        return {}
    held = _held(verb, table)
    found = {one.declared.name: one.value for one in held if one.source != "default"}
    named = {one.declared.name: one.value for one in _set_by_name(verb, table)}
    return {**found, SET_BY_SETTINGS: named} if named else found


def held_by(verb: str) -> list[Held]:
    """Every setting of a verb, here. Raises `InputError`."""
    from refute.core.settings import find_table

    table = find_table(Path())
    return [*_held(verb, table), *_set_by_name(verb, table)]


def _held(verb: str, table: Table | None) -> list[Held]:
    from refute.core.settings import check_names, held_setting

    if table is not None:
        check_names(table, CONFIGURED, declared_options)
    return [held_setting(verb, one, table) for one in declared_options(verb).values()]


def _set_by_name(verb: str, table: Table | None) -> list[Held]:
    """Return the settings for `--set`. Options of methods are slow to look up: only on demand."""
    from refute.core.settings import read_by_name, set_by_name

    given = set_by_name(verb, table)
    if not given:
        return []
    from refute.core.methods import Bounds
    from refute.core.parameters import settable
    from refute.core.registry import METHODS
    from refute.diffing.comparison import Effort

    known = settable((Bounds, Effort, *(one.options for one in METHODS.all())))
    return read_by_name(given, known)


def _variables() -> list[str]:
    known = set(Variable)
    return [name for name in os.environ if name.startswith("REFUTE_") and name not in known]


@cache
def declared_options(verb: str) -> Mapping[str, Declared]:
    """The options of a verb, by key."""
    command = command_of(verb)
    context = click.Context(command)
    found: dict[str, Declared] = {}
    for one in command.params:
        place = isinstance(one, click.Argument) and one.nargs == 1
        if not (one.is_eager or place or one.name in _NO_SETTINGS):
            made = _declared(one, context)
            found.setdefault(made.key, made)
    return found


def _declared(one: click.Parameter, context: click.Context) -> Declared:
    from refute.core.settings import OF_FILES, Declared

    assert one.name is not None
    kind = _kind(one)

    def check(value: Any) -> None:
        try:
            one.type_cast_value(context, value)
        except click.BadParameter as error:
            raise ValueError(error.message.rstrip(".")) from None

    default, field = one.get_default(context), declared_by(one)
    return Declared(
        key=_key(one),
        name=one.name,
        kind=kind,
        default=default if isinstance(default, _PLAIN) else None,
        check=check,
        in_files=_key(one) in OF_FILES if field is None else field.in_files,
        of_model=field is not None and field.of_model,
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


@click.command("config")
@click.argument("verb", type=click.Choice(CONFIGURED), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(verb: str | None, as_json: bool) -> None:
    """Show the settings of each command, or of VERB with its defaults, and where they are from.

    An option is taken from the command line, else from REFUTE_VERB_OPTION or REFUTE_OPTION in the
    environment, else from [tool.refute.VERB] or [tool.refute] of the nearest pyproject.toml.
    """
    from refute.results import as_dict
    from refute.results.settings import print_settings, settings_document

    verbs = CONFIGURED if verb is None else (verb,)
    held = {name: held_by(name) for name in verbs}
    if as_json:
        print_json(as_dict(settings_document(held)))
    else:
        print_settings(held, consoles()[0], defaults=verb is not None)
