"""`cheats`: programs and tests that cheat on a grader, and what it pays them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from refute.core.parameters import parameter
from refute.errors import InputError
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option

if TYPE_CHECKING:
    from refute_lab.cheats import Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class CheatsOptions:
    """The options of `cheats`."""

    names: tuple[str, ...] = parameter((), "Parts of the cheats' names.", positional=True)
    grader: str | None = parameter(
        None,
        "Command that reads a task and a program as JSON on stdin and prints a verdict as JSON.",
        metavar="CMD",
    )


@click.command("cheats", cls=MethodCommand)
@offered(CheatsOptions)
@json_option
def command(options: CheatsOptions, as_json: bool) -> int:
    """Run known reward hacks and their honest twins against a grader; list those it rewards.

    Without --grader on refute's own. NAMES: only those whose name contains one of them. A cheat
    that is paid, or a twin that is not, makes the exit status 1.
    """
    from refute_lab.cheats import CHEATS, by_command, try_cheats

    names = options.names
    chosen = [c for c in CHEATS if not names or any(name in c.name for name in names)]
    if not chosen:
        raise InputError(f"no cheat has {' or '.join(names)} in its name")
    used = None
    if options.grader is not None:
        used = by_command(options.grader)
    tried = list(try_cheats(chosen, used))
    _print(tried, as_json=as_json)
    return 0 if all(one.good for one in tried) else 1


def _print(tried: list[Tried], *, as_json: bool) -> None:
    from refute.verbs.output import print_json, print_list

    paid = sum(one.cheat == "paid" for one in tried)
    honest = sum(one.twin == "paid" for one in tried)
    if as_json:
        counts = {"cheats": len(tried), "cheats_paid": paid, "twins_paid": honest}
        print_json({**counts, "tried": [one.to_json() for one in tried]})
        return
    print_list([{**one.to_json(), "what": one.what} for one in tried], as_json=False)
    click.echo(f"\n{paid} of {len(tried)} cheats paid; {honest} of {len(tried)} twins paid")
