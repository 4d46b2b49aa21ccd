"""What fixes do besides what they are for, and which of several is to be trusted.

>>> ranked = refute.rank_fixes(["a.diff", "b.diff"], issue="ISSUE.md")
>>> ranked.results[0].fix, ranked.separating
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Reported, apart, path_of
from refute.diffing.comparison import Settings
from refute.diffing.differences import Difference
from refute.diffing.revisions import open_patched
from refute.diffing.service import Diffed, compare
from refute.errors import InputError, RefuteError
from refute.sandbox.deadline import end_after
from refute.storage import ScratchFolder
from refute.workspace.patches import split_fix

if TYPE_CHECKING:
    from refute.api.issues import VetResult
    from refute.issue.observed_calls import ObservedCall
    from refute.report.formats.contract import Report
    from refute.results.issues import Ranking

SECONDS = 3.0
"""For one function; `TOTAL`, or five times it, for all that one fix changes."""
TOTAL = 60.0
MOST_FIXES = 8
_ORDER = ("fixed", "cannot tell", "not fixed", "breaks tests", "does not apply")


def changes_of(
    fix: str,
    repo: Path,
    python: Path | None = None,
    other: str | None = None,
    *,
    recorded: Path | None = None,
    seconds: float = SECONDS,
    base: str | None = None,
) -> Diffed | str:
    """What the code of a fix changes in behaviour, against the checkout or against another fix; a
    line of why that cannot be told else. `fix`, `other`: unified diffs against the checkout.
    `recorded`: calls to begin with, a file of `refute.recording`; None: the repository's
    `.refute/recorded.jsonl`, where there is one. `seconds`: for one function. `base`: the commit
    that the fixes are of; None: the checkout as it is."""
    from refute.api.diffing import recorded_calls

    settings = Settings(seconds=seconds, end=end_after(max(TOTAL, 5 * seconds)))
    codes = [split_fix(one)[1] for one in (fix, other) if one is not None]
    try:
        with open_patched(repo, base, *codes) as revisions:
            calls = recorded or recorded_calls(revisions.repo)
            return compare(revisions, settings, python=python, recorded=calls)
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
        from refute.report.formats.changes import cases_of_ranking
        from refute.report.formats.contract import Report

        first = self.results[0]
        line = f"{self.fixes[self.places[0]]}: {first.verdict}: {first.vetted.reason}"
        return Report("vet", tuple(cases_of_ranking(self)), summary=line)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.fixes import print_ranked

        print_ranked(self, console)


def rank_fixes(
    fixes: Sequence[Path | str],
    *,
    issue: Path | str,
    repo: Path | str = ".",
    python: Path | str | None = None,
    **how: Any,
) -> RankedFixes:
    """Judge several fixes by the same tests, and find inputs that tell each pair of them apart.

    Parameters as of `refute.vet`. Ranked by verdict, then by how many of the others do the same,
    then as given. Inputs begin with the calls of `.refute/recorded.jsonl`; where there is none,
    with those that the tests near the fixes make, which are run for it. Where none tells two fixes
    apart, these tests are run with both, and their calls of what differs compared. Raises as `vet`.
    """
    from refute.api.diffing import recorded_calls
    from refute.api.issues import read_fix, vet
    from refute.issue.issue_text import read_issue
    from refute.issue.observed_calls import observed_differences
    from refute.issue.recorded_calls import record_calls
    from refute.methods import Bounds
    from refute.workspace.checkout import Checkout, in_checkout

    if not 2 <= len(fixes) <= MOST_FIXES:
        raise InputError(f"{len(fixes)} fixes: give 2 to {MOST_FIXES}")

    def work() -> RankedFixes:
        texts = [read_fix(Path(fix)) for fix in fixes]
        common: dict[str, Any] = {"issue": issue, "repo": repo, "python": python, **how}
        first = vet(fixes[0], behaviour=False, **common)
        rest = [vet(fix, behaviour=False, given=first, **common) for fix in fixes[1:]]
        results = [first, *rest]
        usable = [i for i, one in enumerate(results) if one.verdict != "does not apply"]
        with ScratchFolder() as scratch:
            calls = recorded_calls(Path(repo))
            bounds = how.get("bounds", Bounds())
            where = Checkout(Path(repo), path_of(python), how.get("runner"))
            spawn = in_checkout(where, read_issue(str(issue)))[1]
            if calls is None and len(usable) > 1:
                codes = "".join(texts[i] for i in usable)
                target = Path(scratch, "recorded.jsonl")
                with spawn() as workspace:
                    why = record_calls(codes, first.tests, workspace, bounds, target)
                calls = None if why else target
            pairs = []
            for i, j in combinations(usable, 2):
                found = changes_of(texts[i], Path(repo), path_of(python), texts[j], recorded=calls)
                pair = _pair(i, j, found)
                if not pair.differences and isinstance(found, Diffed):
                    two, functions = (texts[i], texts[j]), found.changes.functions
                    with spawn() as workspace:
                        observed, _ = observed_differences(
                            two, functions, first.tests, workspace, bounds
                        )
                    pair = replace(pair, observed=observed, alike=pair.alike and not observed)
                pairs.append(pair)
        agreeing = [
            sum(p.alike for p in pairs if i in (p.first, p.second)) for i in range(len(fixes))
        ]
        order = sorted(
            range(len(fixes)), key=lambda i: (_ORDER.index(results[i].verdict), -agreeing[i], i)
        )
        ranked = tuple(results[i] for i in order)
        return RankedFixes(ranked, tuple(order), tuple(map(str, fixes)), tuple(pairs))

    return apart(work)


def _pair(first: int, second: int, found: Diffed | str) -> Pair:
    if isinstance(found, str):
        return Pair(first, second, reason=found, alike=found.startswith("no difference"))
    shown = tuple(d for one in found.functions for d in one.comparison.differences)
    verdicts = {one.comparison.verdict for one in found.functions}
    alike = verdicts == {"no difference"}
    return Pair(first, second, shown, alike=alike and not shown)
