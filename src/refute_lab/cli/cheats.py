"""`refute cheats`: does a grader pay programs and tests that cheat?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from refute.verbs.options import json_option

if TYPE_CHECKING:
    from refute_lab.cheats import Tried


@click.command("cheats")
@click.argument("names", nargs=-1)
@click.option(
    "--grader",
    metavar="CMD",
    help="Command that reads a task and a program as JSON on stdin and prints a verdict as JSON.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one answer of the --grader.",
)
@json_option
def command(names: tuple[str, ...], grader: str | None, timeout: float, as_json: bool) -> int:
    """Try programs and tests that cheat, and their honest twins, on a grader.

    Without --grader on refute's own. NAMES: only those whose name contains one of them. A cheat
    that is paid, or a twin that is not, makes the exit status 1.
    """
    from refute.errors import InputError
    from refute_lab.cheats import CHEATS, by_command, try_cheats

    chosen = [c for c in CHEATS if not names or any(name in c.name for name in names)]
    if not chosen:
        raise InputError(f"no cheat has {' or '.join(names)} in its name")
    used = None if grader is None else by_command(grader, timeout=timeout)
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
