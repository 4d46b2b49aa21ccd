"""`refute mcp`: an MCP server over stdio."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.core.extras import need
from refute.errors import InputError
from refute.verbs.declared import FILE, MethodCommand
from refute.verbs.options import session_options

if TYPE_CHECKING:
    from refute.models.asking import Asked


@click.command("mcp", cls=MethodCommand)
@click.option(
    "-C", "root", type=FILE, default=Path(), metavar="DIR", help="The folder to work in (here)."
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("writes", "outside")),
    help="writes: tools may write tests and fixes; outside: they may name files outside of DIR.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="No call takes longer, whatever it asks for; below what your client waits for.",
)
@session_options
def command(root: Path, allow: tuple[str, ...], time_limit: float | None, asked: Asked) -> int:
    """Serve agents over MCP, on stdin and stdout (needs the extra: refute[mcp]).

    Tools: hunt, debug, reproduce, vet, diff and gate, with the arguments of these commands. Nothing
    is written without --allow writes. Configure a client with the command `refute mcp`: see
    docs/mcp.md.
    """
    if not root.is_dir():
        raise InputError(f"-C {root}: no such folder")
    need("mcp", "refute mcp")
    from refute.core.processes import cores
    from refute.doors.mcp import serve

    given = asdict(asked) | {"record": asked.record and str(asked.record.resolve())}
    serve(
        root.resolve(),
        asked=given,
        allow=frozenset(allow),
        at_once=max(4, cores()),
        most=time_limit or math.inf,
    )
    return 0
