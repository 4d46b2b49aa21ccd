"""`refute datasets`: what `refute bench` takes."""

from __future__ import annotations

import click

from refute.verbs.options import json_option
from refute.verbs.output import print_list


@click.command("datasets")
@json_option
def command(as_json: bool) -> None:
    """List the datasets: refute's own, and those of installed packages."""
    from refute_lab.datasets.rows import DATASETS

    rows = [{"name": s.name, "of": s.level, "summary": s.summary} for s in DATASETS.all()]
    print_list(rows, as_json=as_json)
