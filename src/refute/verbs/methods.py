"""`refute methods`: what `--method` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from refute.verbs.options import json_option
from refute.verbs.output import print_json, print_list

if TYPE_CHECKING:
    from refute.core.methods import MethodSpec


@click.command("methods")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print all of them, with their options.")
@json_option
def command(name: str | None, markdown: bool, as_json: bool) -> None:
    """List the methods: refute's own, and those of installed packages.

    With NAME the options of that method, which `--set OPTION=VALUE` sets; as JSON with a schema of
    them.
    """
    from refute.core.registry import METHODS

    specs = METHODS.all() if name is None else [METHODS.get(name)]
    if markdown:
        click.echo(_as_markdown(specs), nl=False)
    elif name is None:
        print_list([_row(spec) for spec in specs], as_json=as_json)
    elif as_json:
        from refute.core.parameters import schema_of

        print_json({**_row(specs[0]), "options": schema_of(specs[0].options)})
    else:
        print_list(_options(specs[0]) or [_row(specs[0])], as_json=False)


def _row(spec: MethodSpec[Any, Any]) -> dict[str, str]:
    asks = "asks a model" if spec.asks_model else ""
    return {"name": spec.name, "of": spec.level, "needs": asks, "summary": spec.summary}


def _options(spec: MethodSpec[Any, Any]) -> list[dict[str, str]]:
    from refute.core.parameters import parameters_of

    rows = []
    for one in parameters_of(spec.options):
        default = "" if one.default is None else str(one.default)
        values = ", ".join(one.choices) or one.bounds or one.kind.__name__
        row = {"option": one.name, "default": default, "values": values}
        rows.append({**row, "help": one.help})
    return rows


def _as_markdown(specs: list[MethodSpec[Any, Any]]) -> str:
    """Methods with the same options share a table."""
    by_options: dict[Any, list[MethodSpec[Any, Any]]] = {}
    for spec in specs:
        by_options.setdefault((spec.level, spec.options), []).append(spec)
    parts = []
    for some in by_options.values():
        heads = [f"`{one.name}` ({one.level} level): {one.summary}." for one in some]
        rows = _options(some[0])
        if rows:
            columns = list(rows[0])
            table = [columns, ["---"] * len(columns)]
            table += [[f"`{r['option']}`", *(r[c] for c in columns[1:])] for r in rows]
            heads.append("\n" + "\n".join(f"| {' | '.join(line)} |" for line in table))
        parts.append("\n".join(f"- {h}" if not h.startswith("\n") else h for h in heads))
    return "\n\n".join(parts) + "\n"
