"""`refute vet`: does a fix resolve an issue?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import FILE, MethodCommand
from refute.cli.exit_statuses import FOUND
from refute.cli.issue_options import bounds_options, checkout_options
from refute.cli.options import form_options, model_options
from refute.cli.output import Form, consoles
from refute.methods import Bounds

if TYPE_CHECKING:
    from refute.models.asking import Asked


@click.command("vet", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@click.argument("fixes", metavar="FIX.diff...", type=FILE, nargs=-1, required=True)
@click.option("--issue", required=True, metavar="ISSUE.md", help="The issue (`-`: stdin).")
@click.option("--tests", type=FILE, metavar="TEST.patch", help="Tests that reproduce it.")
@click.option(
    "--neighbours",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Existing test files to run for regressions.",
)
@click.option(
    "--behaviour/--no-behaviour",
    default=True,
    help="Look for what else the fix changes (see `refute diff`).",
)
@checkout_options
@model_options
@bounds_options
@form_options
def command(
    fixes: tuple[Path, ...],
    asked: Asked,
    bounds: Bounds,
    form: Form,
    **what: Any,
) -> int:
    """Judge a fix by tests: does it resolve the issue, and does it break anything near?

    FIX.diff is a unified diff against the checkout as it is. The issue is reproduced by tests
    (those of --tests, else written as `refute reproduce` does), which are run without the fix and
    with it, together with existing tests near the change. The checkout is never changed. Then
    inputs are looked for on which the fix changes what functions do. Several fixes are ranked, with
    an input that tells each pair of them apart.

    Exit status 0: shown to be fixed (of several, the first); 1: not fixed, breaks tests, or cannot
    tell.
    """
    from refute.api.fixes import rank_fixes
    from refute.api.issues import vet
    from refute.report.terminal import working

    with working(f"vetting {', '.join(map(str, fixes))}", consoles()[1]):
        if len(fixes) > 1:
            what.pop("behaviour")
            ranked = rank_fixes(fixes, asked=asked, bounds=bounds, **what)
            verdict = ranked.results[0].verdict
        else:
            result = vet(fixes[0], asked=asked, bounds=bounds, **what)
            verdict = result.verdict
    form.show(ranked if len(fixes) > 1 else result)
    return 0 if verdict == "fixed" else FOUND
