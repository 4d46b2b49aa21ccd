"""`refute reproduce`: a test that fails now for an issue's reason."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option, session_options
from refute.cli.output import consoles, print_json, remark
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
    from refute.issue.contract import Reproduction
    from refute.issue.original import Trial
    from refute.methods import Bounds, MethodSpec, Spawn
    from refute.models.asking import Asked
    from refute.problems import IssueProblem

__all__ = ["command"]


@click.command("reproduce")
@click.argument("issue", metavar="ISSUE.md")
@checkout_options
@session_options
@method_option
@reproducing_options
@click.option("-o", "output", type=FILE, metavar="test.patch", help="Write the test patch there.")
@click.option("--write", is_flag=True, help="Apply the test patch to the checkout.")
@json_option
def command(
    issue: str,
    checkout: CheckoutOptions,
    asked: Asked,
    method: str | None,
    how: ReproducingOptions,
    output: Path | None,
    write: bool,
    as_json: bool,
) -> int:
    """Write a test that fails now for the reason that an issue describes.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. Works on the checkout as it is, dirty
    or clean, in a private copy; the checkout is changed only with --write, which writes test files
    and nothing else, and only a test that was seen to fail. Without a model, what the issue itself
    holds is run (method `snippet`).

    Exit status 1: such a test was found; 0: none was.
    """
    from refute.issue.statement import read_issue
    from refute.report.issues import print_reproduction, reproduction_document
    from refute.report.terminal import working
    from refute.workspace.snapshot import apply_to_checkout

    out, err = consoles()
    text = read_issue(issue)
    name, spec, options = chosen_reproducer(method, how, asked)
    with working(f"reproducing the issue ({name})", err):
        problem, spawn = in_checkout(checkout, text)
        found, trial = asyncio.run(_reproduce(spec, options, problem, spawn, asked, how.bounds))
    patch = found.prediction.patch
    if as_json:
        print_json(reproduction_document(name, found, trial))
    else:
        print_reproduction(name, found, trial, out)
    if patch and output is not None:
        output.write_text(patch, encoding="utf-8")
        remark(err, [f"test patch written to {output}"])
    if write and (trial is None or not trial.failing):
        remark(err, ["nothing is written to the checkout: no test fails"])
    elif write:
        changed = apply_to_checkout(patch, checkout.repo)
        remark(err, [f"tests written to {', '.join(changed)}"])
    return FOUND if trial is not None and trial.failing else 0


async def _reproduce(
    spec: MethodSpec[Any, Reproduction],
    options: Any,
    problem: IssueProblem,
    spawn: Spawn,
    asked: Asked,
    bounds: Bounds,
) -> tuple[Reproduction, Trial | None]:
    """What the method found, and how its tests fail now."""
    from refute.issue.original import WHOLE, Original

    found = await reproduced(spec, options, problem, spawn, asked, bounds)
    if not found.prediction.patch:
        return found, None
    with spawn() as workspace:
        return found, Original(workspace, bounds, whole=WHOLE).attempt(found.prediction.patch)
