"""Whether a change is shown to be done, as text for people and as the JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from refute.gating.judging import Judged
from refute.gating.running import Standing
from refute.workspace.contract import Failure, TestReport

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


def gate_document(judged: Judged) -> dict[str, Any]:
    """`{"verdict", "reason", "base", "head", "findings", "red_to_green", "tests", ...}`."""
    return {
        "verdict": judged.verdict,
        "reason": judged.reason,
        "base": judged.base,
        "head": judged.head,
        "findings": [
            {"rule": one.rule, "where": one.where, "what": one.what, "shown": one.shown}
            for one in judged.findings
        ],
        "red_to_green": [one.id for one in judged.turned],
        "tests": [standing_document(one) for one in judged.tests],
        "near": list(judged.near),
        "kept": judged.kept,
        "issue": _issue(judged),
        "behaviour": _behaviour(judged),
        "notes": list(judged.notes),
    }


def _issue(judged: Judged) -> dict[str, Any] | None:
    if judged.issue is None:
        return None
    verdict, reason = judged.issue.verdict, judged.issue.reason
    return {"verdict": verdict, "reason": reason, "tests": judged.issue_tests}


def _behaviour(judged: Judged) -> dict[str, Any] | None:
    from refute.report.diffs import diff_document

    if judged.behaviour is None:
        return None
    if isinstance(judged.behaviour, str):
        return {"reason": judged.behaviour}
    return diff_document(judged.behaviour)


def print_gate(judged: Judged, console: Console) -> None:
    """What was red and is green, what is against the change, what else it does, the verdict."""
    console.print(Text(f"{judged.base} -> {judged.head}", style="dim"))
    for one in judged.turned[:MOST_LISTED]:
        console.print(Text.assemble(("red before, green now: ", "green"), (one.id, "bold")))
        if one.failure_before is not None:
            console.print(Text(f"  before: {said(one.failure_before)}", style="dim"))
    if len(judged.turned) > MOST_LISTED:
        console.print(Text(f"and {len(judged.turned) - MOST_LISTED} more", style="dim"))
    if judged.kept:
        beside = f" (near: {', '.join(judged.near)})" if judged.near else ""
        many = "1 test" if judged.kept == 1 else f"{judged.kept} tests"
        console.print(Text(f"as before: {many}{beside}", style="dim"))
    if judged.issue is not None:
        console.print(Text(f"the issue: {judged.issue.verdict}: {judged.issue.reason}"))
    if judged.behaviour is not None:
        from refute.report.diffs import print_changes

        print_changes(judged.behaviour, console)
    for note in judged.notes:
        console.print(Text(f"note: {note}", style="dim"))
    for finding in judged.findings:
        head = (f"{finding.rule}: ", "red")
        console.print(Text.assemble(head, (finding.where, "bold"), f": {finding.what}"))
    colour = "red" if judged.verdict == "not proven" else "green"
    console.print(Text.assemble((f"{judged.verdict}: ", f"bold {colour}"), judged.reason))
