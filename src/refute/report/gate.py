"""Whether a change is shown to be done, as text for people and as the JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from refute.gate.running import Standing
from refute.workspace.contract import Failure, TestReport

__all__ = ["print_standings", "red_green_document", "standing_document"]

MOST_LISTED = 10
_STYLES = {"red to green": "green", "red now": "red", "broken": "red"}


def red_green_document(
    base: str, head: str, tests: Sequence[Standing], before: TestReport, after: TestReport
) -> dict[str, Any]:
    """`{"base", "head", "tests": [...], "before": {"status", ...}, "after": {...}}`."""
    return {
        "base": base,
        "head": head,
        "tests": [standing_document(one) for one in tests],
        "before": _run(before),
        "after": _run(after),
    }


def standing_document(one: Standing) -> dict[str, Any]:
    """`{"id", "file", "before", "after", "turn", "failure_before", "failure_after"}`."""
    return {
        "id": one.id,
        "file": one.file,
        "before": one.before,
        "after": one.after,
        "turn": one.turn,
        "failure_before": _failure(one.failure_before),
        "failure_after": _failure(one.failure_after),
    }


def _run(report: TestReport) -> dict[str, Any]:
    return {"status": report.status, "trusted": report.trusted, "remark": report.remark or None}


def _failure(failure: Failure | None) -> dict[str, str] | None:
    if failure is None:
        return None
    return {"type": failure.type, "message": failure.message}


def print_standings(tests: Sequence[Standing], console: Console) -> None:
    """One line for each test."""
    for one in tests[:MOST_LISTED]:
        console.print(Text.assemble((one.turn, _STYLES.get(one.turn, "")), f"  {one.id}"))
        told = one.failure_after or one.failure_before
        if told is not None:
            console.print(Text(f"  {said(told)}", style="dim"))
    if len(tests) > MOST_LISTED:
        console.print(Text(f"and {len(tests) - MOST_LISTED} more", style="dim"))


def said(failure: Failure) -> str:
    """A failure in one line."""
    first = failure.message.strip().partition("\n")[0]
    return f"{failure.type}: {first[:200]}".rstrip(": ")
