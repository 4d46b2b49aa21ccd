"""`refute fix`: a change of the code that resolves an issue, with the tests that show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import OUTPUT, MethodCommand
from refute.cli.exit_statuses import CANNOT_TELL, PROPOSED
from refute.cli.issue_options import bounds_options, checkout_options
from refute.cli.options import form_options, model_options
from refute.cli.output import Form, consoles
from refute.methods import Bounds
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.models.asking import Asked

_STATUSES = {"fixed": 0, "proposed": PROPOSED, "cannot tell": CANNOT_TELL}


@click.command("fix", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@click.argument("issue", metavar="ISSUE.md")
@checkout_options
@model_options
@bounds_options
@click.option(
    "--behaviour/--no-behaviour",
    default=True,
    help="Look for what else the fix changes (see `refute diff`).",
)
@click.option("-o", "output", type=OUTPUT, metavar="fix.patch", help="Write fix and tests there.")
@click.option("--write", is_flag=True, help="Apply fix and tests to the checkout (see --proposed).")
@click.option("--proposed", is_flag=True, help="Let --write apply what is only proposed, too.")
@form_options
def command(
    issue: str,
    asked: Asked,
    bounds: Bounds,
    output: Path | None,
    write: bool,
    proposed: bool,
    form: Form,
    **what: Any,
) -> int:
    """Fix an issue: a change of the code that its own tests turn green, printed with these tests.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. A model is needed (--model); it writes
    tests and fixes, each of which tries the others, and the best fix is run beside existing tests
    near it. It is called fixed only where independent evidence agrees: tests of several answers,
    several answers that hold a fix that does the same, existing tests, a review, and no input on
    which a rival does something else. The checkout is changed only with --write.

    Exit status 0: fixed; 4: a fix is proposed, not more; 5: cannot tell, no fix that any test
    speaks for.
    """
    from refute.api.fixing import fix
    from refute.report.terminal import working
    from refute.storage import write_output

    with working("fixing the issue", consoles()[1]):
        result = fix(issue, asked=asked, bounds=bounds, **what)
    form.show(result)
    if result.patch and output is not None:
        write_output(output, (result.patch + result.tests).encode("utf-8", "surrogateescape"))
        remark([f"fix and tests written to {output}"])
    if write:
        changed = result.write(what["repo"], proposed=proposed)
        if changed:
            remark([f"written to {', '.join(changed)}"])
        else:
            why = "the fix is only proposed (see --proposed)"
            told = why if result.state == "proposed" else "there is no fix that can be shown"
            remark([f"nothing is written to the checkout: {told}"])
    return _STATUSES[result.state]
