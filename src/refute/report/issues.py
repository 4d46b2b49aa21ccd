"""A reproduction of an issue, as text for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from refute.issue.contract import Reproduction
from refute.issue.drafting.original import TrialRun, shortened
from refute.issue.vet import Vetted
from refute.workspace.contract import TestResult

if TYPE_CHECKING:
    pass

_TRACE = 1500
"""Characters of a traceback that are shown."""


def print_reproduction(
    method: str, found: Reproduction, trial: TrialRun | None, console: Console
) -> None:
    """The test patch, how it fails now, and why that is the issue's failure."""
    prediction = found.prediction
    if prediction.patch:
        console.print(Syntax(prediction.patch, "diff", background_color="default", word_wrap=True))
    if trial is not None:
        _print_trial(trial, console)
    if trial is None or not trial.failing:
        console.print(Text(f"{method}: no test that fails for the issue's reason", style="bold"))
    else:
        console.print(Text(confidence_text(prediction.confidence, method)))
    for note in prediction.notes:
        console.print(Text(f"note: {note}", style="dim"))


def confidence_text(confidence: float | None, method: str) -> str:
    """How sure a method is of its tests, in a few words."""
    if confidence is None:
        return f"no confidence: {method} has no evidence besides"
    return f"confidence {confidence:.0%} ({method})"


def _print_trial(trial: TrialRun, console: Console) -> None:
    if trial.report is None:
        console.print(Text(f"the tests were not run: {trial.rejected}", style="red"))
        return
    for result in trial.failing:
        _print_result("fails now: ", result, console)
    if trial.report.status != "finished":
        console.print(Text(f"the run did not finish: {trial.report.remark}", style="red"))


def _print_result(label: str, result: TestResult, console: Console) -> None:
    failure = result.failure
    line = f"{failure.type}: {failure.message}" if failure else result.outcome
    console.print(Text.assemble((label, "red"), (result.id, "bold")))
    console.print(Text(f"  {shortened(line, 400)}"))
    if failure is not None:
        console.print(Text(shortened(failure.traceback, _TRACE), style="dim"))


def print_vetted(
    method: str, vetted: Vetted, tests: str, console: Console, *, found: Reproduction | None = None
) -> None:
    """The verdict, and the tests with their output as evidence; `found`: where they were written
    for it."""
    notes = found.prediction.notes if found else ()
    if tests.strip() and vetted.reproducing:
        console.print(Syntax(tests, "diff", background_color="default", word_wrap=True))
    still = {result.id for result in vetted.still_failing}
    for result in vetted.reproducing:
        if result.id not in still:
            _print_result("failed before the fix, passes now: ", result, console)
    for result in vetted.still_failing:
        _print_result("fails with the fix: ", result, console)
    for result in vetted.broken:
        _print_result("broken by the fix: ", result, console)
    if vetted.neighbours:
        console.print(Text(f"run for regressions: {', '.join(vetted.neighbours)}", style="dim"))
    for note in (*vetted.notes, *notes):
        console.print(Text(f"note: {note}", style="dim"))
    if found is not None and vetted.reproducing:
        rests = confidence_text(found.prediction.confidence, method)
        console.print(Text(f"it rests on tests with {rests}"))
    colour = "green" if vetted.verdict == "fixed" else "red"
    console.print(Text.assemble((f"{vetted.verdict}: ", f"bold {colour}"), vetted.reason))
