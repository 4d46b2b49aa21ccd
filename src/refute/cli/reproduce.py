"""`refute reproduce`: a test that fails now for an issue's reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import OUTPUT, MethodCommand
from refute.cli.exit_statuses import FOUND
from refute.cli.issue_options import bounds_options, checkout_options
from refute.cli.options import form_options, model_options
from refute.cli.output import Form, consoles
from refute.methods import Bounds
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.models.asking import Asked


@click.command("reproduce", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@click.argument("issue", metavar="ISSUE.md")
@checkout_options
@model_options
@bounds_options
@click.option("-o", "output", type=OUTPUT, metavar="test.patch", help="Write the test patch there.")
@click.option("--write", is_flag=True, help="Apply the test patch to the checkout.")
@form_options
def command(
    issue: str,
    asked: Asked,
    bounds: Bounds,
    output: Path | None,
    write: bool,
    form: Form,
    **checkout: Any,
) -> int:
    """Write a test that fails now for the reason that an issue describes.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. Works on the checkout as it is, dirty
    or clean, in a private copy; the checkout is changed only with --write, which writes test files
    and nothing else, and only a test that was seen to fail. Without a model, what the issue itself
    holds is run (method `snippet`).

    Exit status 1: such a test was found; 0: none was.
    """
    from refute.api.issues import reproduce
    from refute.report.terminal import working
    from refute.storage import write_output

    err = consoles()[1]
    with working("reproducing the issue", err) as spinner:

        def chosen(name: str) -> None:
            spinner.say(f"reproducing the issue ({name})")

        result = reproduce(issue, asked=asked, bounds=bounds, chosen=chosen, **checkout)
    form.show(result)
    if result.patch and output is not None:
        write_output(output, result.patch.encode("utf-8", "surrogateescape"))
        remark([f"test patch written to {output}"])
    if write:
        changed = result.write(checkout["repo"])
        if changed:
            remark([f"tests written to {', '.join(changed)}"])
        else:
            remark(["nothing is written to the checkout: no test fails"])
    return FOUND if result.failing else 0
