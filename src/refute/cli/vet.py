"""`refute vet`: does a fix resolve an issue?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.options import FILE, json_option, session_options
from refute.cli.output import consoles, print_json
from refute.cli.reproducing import (
    CheckoutOptions,
    ReproducingOptions,
    checkout_options,
    chosen_reproducer,
    in_checkout,
    method_option,
    reproduced,
    reproducing_options,
)
from refute.cli.status import FOUND

if TYPE_CHECKING:
    from refute.models.asking import Asked

__all__ = ["command"]


@click.command("vet")
@click.argument("fix", metavar="FIX.diff", type=FILE)
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
@checkout_options
@session_options
@method_option
@reproducing_options
@json_option
def command(
    fix: Path,
    issue: str,
    tests: Path | None,
    neighbours: int,
    checkout: CheckoutOptions,
    asked: Asked,
    method: str | None,
    how: ReproducingOptions,
    as_json: bool,
) -> int:
    """Judge a fix by tests: does it resolve the issue, and does it break anything near?

    FIX.diff is a unified diff against the checkout as it is. The issue is reproduced by tests
    (those of --tests, else written as `refute reproduce` does), which are run without the fix and
    with it, together with existing tests near the change. The checkout is never changed.

    Exit status 0: shown to be fixed; 1: not fixed, breaks tests, or cannot tell.
    """
    from refute.issue.statement import read_issue
    from refute.issue.vet import vet_fix
    from refute.report.issues import print_vetted, vetted_document
    from refute.report.terminal import working

    out, err = consoles()
    text = read_issue(issue)
    diff = _read(fix)
    given = None if tests is None else _read(tests)
    name, spec, options = ("given", None, None) if given else chosen_reproducer(method, how, asked)
    with working(f"vetting {fix}", err):
        problem, spawn = in_checkout(checkout, text)
        found = None
        if given is None and spec is not None:
            found = asyncio.run(reproduced(spec, options, problem, spawn, asked, how.bounds))
            given = found.prediction.patch
        with spawn() as workspace:
            vetted = vet_fix(diff, given or "", workspace, how.bounds, most_neighbours=neighbours)
    if as_json:
        print_json(vetted_document(name, vetted, given or "", found))
    else:
        print_vetted(name, vetted, given or "", out, notes=found.prediction.notes if found else ())
    return 0 if vetted.verdict == "fixed" else FOUND


def _read(path: Path) -> str:
    """A diff as it is, also where a line of it is not UTF-8."""
    from refute.errors import InputError
    from refute.files import read_file

    try:
        return read_file(path, pipe=True).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
