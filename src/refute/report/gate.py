"""Whether a change is shown to be done, as text for people and as the JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from refute.gating.judging import Judged
from refute.gating.running import Standing
from refute.workspace.contract import Failure

MOST_LISTED = 10
_STYLES = {"red to green": "green", "red now": "red", "broken": "red"}


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
