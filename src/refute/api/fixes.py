"""What fixes do besides what they are for, and which of several is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Reported
from refute.diffing.comparison import Settings
from refute.diffing.differences import Difference
from refute.diffing.revisions import open_patched
from refute.diffing.service import Diffed, compare
from refute.errors import RefuteError
from refute.sandbox.deadline import end_after
from refute.workspace.patches import split_fix

if TYPE_CHECKING:
    from refute.api.issues import VetResult
    from refute.issue.observed_calls import ObservedCall
    from refute.results.formats import Report
    from refute.results.issues import Ranking

SECONDS = 3.0
"""For one function; `TOTAL`, or five times it, for all that one fix changes."""
TOTAL = 60.0


def changes_of(
    fix: str,
    repo: Path,
    python: Path | None = None,
    other: str | None = None,
    *,
    seconds: float = SECONDS,
    base: str | None = None,
) -> Diffed | str:
    """What the code of a fix changes in behaviour, against the checkout or against another fix; a
    line of why that cannot be told else. `fix`, `other`: unified diffs against the checkout.
    `seconds`: for one function. `base`: the commit that the fixes are of; None: the checkout."""
    settings = Settings(seconds=seconds, end=end_after(max(TOTAL, 5 * seconds)))
    codes = [split_fix(one)[1] for one in (fix, other) if one is not None]
    try:
        with open_patched(repo, base, *codes) as revisions:
            return compare(revisions, settings, python=python)
    except RefuteError as error:
        return " ".join(str(error).split())


@dataclass(frozen=True, slots=True)
class Pair:
    """Two fixes, by their places in what was given, and what tells them apart."""

    first: int
    second: int
    differences: tuple[Difference, ...] = ()
    """Inputs on which they differ, plainest first; `before` is the first fix's side."""
    observed: tuple[ObservedCall, ...] = ()
    """Where no input was found: calls in the project's own tests that came out otherwise."""
    alike: bool = False
    """Whether they were seen to do the same on inputs that reach what differs between them."""
    reason: str = ""
    """Why neither can be said."""


@dataclass(frozen=True, slots=True)
class RankedFixes(Reported):
    """Several fixes of one issue, most to be trusted first."""

    results: tuple[VetResult, ...]
    places: tuple[int, ...]
    """Of each result, its place in what was given."""
    fixes: tuple[str, ...]
    """Names of the files as given."""
    separating: tuple[Pair, ...]

    def document(self) -> Ranking:
        """The result as `ranking/1`."""
        from refute.results.issues import ranked_document

        return ranked_document(self)

    def report(self) -> Report:
        """What there is to report: a case for each fix, and what speaks against it."""
        from refute.results.formats import Report
        from refute.results.formats.changes import cases_of_ranking

        first = self.results[0]
        line = f"{self.fixes[self.places[0]]}: {first.verdict}: {first.vetted.reason}"
        return Report("vet", tuple(cases_of_ranking(self)), summary=line)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.results.text.issues import print_ranked

        print_ranked(self, console)


def pair_of(first: int, second: int, found: Diffed | str) -> Pair:
    if isinstance(found, str):
        return Pair(first, second, reason=found, alike=found.startswith("no difference"))
    shown = tuple(d for one in found.functions for d in one.comparison.differences)
    verdicts = {one.comparison.verdict for one in found.functions}
    alike = verdicts == {"no difference"}
    return Pair(first, second, shown, alike=alike and not shown)
