"""`refute methods`: what `--method` takes."""

from __future__ import annotations

import click

from refute.cli.listing import print_list
from refute.cli.options import json_option

__all__ = ["command"]


@click.command("methods")
@json_option
def command(as_json: bool) -> None:
    """List the methods: refute's own, and those of installed packages."""
    from refute.registry import METHODS

    rows = []
    for spec in METHODS.all():
        asks = "asks a model" if spec.asks_model else ""
        rows.append({"name": spec.name, "of": spec.level, "needs": asks, "summary": spec.summary})
    print_list(rows, as_json=as_json)
