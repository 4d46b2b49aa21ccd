"""`refute grade`: do predicted test patches reproduce their issues?"""

from __future__ import annotations

from typing import Any

import click

from refute.cli.options import json_option, preset_option, with_options, workspace_option
from refute.cli.output import consoles, show
from refute.errors import UNAVAILABLE
from refute_lab.cli.run_options import (
    executor_option,
    run_options,
    selecting_options,
    split_ids,
    task_option,
)

_RULES = (
    click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Runs of tests at once (default: cores).",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=1800.0,
        show_default=True,
        metavar="SECONDS",
        help="For one run of tests.",
    ),
    click.option(
        "--repeat",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        metavar="N",
        help="Run predicted tests N times; a flaky test is never F→P.",
    ),
    click.option(
        "--tests-only", is_flag=True, help="Drop what patches do to files that are no tests."
    ),
    click.option(
        "--patch-type",
        "patch_types",
        type=click.Choice(["vanilla", "fuzzy", "custom"]),
        multiple=True,
        default=("vanilla",),
        show_default=True,
        help="How predictions are written; of several, the first that applies.",
    ),
    click.option(
        "--mode",
        type=click.Choice(["tests", "reproduction"]),
        default="tests",
        show_default=True,
        help="reproduction: a patch adds a script, and its exit status decides.",
    ),
    click.option(
        "--script", metavar="PATH", help="The script of that mode (default: the new file)."
    ),
    workspace_option,
    task_option,
    click.option(
        "--compat",
        type=click.Choice(["swtbench"]),
        help="Also write the reference harness's reports, by its rules.",
    ),
    click.option(
        "--executable",
        type=click.Choice(["own", "golden", "printed"]),
        help="Lines that ΔC counts: those that the predicted tests' files or the golden tests run "
        "(own); the golden tests' files alone, the same for every method (golden); of these the "
        "ones that run more than once, as the paper's formula says (printed).  [default: own]",
    ),
    click.option(
        "--columns",
        type=click.Choice(["later", "v1"]),
        help="Whose F→P, F→× and P→P the table has: SWT-Bench's as it is now, or those of the "
        "paper's first version.  [default: later]",
    ),
    preset_option,
)
"""Each is a parameter of `refute_lab.grade`."""


@click.command("grade")
@click.argument("dataset")
@click.argument("predictions")
@selecting_options
@with_options(_RULES)
@executor_option
@run_options
@json_option
def command(dataset: str, predictions: str, ids: str | None, as_json: bool, **how: Any) -> int:
    """Grade predicted test patches (SWT-Bench), or fixes (SWE-bench).

    DATASET: swt-lite, swt-verified, swt-full, those of the paper's first version (swt-lite-v1,
    swt-full-v1), or a file of SWE-bench rows. PREDICTIONS: a JSON or JSONL file of the reference's
    form; `gold`, the golden tests; or a folder of the reference's logs,
    run_instance_swt_logs/RUN/MODEL, which are judged without running anything.

    With --task repair the predictions are fixes, and the golden tests judge them (SWE-bench): all
    that the golden patch turns green have to pass, and all that passed. The folder of the run then
    holds `results.json`, SWE-bench's report, and `wrong.jsonl`, the fixes that apply and do not
    resolve their issue.

    An instance without a prediction counts as one with an empty patch. A run that was interrupted
    resumes with `--run DIR`.

    Exit status 3: some instances have no grade (run again to retry them).
    """
    from refute.report.terminal import counting
    from refute_lab.api.grading import grade

    with counting(consoles()[1]) as progress:
        result = grade(dataset, predictions, ids=split_ids(ids), progress=progress, **how)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE
