"""`refute grade`: do predicted test patches reproduce their issues?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import click

from refute.core.parameters import parameter
from refute.errors import UNAVAILABLE
from refute.verbs.declared import MethodCommand, set_by_name
from refute.verbs.options import json_option, preset_option, with_options, workspace_option
from refute.verbs.output import consoles, show
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
    workspace_option,
    task_option,
    preset_option,
)
"""Each is a parameter of `refute_lab.grade`."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Whose rules; the fields are parameters of `refute_lab.grade`, too."""

    timeout: float = parameter(1800.0, "Seconds for one run of tests.", above=0)
    repeat: int = parameter(
        1, "Runs of the predicted tests; a flaky test is never F→P.", at_least=1
    )
    tests_only: bool = parameter(False, "Drop what patches do to files that are no tests.")
    patch_types: tuple[Literal["vanilla", "fuzzy", "custom"], ...] = parameter(
        ("vanilla",), "How predictions are written; of several, the first that applies."
    )
    mode: Literal["tests", "reproduction"] = parameter(
        "tests", "reproduction: a patch adds a script, and its exit status decides."
    )
    script: str | None = parameter(None, "The script of that mode (default: the new file).")
    compat: Literal["swtbench"] | None = parameter(
        None, "Also write the reference harness's reports, by its rules."
    )
    executable: Literal["own", "golden", "printed"] | None = parameter(
        None,
        "Lines that ΔC counts: those that the predicted tests' files or the golden tests run (own);"
        " the golden tests' files alone, the same for every method (golden); of these the ones that"
        " run more than once, as the paper's formula says (printed).",
    )
    columns: Literal["later", "v1"] | None = parameter(
        None,
        "Whose F→P, F→× and P→P the table has: SWT-Bench's as it is now, or those of the paper's"
        " first version.",
    )


@click.command("grade", cls=MethodCommand, more=(Rules,))
@click.argument("dataset")
@click.argument("predictions")
@selecting_options
@with_options(_RULES)
@executor_option
@run_options
@json_option
@set_by_name
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
    from refute.results.text.consoles import counting
    from refute_lab.api.grading import grade

    with counting(consoles()[1]) as progress:
        result = grade(dataset, predictions, ids=split_ids(ids), progress=progress, **how)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE
