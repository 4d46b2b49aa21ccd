"""A fix of an issue, and several beside each other, as text for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from refute.report.diffs import (
    differences_table,
    print_changes,
)
from refute.report.issues import confidence_text

if TYPE_CHECKING:
    from refute.api.fixes import Pair, RankedFixes
    from refute.api.fixing import FixResult

_LONGEST = 300
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
    names = ranked.fixes[pair.first], ranked.fixes[pair.second]
    if pair.differences:
        console.print(Text(f"{names[0]} and {names[1]} differ", style="bold"))
        console.print(differences_table(pair.differences[:1], names))
    elif pair.observed:
        one = pair.observed[0]
        console.print(Text(f"{names[0]} and {names[1]} differ in {one.test}", style="bold"))
        call = f"{one.function}({one.given})" if one.function else "the test"
        console.print(Text(f"  {_short(call)}"))
        for name, end in zip(names, (one.before, one.after), strict=True):
            console.print(Text(f"  {name}: {_short(end)}"))
    elif pair.alike:
        console.print(Text(f"{names[0]} and {names[1]}: no input found that tells them apart"))
    else:
        why = pair.reason or "what they change could not be called"
        console.print(Text(f"{names[0]} and {names[1]}: cannot be compared: {why}", style="dim"))


def _short(text: str) -> str:
    """What came of a call, on few lines."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def print_fix(result: FixResult, console: Console) -> None:
    """The fix and its tests as diffs, what else it changes, what is claimed and why."""
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
