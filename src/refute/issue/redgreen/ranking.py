"""Which draft to believe: tests and fixes vouch for one another, and a judge for the failure.

A fix counts for as much as the tests that it turns green (CodeT's dual agreement, Chen et al. 2022,
here without its equality of whole sets), a test for as much as the fixes that turn it green. Wrong
tests and wrong fixes rarely agree; right ones do.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from refute.issue.drafting.original import TrialRun
from refute.issue.redgreen.edits_read import TestOpinion
from refute.issue.redgreen.pruning import defined_as
from refute.issue.redgreen.testbed import CandidateFix, Row
from refute.workspace.contract import TestResult

__all__ = [
    "KEPT",
    "Draft",
    "Ranked",
    "broken_by_all",
    "confidence",
    "fix_scores",
    "ranking",
    "stands_for",
    "telling_drafts",
    "telling_fixes",
    "without_shared",
]

KEPT = 0.6
"""Support from which a test is kept in the patch."""
_JUDGED: Mapping[bool | None, float] = {True: 1.0, None: 0.5, False: 0.15}
"""What a draft's word about a fix is worth, by the judge's verdict on the draft."""
NO_USE = 5


@dataclass(frozen=True, slots=True)
class Draft:
    """A test patch that was tried on the original code, and what came of it."""

    number: int
    route: str
    """`direct`, `characterise`, `seed`, `snippet`; `repair`, `dispute`, `broaden` of another."""
    trial: TrialRun
    problems: tuple[str, ...] = ()
    """What could not be used of the answer that it was read from."""
    parent: int | None = None
    accepted: bool | None = None
    """Whether the judge says that it fails for the issue's reason; None: not asked."""
    refused: frozenset[str] = frozenset()
    """Names of tests that the judge leaves out of what it accepts."""
    pinned: bool = False
    """The same tests with the assertions of the present behaviour were seen to pass."""
    rows: Mapping[int, Row] = field(default_factory=dict)
    """Fix -> how its tests stand with it."""

    @property
    def red(self) -> tuple[str, ...]:
        """Tests that fail on the original code in their own body and that nobody refuses."""
        asserted = dict.fromkeys(result.id for result in self.trial.asserted)
        return tuple(id for id in asserted if _name(id) not in self.refused)

    def judged(self, verdict: TestOpinion) -> Draft:
        """The draft with a judge's word. Where all that fails is refused, nothing is accepted."""
        one = replace(self, accepted=verdict.accepted is True, refused=verdict.refused)
        return one if one.red else replace(self, accepted=False)

    def green(self, fix: int) -> frozenset[str]:
        """Those of them that pass with a fix."""
        row = self.rows.get(fix, {})
        return frozenset(id for id in self.red if row.get(id) == "pass")

    def never_green(self) -> list[str]:
        """Those of them that fail with every fix on which they were tried."""
        green = frozenset[str]().union(*map(self.green, self.rows))
        return [id for id in self.red if id not in green]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A draft with what speaks for it. Sorts with the best first by `key`."""

    draft: Draft
    tier: int
    """0: judged right and turned green by fixes; 1: the same by fewer fixes; 2: judged right, no
    fix says anything; 3: not judged right, turned green; 4: fails only; 5: of no use."""
    support: float
    """Mean share of the fixes' score that turns its kept tests green, in [0, 1]."""
    kept: tuple[str, ...]
    """Tests that stay."""
    dropped: tuple[str, ...]
    """Tests that fail and no fix turns green, that a believed fix makes fail, or that the judge
    refuses."""

    @property
    def key(self) -> tuple[float, ...]:
        """Better is smaller; ties go to the earlier draft."""
        draft = self.draft
        return (
            self.tier,
            -round(self.support, 1),  # finer steps tell nothing: a fix more or less
            not draft.pinned and draft.route != "broaden",
            -len(self.kept),
            len(draft.trial.patch),
            draft.number,
        )


def broken_by_all(fixes: Sequence[CandidateFix]) -> tuple[TestResult, ...]:
    """Existing tests that no fix of at least two answers keeps green, as the first breaks them.

    Most likely they demand just what the issue calls wrong.
    """
    applied = [fix for fix in fixes if not fix.rejected]
    if sum(fix.drawn for fix in applied) < 2:
        return ()
    shared = set.intersection(*({result.id for result in fix.broken} for fix in applied))
    return tuple(result for result in applied[0].broken if result.id in shared)


def without_shared(
    fixes: Sequence[CandidateFix], drafts: Sequence[Draft] = ()
) -> list[CandidateFix]:
    """The fixes, with tests that demand what the issue calls wrong held against none of them.

    These are `broken_by_all`, and existing tests that half of the drafts that are judged right
    rewrite so that they fail now.
    """
    wrong = {result.id for result in broken_by_all(fixes)}
    accepted = [frozenset(draft.red) for draft in drafts if draft.accepted]
    for id in {result.id for fix in fixes for result in fix.broken}:
        if accepted and 2 * sum(id in red for red in accepted) >= len(accepted):
            wrong.add(id)
    return [
        replace(fix, broken=tuple(result for result in fix.broken if result.id not in wrong))
        for fix in fixes
    ]


def stands_for(broadened: Draft, parent: Draft) -> bool:
    """Whether the judge's word on a draft holds for what was made of it, which nobody judges.

    It has to show the parent's failures again: the same tests fail, or no fewer, and each fix that
    turns all of the parent's green turns all of them green.
    """
    if not parent.accepted:
        return False
    if {defined_as(id) for id in parent.red} <= {defined_as(id) for id in broadened.red}:
        return True
    fixes = [fix for fix in parent.rows if parent.green(fix) == frozenset(parent.red)]
    return (
        bool(fixes)
        and len(broadened.red) >= len(parent.red)
        and all(broadened.green(fix) == frozenset(broadened.red) for fix in fixes)
    )


def fix_scores(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> dict[int, float]:
    """Fix -> its weight times the tests that it turns green; each draft counts 1 at most."""
    scores = {}
    for fix in fixes:
        votes = (
            _JUDGED[draft.accepted] * len(draft.green(fix.number)) / len(draft.red)
            for draft in drafts
            if draft.red and draft.route != "broaden"  # made from the fixes: no witness for them
        )
        scores[fix.number] = fix.weight * sum(votes)
    return {number: score for number, score in scores.items() if score > 0}


def telling_fixes(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> list[CandidateFix]:
    """Two fixes at most that show what a resolution may be.

    Of those believed at least half as much as the best, the smallest, which does nothing that is
    not needed, and the one that differs most from it.
    """
    scores = fix_scores(drafts, fixes)
    least = max(scores.values(), default=0.0) / 2
    likely = [fix for fix in fixes if scores.get(fix.number, -1.0) >= least]
    if len(likely) < 2:
        return likely
    small = min(likely, key=lambda fix: (len(fix.patch), fix.number))
    likely.remove(small)
    return [small, max(likely, key=lambda fix: _difference(small.patch, fix.patch))]


def telling_drafts(order: Sequence[Ranked]) -> list[Draft]:
    """Beside the best of a ranking, two more at most that fixes support and that differ most."""
    best = order[0].draft
    others = [one.draft for one in order[1:] if one.tier <= 1]
    shown = [best]
    while others and len(shown) < 3:
        texts = [draft.trial.patch for draft in shown]
        far = max(others, key=lambda d: min(_difference(text, d.trial.patch) for text in texts))
        others.remove(far)
        shown.append(far)
    return shown[1:]


def _difference(one: str, other: str) -> float:
    """How much two patches differ in what they change, in [0, 1]; comments do not count."""
    return 1 - difflib.SequenceMatcher(None, _changed(one), _changed(other)).ratio()


def _changed(patch: str) -> list[str]:
    lines = (line.partition("#")[0].rstrip() for line in patch.splitlines())
    return [line for line in lines if line[:1] in ("+", "-") and line[1:].strip()]


def ranking(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> list[Ranked]:
    """The drafts, the best first. See `Ranked` for the order of falling back."""
    scores = fix_scores(drafts, fixes)
    return sorted((_ranked(draft, scores) for draft in drafts), key=lambda one: one.key)


def confidence(best: Ranked, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> float:
    """Estimated probability that the patch fails now and passes once the issue is fixed.

    With n answers that held a fix which turns any test green: (support x n + 1) / (n + 2), the rule
    of succession; half of that where the judge did not accept the failure, a tenth where, besides,
    no fix turns it green. Not fitted to any data.
    """
    if best.tier >= NO_USE:
        return 0.0
    scores = fix_scores(drafts, fixes)
    answers = sum(fix.drawn for fix in fixes if fix.number in scores)
    agreed = (best.support * answers + 1) / (answers + 2)
    return agreed * {3: 0.5, 4: 0.1}.get(best.tier, 1.0)


def _ranked(draft: Draft, scores: Mapping[int, float]) -> Ranked:
    supports = {id: _share(draft, id, scores) for id in draft.red}
    likely = [id for id, support in supports.items() if support >= KEPT]
    most = max(supports.values(), default=0.0)
    kept = likely or [id for id, support in supports.items() if support > 0 and support == most]
    unwanted = [r.id for r in draft.trial.asserted if r.id not in draft.red]
    unwanted += _harmed(draft, scores)
    if not supports:
        return Ranked(draft, NO_USE, 0.0, (), ())
    if not kept:
        tier = 2 if draft.accepted and not scores else 4
        return Ranked(draft, tier, 0.0, draft.red, tuple(unwanted))
    support = sum(supports[id] for id in kept) / len(kept)
    tier = 3 if not draft.accepted else 0 if likely else 1
    dropped = (*(id for id in draft.red if id not in kept), *unwanted)
    return Ranked(draft, tier, support, tuple(kept), dropped)


def _name(id: str) -> str:
    return defined_as(id).rpartition(".")[2]


def _share(draft: Draft, test: str, scores: Mapping[int, float]) -> float:
    """Share of the fixes' score that turns a test green."""
    total = sum(scores.values())
    return sum(s for fix, s in scores.items() if test in draft.green(fix)) / total if total else 0.0


def _harmed(draft: Draft, scores: Mapping[int, float]) -> list[str]:
    """Tests of the draft that pass now and that most of the fixes, by score, make fail."""
    total = sum(scores.values())
    asserted = {result.id for result in draft.trial.asserted}
    found = []
    ids = dict.fromkeys(id for row in draft.rows.values() for id in row)
    for id in ids:
        failing = sum(s for fix, s in scores.items() if draft.rows.get(fix, {}).get(id) == "fail")
        if id not in asserted and failing > (1 - KEPT) * total:
            found.append(id)
    return found
