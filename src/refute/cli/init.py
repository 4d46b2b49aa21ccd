"""`refute init`: set a repository up for refute."""

from __future__ import annotations

from pathlib import Path

import click

from refute.api.starting import PARTS
from refute.cli.declared import FILE
from refute.cli.options import json_option
from refute.cli.output import remark, show


@click.command("init")
@click.argument("parts", nargs=-1, type=click.Choice(PARTS), metavar="[PART]...")
@click.option("-C", "repo", type=FILE, default=Path(), metavar="REPO", help="The checkout (here).")
@click.option(
    "--source",
    metavar="REQUIREMENT",
    help="What the workflow installs refute from (the address that this copy came from).",
)
@click.option("--write", is_flag=True, help="Write the files.")
@json_option
def command(
    repo: Path, source: str | None, write: bool, as_json: bool, parts: tuple[str, ...]
) -> int:
    """Show what would be added to a repository to use refute there; --write adds it.

    PART: settings ([tool.refute] in pyproject.toml), workflow (runs `refute gate` on pull
    requests), agents (a section of AGENTS.md), hook (`refute gate` when Claude Code stops); where
    none is named, all but the hook. What is there already is kept: files are added to or left
    alone.
    """
    from refute.api.starting import USUAL, init
    from refute.cli.output import consoles

    result = init(repo=repo, parts=parts or USUAL, source=source)
    show(result, as_json=as_json)
    err = consoles()[1]
    if write:
        written = result.write()
        remark(err, [f"written: {', '.join(written)}" if written else "nothing to write"])
    elif any(one.changes for one in result.proposals):
        remark(err, ["nothing is written yet; --write does it"])
    return 0
