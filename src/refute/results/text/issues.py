"""Reproductions, verdicts on fixes, and fixes of issues, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from refute.issue.original import TrialRun, shortened
from refute.results.formats import short

if TYPE_CHECKING:
    from refute.issue.contract import Reproduction
    from refute.issue.vet import Vetted
    from refute.verbs.fix import FixResult
    from refute.verbs.vet import Pair, RankedFixes
    from refute.workspace.contract import TestResult


_TRACE = 1500
"""Characters of a traceback that are shown."""


def print_reproduction(
    method: str, found: Reproduction, trial: TrialRun | None, console: Console
) -> None:
    """The test patch, how it fails now, and why that is the issue's failure."""
    prediction = found.prediction
    if trial is None or not trial.failing:
        console.print(Text(f"{method}: no test that fails for the issue's reason", style="bold"))
    else:
        many = f"{len(trial.failing)} tests fail" if len(trial.failing) > 1 else "1 test fails"
        sure = confidence_text(prediction.confidence, method)
        console.print(Text(f"{many} for the issue's reason: {sure}", style="bold"))
    if prediction.patch:
        console.print(Syntax(prediction.patch, "diff", background_color="default", word_wrap=True))
    if trial is not None:
        _print_trial(trial, console)
    for note in prediction.notes:
        console.print(Text(f"note: {note}", style="dim"))


def confidence_text(confidence: float | None, method: str) -> str:
    """Say in a few words how sure a method is of its tests."""
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
    colour = "green" if vetted.verdict == "fixed" else "red"
    console.print(Text.assemble((f"{vetted.verdict}: ", f"bold {colour}"), vetted.reason))
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


_COLOURS = {"fixed": "green", "proposed": "yellow", "cannot tell": "red"}


def print_ranked(ranked: RankedFixes, console: Console) -> None:
    """The fixes in order with their verdicts, then what tells each pair apart."""
    for number, (place, result) in enumerate(zip(ranked.places, ranked.results, strict=True), 1):
        name = ranked.fixes[place]
        line = f"{result.verdict}: {result.vetted.reason}"
        console.print(Text.assemble((f"{number}. {name}  ", "bold"), line))
    for pair in ranked.separating:
        _print_pair(pair, ranked, console)


def _print_pair(pair: Pair, ranked: RankedFixes, console: Console) -> None:
    from refute.results.text.changes import differences_table

    names = ranked.fixes[pair.first], ranked.fixes[pair.second]
    if pair.differences:
        console.print(Text(f"{names[0]} and {names[1]} differ", style="bold"))
        console.print(differences_table(pair.differences[:1], names))
    elif pair.observed:
        one = pair.observed[0]
        console.print(Text(f"{names[0]} and {names[1]} differ in {one.test}", style="bold"))
        console.print(Text(f"  {short(one.source)}"))
        for name, end in zip(names, (one.before, one.after), strict=True):
            console.print(Text(f"  {name}: {short(end)}"))
    elif pair.alike:
        console.print(Text(f"{names[0]} and {names[1]}: no input found that tells them apart"))
    else:
        why = pair.reason or "what they change could not be called"
        console.print(Text(f"{names[0]} and {names[1]}: cannot be compared: {why}", style="dim"))


def print_fix(result: FixResult, console: Console) -> None:
    """The fix and its tests as diffs, what else it changes, what is claimed and why."""
    from refute.results.text.changes import differences_table, print_changes

    claim = result.claim
    for patch in (result.patch, claim.tests if result.patch else ""):
        if patch.strip():
            console.print(Syntax(patch, "diff", background_color="default", word_wrap=True))
    for id in claim.failing:
        console.print(Text.assemble(("fails now, passes with the fix: ", "green"), (id, "bold")))
    if result.changes is not None:
        print_changes(result.changes, console)
    if result.separating:
        console.print(Text("another fix, which the tests call as good, differs", style="bold"))
        console.print(differences_table(result.separating[:1], ("this fix", "the other")))
    first, *more = claim.reasons or ("",)
    line = Text.assemble((f"{claim.state}: ", f"bold {_COLOURS[claim.state]}"), first)
    console.print(line)
    for reason in more:
        console.print(Text(f"  {reason}", style="dim"))
    if result.patch:
        console.print(Text(confidence_text(result.found.prediction.confidence, result.method)))
