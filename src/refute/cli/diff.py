"""`refute diff`: what does a change do?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import FILE, OUTPUT, MethodCommand
from refute.cli.exit_statuses import FOUND
from refute.cli.functions import read_targets
from refute.cli.options import (
    baseline_options,
    fail_on_option,
    form_options,
    python_option,
    seed_option,
    session_options,
    total_option,
    with_options,
)
from refute.cli.output import Form, consoles
from refute.diffing.comparison import Effort
from refute.errors import InputError

if TYPE_CHECKING:
    from refute.diffing.service import Compared
    from refute.models.asking import Asked

_SEARCH = (
    click.option("-C", "repo", type=FILE, default=Path(), metavar="REPO", help="The checkout."),
    click.option(
        "--budget",
        type=click.FloatRange(0, min_open=True),
        default=5.0,
        show_default=True,
        help="Seconds for one function.",
    ),
    total_option,
    click.option(
        "--only",
        multiple=True,
        metavar="TARGET",
        help="A file, folder, module or function: the rest is left out. `-`: a list on stdin.",
    ),
    click.option(
        "--recorded",
        type=FILE,
        metavar="FILE",
        help="Calls that `pytest --refute-record` wrote (.refute/recorded.jsonl).",
    ),
    seed_option,
    python_option,
    click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Worker processes (half of the cores: each has two sandboxes).",
    ),
)
"""Each is a parameter of `refute.diff`."""
_TESTS = (
    click.option("--issue", metavar="ISSUE.md", help="What the change is for (`-`: stdin)."),
    click.option(
        "--pin",
        type=click.Choice(["before", "after", "ask"]),
        help="Write each difference as a test in which this side is right; or ask for each.",
    ),
    click.option(
        "-o",
        "output",
        type=OUTPUT,
        metavar="test_x.py",
        help="Where the tests go (default: among the project's own).",
    ),
    click.option("--force", is_flag=True, help="Let -o replace an existing file."),
    click.option(
        "--as",
        "style",
        type=click.Choice(["plain", "hypothesis"]),
        default="plain",
        help="Plain tests, or properties to fill in.",
    ),
)


@click.command("diff", cls=MethodCommand, more=(Effort,))
@click.argument("spec", metavar="[BASE[..HEAD]]", required=False)
@with_options((*_SEARCH, *_TESTS))
@session_options
@with_options((*baseline_options, fail_on_option))
@form_options
def command(
    spec: str | None, asked: Asked, issue: str | None, pin: str | None,
    output: Path | None, force: bool, style: str, form: Form, only: tuple[str, ...],
    baseline: Path | None, write_baseline: bool, fail_on: str | None, **search: Any,
) -> int:  # fmt: skip
    """Find inputs on which what changed between two revisions behaves otherwise.

    BASE is compared with the working tree, BASE..HEAD two commits, BASE...HEAD the second with
    their merge base; without any, HEAD with the working tree.

    With --model, a model writes further inputs where none was found or changed lines were not
    executed, and says of each difference whether the change means it.

    Exit status 0: no difference, or each is mentioned by the change itself (a changed test,
    docstring, change log, commit message or --issue names the function; with --model: says that it
    changes so); 1: some is not.
    """
    from refute.api.diffing import diff
    from refute.api.pinning import check_output, write_pinned
    from refute.issue.issue_text import read_issue
    from refute.remarks import remark
    from refute.report import terminal
    from refute.report.diffs import print_compared, print_end
    from refute.report.formats.changes import case_of_change

    if write_baseline and baseline is None:
        raise InputError("--write-baseline: name the file with --baseline FILE")
    out, err = consoles()
    check_output(output, pin, force=force)
    said = "" if issue is None else read_issue(issue)
    waits = (
        asked.model is not None or not form.streams
    )  # with a model, for what it says of them all
    with terminal.working("comparing", err) as spinner:

        def show(one: Compared, done: int, total: int) -> None:
            if not waits:
                with spinner.paused():
                    if form.is_text:
                        print_compared(one, out)
                    form.show_case("diff", lambda: case_of_change(one))
            spinner.say(f"{done} of {total} functions, last {one.function.qualname}")

        search["baseline"] = None if write_baseline else baseline
        if only:
            search["only"] = read_targets(only)
        result = diff(spec, about=said, asked=asked, show=show, **search)
    if waits:
        form.show(result)
    else:
        if form.is_text:
            print_end(result.diffed, out)
        form.show_end(result)
    if baseline is not None and write_baseline:
        count = result.write_baseline(baseline)
        remark([f"{count} known problem{'s' * (count != 1)} in {baseline}"])
        fail_on = "never"
    elif result.known:
        remark([f"{result.known} function{'s' * (result.known != 1)} with known differences alone"])
    if pin is not None:
        side = terminal.which_side(err) if pin == "ask" else pin
        write_pinned(result, side, output, hypothesis=style == "hypothesis")
    if result.interrupted:
        raise KeyboardInterrupt
    return FOUND if result.unexplained and fail_on != "never" else 0
