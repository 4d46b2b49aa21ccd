"""`refute mcp`: an MCP server over stdio."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import click

from refute.core.extras import need
from refute.core.parameters import parameter
from refute.errors import InputError
from refute.models.asking import Asked
from refute.verbs.declared import MethodCommand, offered


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions(Asked):
    """Options of `mcp`."""

    root: Path = parameter(Path(), "The folder to work in (here).", flag="-C", metavar="DIR")
    allow: tuple[Literal["writes", "outside"], ...] = parameter(
        (), "writes: tools may write tests and fixes; outside: they may name files outside of DIR."
    )
    time_limit: float | None = parameter(
        None,
        "No call takes longer, whatever it asks for; below what your client waits for.",
        metavar="SECONDS",
        above=0,
        in_files=True,
    )


@click.command("mcp", cls=MethodCommand)
@offered(McpOptions)
def command(options: McpOptions) -> int:
    """Serve agents over MCP, on stdin and stdout (needs the extra: refute[mcp]).

    Tools: hunt, debug, reproduce, vet, diff and gate, with the arguments of these commands. Nothing
    is written without --allow writes. Configure a client with the command `refute mcp`: see
    docs/mcp.md.
    """
    if not options.root.is_dir():
        raise InputError(f"-C {options.root}: no such folder")
    need("mcp", "refute mcp")
    from refute.core.processes import cores
    from refute.doors.mcp import serve

    asked = {one.name: getattr(options, one.name) for one in fields(Asked)}
    serve(
        options.root.resolve(),
        asked=asked | {"record": options.record and str(options.record.resolve())},
        allow=frozenset(options.allow),
        at_once=max(4, cores()),
        most=options.time_limit or math.inf,
    )
    return 0
