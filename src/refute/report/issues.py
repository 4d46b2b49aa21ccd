"""A reproduction of an issue, as text for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from refute.issue.contract import Reproduction
from refute.issue.original import Trial, shortened
from refute.workspace.contract import TestResult

__all__ = ["failing_tests", "print_reproduction", "reproduction_document"]

_TRACE = 1500
"""Characters of a traceback that are shown."""


def reproduction_document(method: str, found: Reproduction, trial: Trial | None) -> dict[str, Any]:
    """`{"method", "found", "patch", "confidence", "tests": [...], "notes", "steps"}`."""
    prediction = found.prediction
    return {
        "method": method,
        "found": bool(trial and trial.failing),
        "patch": prediction.patch,
        "confidence": round(prediction.confidence, 4) if prediction.patch else 0.0,
        "tests": failing_tests(trial.failing if trial else ()),
        "notes": list(prediction.notes),
        "steps": list(found.steps),
    }


def failing_tests(results: tuple[TestResult, ...]) -> list[dict[str, Any]]:
    """Tests that fail, each with how: `{"id", "outcome", "phase", "failure"}`."""
    return [
        {
            "id": result.id,
            "outcome": result.outcome,
            "phase": result.phase,
            "failure": asdict(result.failure) if result.failure else None,
        }
        for result in results
    ]


def print_reproduction(
    method: str, found: Reproduction, trial: Trial | None, console: Console
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
        console.print(Text(f"confidence {prediction.confidence:.0%} ({method})"))
    for note in prediction.notes:
        console.print(Text(f"note: {note}", style="dim"))


def _print_trial(trial: Trial, console: Console) -> None:
    if trial.report is None:
        console.print(Text(f"the tests were not run: {trial.rejected}", style="red"))
        return
    for result in trial.failing:
        failure = result.failure
        line = f"{failure.type}: {failure.message}" if failure else result.outcome
        console.print(Text.assemble(("fails now: ", "red"), (result.id, "bold")))
        console.print(Text(f"  {shortened(line, 400)}"))
        if failure is not None:
            console.print(Text(shortened(failure.traceback, _TRACE), style="dim"))
    if trial.report.status != "finished":
        console.print(Text(f"the run did not finish: {trial.report.remark}", style="red"))
