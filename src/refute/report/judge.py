"""A ranking of candidates as a table for people, and as JSON for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.function.formatting import call_source, expected_source
from refute.function.judge import CandidateRanking


def judge_document(found: CandidateRanking, function: str, names: Sequence[str]) -> dict[str, Any]:
    """`{"function", "n", "rule", "tests", "ranking": [{"candidate", "passed", "of", "rank",
    "score"}], "best"}`; `names` are the candidates' files in the order given."""
    of = len(found.tests)
    return {
        "function": function,
        "n": len(names),
        "rule": found.rule,
        "tests": [
            {
                "call": call_source(test.call, function),
                "expected": expected_source(test),
                "source": test.source,
                "confidence": round(test.confidence, 4),
            }
            for test in found.tests
        ],
        "ranking": [
            {
                "candidate": names[one.index],
                "passed": one.passed,
                "of": of,
                "rank": one.rank,
                "score": None if one.score is None else round(one.score, 6),
                "agreement": round(one.agreement, 6),
            }
            for one in found.ranking
        ],
        "best": names[found.best],
    }


def print_judgement(
    found: CandidateRanking, function: str, names: Sequence[str], console: Console
) -> None:
    """The candidates, best first."""
    table = Table(title=Text(f"candidates for {function}", style="bold"), title_justify="left")
    scored = any(one.score is not None for one in found.ranking)
    for name in ("rank", "candidate", "tests passed", *["score"] * scored, "agreement"):
        table.add_column(name, overflow="fold")
    for one in found.ranking:
        passed = f"{one.passed} of {len(found.tests)}"
        cells = (str(one.rank), names[one.index], passed)
        score = [] if one.score is None else [f"{one.score:.3g}"]
        table.add_row(*map(Text, cells), *score, f"{one.agreement:.0%}")
    console.print(table)
    if found.rule == "reward":
        console.print(Text("note: ranked by the reward model's score alone", style="dim"))
    elif not found.tests:
        console.print(Text("note: no test: ranked by what most candidates return", style="dim"))
    firsts = sum(one.rank == 1 for one in found.ranking)
    if firsts > 1:
        text = f"note: {firsts} candidates are equal; the first one given stands first"
        console.print(Text(text, style="dim"))
