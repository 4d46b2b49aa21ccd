"""Rank drafts: tests and fixes vouch for one another, and a judge decides where they disagree.

A fix counts for as much as the tests that it turns green (CodeT's dual agreement, Chen et al. 2022,
here without its equality of whole sets), a test for as much as the fixes that turn it green. Wrong
tests and wrong fixes rarely agree; right ones do. Fixes that no draft's test tells apart are one
behaviour, which counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from refute.core.combinators import succession
from refute.issue.original import TrialRun
from refute.issue.redgreen.testbed import CandidateFix, Row
from refute.workspace.contract import TestResult
from refute.workspace.control import names_of

KEPT = 0.6
"""Support from which a test is kept in the patch."""
_JUDGED: Mapping[bool | None, float] = {True: 1.0, None: 0.5, False: 0.15}
"""Weight of a draft's word about a fix, by the judge's verdict on the draft."""
NO_USE = 5
TRUST = 4
"""So many parts of `Ranked.key` say how far a draft is believed; the others break ties."""
_WRITTEN = ("direct", "repair", "dispute")
"""Routes of drafts that the model wrote: witnesses for one another."""


@dataclass(frozen=True, slots=True)
class TestOpinion:
    """Judge's word on one version of the tests."""

    accepted: bool | None = None
    """None: nothing."""
    refused: frozenset[str] = frozenset()
    """Tests of an accepted version that do not belong in it, by their functions' names."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A test patch that was tried on the original code, and what came of it."""

    number: int
    route: str
    """`direct`, `snippet`; `repair`, `dispute` of another."""
    trial: TrialRun
    problems: tuple[str, ...] = ()
    """Parts of its answer that could not be used."""
    parent: int | None = None
    accepted: bool | None = None
    """Judge's word on whether it fails for the issue's reason; None: not asked."""
    refused: frozenset[str] = frozenset()
    """Names of tests that the judge leaves out of what it accepts."""
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

    @property
    def ever_green(self) -> bool:
        """True if one of them passes with one of the fixes."""
        return any(map(self.green, self.rows))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A draft with what speaks for it. Sorts with the best first by `key`."""

    draft: Draft
    tier: int
    """0: turned green by fixes; 1: the same by fewer fixes; 2: judged right, no fix says anything;
    3: judged wrong, turned green; 4: fails only; 5: of no use."""
    support: float
    """Mean share of the fixes' score that turns its kept tests green, in [0, 1]."""
    kept: tuple[str, ...]
    """Tests that stay: those that each believed fix turns green, where there are any."""
    dropped: tuple[str, ...]
    """Tests that fail with a believed fix, now or only then, or that the judge refuses."""

    @property
    def key(self) -> tuple[float, ...]:
        """Better is smaller; ties go to the earlier draft."""
        draft = self.draft
        return (
            self.tier,
            not draft.accepted,
            -round(self.support, 1),  # finer steps tell nothing: a fix more or less
            draft.route == "snippet",  # it has seen nothing of the repository
            -len(self.kept),
            draft.number,
        )


def broken_by_all(fixes: Sequence[CandidateFix]) -> tuple[TestResult, ...]:
    """Existing tests that no fix of at least two answers keeps green, as the first breaks them.

    Most likely they demand just what the issue calls wrong.
    """
    applied = [fix for fix in fixes if not fix.rejected]
    if len(frozenset[int]().union(*(fix.answers for fix in applied))) < 2:
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


def behaviours(fixes: Sequence[CandidateFix], drafts: Sequence[Draft]) -> list[CandidateFix]:
    """One fix for each behaviour: of those that no draft's test and no existing one tells apart,
    the first, as held by the answers of all of them."""
    found: dict[object, CandidateFix] = {}
    for fix in fixes:
        seen = [
            (draft.number, id, stand)
            for draft in drafts
            if draft.red
            for id, stand in sorted(draft.rows.get(fix.number, {}).items())
        ]
        broken = frozenset(result.id for result in fix.broken)
        key: object = (fix.rejected, broken, tuple(seen))
        if not seen:
            key = fix.number  # nothing is known of it
        known = found.get(key)
        found[key] = fix if known is None else replace(known, answers=known.answers | fix.answers)
    return list(found.values())


def agreed(order: Sequence[Ranked]) -> bool:
    """Return whether no further answer is likely to change the outcome.

    The best draft that was written has tests that fixes turn green, and each other one that fails
    has, too, unless it was judged
    or made anew.
    """
    written = [one for one in order if one.draft.route in _WRITTEN]
    if not written or written[0].tier != 0:
        return False
    settled = {one.draft.parent for one in written if one.tier == 0}
    open_to_doubt = [one for one in written if one.draft.number not in settled]
    open_to_doubt = [one for one in open_to_doubt if one.draft.red and one.draft.accepted is None]
    return all(one.tier == 0 for one in open_to_doubt)


def fix_scores(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> dict[int, float]:
    """Fix -> its weight times the tests that it turns green; each draft counts 1 at most."""
    scores = {}
    for fix in fixes:
        votes = (
            _JUDGED[draft.accepted] * len(draft.green(fix.number)) / len(draft.red)
            for draft in drafts
            if draft.red
        )
        scores[fix.number] = fix.weight * sum(votes)
    return {number: score for number, score in scores.items() if score > 0}


def ranking(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> list[Ranked]:
    """The drafts, the best first. See `Ranked` for the order of falling back."""
    scores = fix_scores(drafts, fixes)
    return sorted((_ranked(draft, scores) for draft in drafts), key=lambda one: one.key)


def confidence(best: Ranked, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> float:
    """Estimated probability that the patch fails now and passes once the issue is fixed.

    Witnesses are the behaviours of fixes that turn any test green, and the other written drafts
    that fail; of n fixes and m drafts: (support x n + drafts that fixes turn green + 1) /
    (n + m + 2), the rule of succession. Half of that where the judge did not accept the failure, a
    tenth where no fix turns it green. Not fitted to any data.
    """
    if best.tier >= NO_USE:
        return 0.0
    number = len(fix_scores(drafts, fixes))
    others = [one for one in ranking(drafts, fixes) if one.draft is not best.draft]
    others = [one for one in others if one.draft.red and one.draft.route in _WRITTEN]
    said = sum(one.tier <= 1 for one in others)
    shared = succession(best.support * number + said, number + len(others))
    return shared * {3: 0.5, 4: 0.1}.get(best.tier, 1.0)


def _ranked(draft: Draft, scores: Mapping[int, float]) -> Ranked:
    supports = {id: _share(draft, id, scores) for id in draft.red}
    believed = [fix for fix, score in scores.items() if score >= max(scores.values()) / 2]
    firm = [id for id in draft.red if believed and all(id in draft.green(f) for f in believed)]
    likely = firm or [id for id, support in supports.items() if support >= KEPT]
    most = max(supports.values(), default=0.0)
    kept = likely or [id for id, support in supports.items() if support > 0 and support == most]
    unwanted = [r.id for r in draft.trial.asserted if r.id not in draft.red]
    unwanted += _harmed(draft, scores)
    if not draft.red:
        return Ranked(draft, NO_USE, 0.0, (), tuple(unwanted))
    if not kept:
        tier = 2 if draft.accepted and not scores else 4
        return Ranked(draft, tier, 0.0, draft.red, tuple(unwanted))
    support = sum(supports[id] for id in kept) / len(kept)
    tier = 3 if draft.accepted is False else 0 if likely else 1
    dropped = (*(id for id in draft.red if id not in kept), *unwanted)
    return Ranked(draft, tier, support, tuple(kept), dropped)


def defined_as(id: str) -> str:
    """`Class.method` or `function` that a runner's id stands for, without parameters."""
    return ".".join(names_of(id)[-2:])


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
