"""`refute methods`: the values of `--method`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from refute.verbs.options import json_option
from refute.verbs.output import print_json, print_list

if TYPE_CHECKING:
    from refute.core.methods import MethodSpec


@click.command("methods")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the methods: refute's own, and those of installed packages.

    With NAME the options of that method, which `--set OPTION=VALUE` sets; as JSON with a schema of
    them.
    """
    from refute.core.registry import METHODS

    specs = METHODS.all() if name is None else [METHODS.get(name)]
    if name is None:
        print_list([_row(spec) for spec in specs], as_json=as_json)
    elif as_json:
        from refute.core.parameters import schema_of

        print_json({**_row(specs[0]), "options": schema_of(specs[0].options)})
    else:
        print_list(options_of(specs[0]) or [_row(specs[0])], as_json=False)


def _row(spec: MethodSpec[Any, Any]) -> dict[str, str]:
    asks = "asks a model" if spec.asks_model else ""
    return {"name": spec.name, "of": spec.level, "needs": asks, "summary": spec.summary}


def options_of(spec: MethodSpec[Any, Any]) -> list[dict[str, str]]:
    """Return the options of a method as rows of a table."""
    from refute.core.parameters import parameters_of

    rows = []
    for one in parameters_of(spec.options):
        default = "" if one.default is None else str(one.default)
        values = ", ".join(one.choices) or one.bounds or one.kind.__name__
        row = {"option": one.name, "default": default, "values": values}
        rows.append({**row, "help": one.help})
    return rows
