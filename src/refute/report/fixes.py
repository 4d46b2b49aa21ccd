"""Several fixes beside each other, as text for people and as the JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from refute.report.diffs import difference_document, differences_table

if TYPE_CHECKING:
    from refute.api.fixes import Pair, RankedFixes

_LONGEST = 300


def ranked_document(ranked: RankedFixes) -> dict[str, Any]:
    """`{"fixes": [{"fix", "verdict", ...}], "pairs": [{"first", "second", "alike", "differences",
    "observed": [{"test", "function", "given", "before", "after"}], "reason"}]}`."""
    return {
        "fixes": [
            {"fix": ranked.fixes[place], **result.document()}
            for place, result in zip(ranked.places, ranked.results, strict=True)
        ],
        "pairs": [
            {
                "first": ranked.fixes[pair.first],
                "second": ranked.fixes[pair.second],
                "alike": pair.alike,
                "differences": [difference_document(one) for one in pair.differences],
                "observed": [asdict(one) for one in pair.observed],
                "reason": pair.reason or None,
            }
            for pair in ranked.separating
        ],
    }


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
