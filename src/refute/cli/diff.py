"""`refute diff`: what does a change do?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.exit_statuses import FOUND
from refute.cli.options import FILE, json_option, python_option, seed_option
from refute.cli.output import consoles, print_json

if TYPE_CHECKING:
    from refute.diffing.service import Compared

__all__ = ["command"]


@click.command("diff")
@click.argument("spec", metavar="[BASE[..HEAD]]", required=False)
@click.option(
    "-C", "repo", type=click.Path(path_type=Path), default=Path("."), metavar="REPO",
    help="The checkout (this folder).",
)  # fmt: skip
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds for one function.",
)
@click.option(
    "--pin",
    type=click.Choice(["before", "after", "ask"]),
    help="Write each difference as a test in which this side is right; or ask for each.",
)
@click.option(
    "-o",
    "output",
    type=FILE,
    metavar="FILE",
    help="Where the tests go (default: among the project's own, where related ones are).",
)
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["plain", "hypothesis"]),
    default="plain",
    help="Plain tests, or properties to fill in.",
)
@click.option(
    "--recorded",
    type=FILE,
    metavar="FILE",
    help="Calls that `pytest --refute-record` wrote (default: .refute/recorded.jsonl).",
)
@seed_option
@python_option
@json_option
def command(
    spec: str | None,
    repo: Path,
    budget: float,
    pin: str | None,
    output: Path | None,
    force: bool,
    form: str,
    recorded: Path | None,
    seed: int,
    python: Path | None,
    as_json: bool,
) -> int:
    """Find inputs on which what changed between two revisions behaves otherwise.

    BASE is compared with the working tree, BASE..HEAD two commits, BASE...HEAD the second with
    their merge base; without any, HEAD with the working tree.

    Exit status 0: no difference, or each is mentioned by the change itself (a changed test,
    docstring, change log or commit message names the function); 1: some is not.
    """
    from refute.api.diffing import diff
    from refute.api.pinning import check_output, write_pinned
    from refute.report import terminal
    from refute.report.diffs import print_compared, summary_line

    out, err = consoles()
    check_output(output, pin, force=force)
    with terminal.working("comparing", err) as spinner:

        def show(one: Compared, done: int, total: int) -> None:
            if not as_json:
                with spinner.paused():
                    print_compared(one, out)
            spinner.say(f"{done} of {total} functions, last {one.function.qualname}")

        result = diff(
            spec,
            repo=repo,
            python=python,
            budget=budget,
            seed=seed,
            recorded=recorded,
            show=show,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        out.print(summary_line(result.diffed))
    if pin is not None:
        side = terminal.which_side(err) if pin == "ask" else pin
        write_pinned(result, side, output, hypothesis=form == "hypothesis")
    if result.interrupted:
        raise KeyboardInterrupt
    return FOUND if result.unexplained else 0
