"""`refute init`: set a repository up for refute."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.declared import FILE
from refute.cli.options import json_option
from refute.cli.output import remark, show


@click.command("init")
@click.option("-C", "repo", type=FILE, default=Path(), metavar="REPO", help="The checkout (here).")
@click.option("--settings/--no-settings", default=True, help="[tool.refute] in pyproject.toml.")
@click.option("--workflow/--no-workflow", default=True, help="A workflow for pull requests.")
@click.option("--agents/--no-agents", default=True, help="A section of AGENTS.md.")
@click.option("--hook/--no-hook", default=False, help="`refute gate` when Claude Code stops (no).")
@click.option(
    "--source",
    metavar="REQUIREMENT",
    help="What the workflow installs refute from (the address that this copy came from).",
)
@click.option("--write", is_flag=True, help="Write the files.")
@json_option
def command(repo: Path, source: str | None, write: bool, as_json: bool, **parts: bool) -> int:
    """Show what would be added to a repository to use refute there; --write adds it.

    Settings, a workflow that runs `refute gate` on pull requests, a section of AGENTS.md for coding
    agents, and on request a hook. What is there already is kept: files are added to or left alone.
    """
    from refute.api.starting import init
    from refute.cli.output import consoles

    chosen = tuple(name for name, wanted in parts.items() if wanted)
    result = init(repo=repo, parts=chosen, source=source)
    show(result, as_json=as_json)
    err = consoles()[1]
    if write:
        written = result.write()
        remark(err, [f"written: {', '.join(written)}" if written else "nothing to write"])
    elif any(one.changes for one in result.proposals):
        remark(err, ["nothing is written yet; --write does it"])
    return 0
