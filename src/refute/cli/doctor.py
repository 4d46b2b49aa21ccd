"""`refute doctor`: what works on this machine."""

from __future__ import annotations

import click

from refute.cli.options import json_option
from refute.cli.output import consoles, print_json


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Show what works on this machine, and how to get what is missing."""
    from dataclasses import asdict

    from refute.api.doctor import examine, print_checks

    checks = examine()
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks, consoles()[0])
    return 0
