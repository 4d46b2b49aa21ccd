"""From what was tried to the prediction: the best draft, without the tests that do not serve."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from refute.core.problems import IssuePrediction
from refute.issue.drafting.bounded_asker import OutOfBounds
from refute.issue.redgreen.merging import merged
from refute.issue.redgreen.pruning import defined_as, without_tests
from refute.issue.redgreen.ranking import NO_USE, Draft, Ranked, confidence, fix_scores, ranking
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.workspace.contract import TestResult


def conclude(
    problem: str, bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> IssuePrediction:
    """The prediction for the problem of that id. Blocks while the final patch is run.

    `fixes`: one for each behaviour. Where no draft fails in its own body it abstains; where no time
    is left to merge and to prune, the draft stays as it was tried.
    """
    order = ranking(drafts, fixes)
    best = next(iter(order), None)
    if best is None or best.tier >= NO_USE:
        reason = "no draft fails on the original code in its own body"
        return IssuePrediction(problem, "", 0.0, notes=(reason,))
    chosen = best
    final = best.draft
    with suppress(OutOfBounds):
        chosen = _with_others(order, bed, drafts, fixes)
        final = _pruned(chosen, bed, drafts, fixes)
    return IssuePrediction(
        problem,
        final.trial.patch,
        confidence=round(confidence(best, drafts, fixes), 3),
        tests=tuple(id for id in final.red if id in chosen.kept) or final.red,
        notes=_evidence(best, chosen, final, drafts, fixes),
    )


def _with_others(
    order: Sequence[Ranked], bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> Ranked:
    """The best draft, with what others show besides where each fix says of it the same."""
    best = order[0]
    scores = fix_scores(drafts, fixes)
    if best.tier or not scores:
        return best
    first = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    more = merged(order, first, bed)
    if more is None:
        return best
    rows = {fix.number: bed.cross(more.trial, fix) for fix in fixes if fix.number in scores}
    one = next(
        one for one in ranking([*drafts, replace(more, rows=rows)], fixes) if one.draft.rows is rows
    )
    return one if one.tier == 0 and set(best.kept) <= set(one.kept) else best


def _pruned(
    best: Ranked, bed: TestBed, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]
) -> Draft:
    """The draft without tests that do not serve; as it is where that loses a kept one.

    Tests that pass now stay where they execute lines of the best fix that no other test does.
    """
    draft = best.draft
    kept = {defined_as(id) for id in best.kept}
    others = [result for result in bed.added(draft.trial) if defined_as(result.id) not in kept]
    bad = [result for result in others if result.id in best.dropped]
    idle = [r for r in others if r.id not in best.dropped and r.id not in draft.red]
    useful = _without(draft, bad, best, bed)
    if not idle:
        return useful
    bare = _without(draft, [*bad, *idle], best, bed)
    scores = fix_scores(drafts, fixes)
    if bare is draft or not scores:
        return useful if bare is draft else bare
    fix = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    more = bed.executed(useful.trial, fix) - bed.executed(bare.trial, fix)
    return useful if more else bare


def _without(draft: Draft, drop: Sequence[TestResult], best: Ranked, bed: TestBed) -> Draft:
    """The draft without some tests, run on the original code; itself where that fails less."""
    patch = without_tests(draft.trial.patch, drop, bed.original) if drop else ""
    if not patch.strip() or patch == draft.trial.patch:
        return draft
    again = replace(draft, trial=bed.try_tests(patch))
    return again if set(best.kept) <= set(again.red) else draft


def _evidence(
    best: Ranked,
    chosen: Ranked,
    final: Draft,
    drafts: Sequence[Draft],
    fixes: Sequence[CandidateFix],
) -> tuple[str, ...]:
    """Remarks for people: why the prediction is what it is."""
    scores = fix_scores(drafts, fixes)
    green = sum(set(chosen.kept) <= chosen.draft.green(number) for number in scores)
    usable = sum(not fix.rejected for fix in fixes)
    reason = "to fail for the issue's reason"
    judge = {True: f"judged {reason}", None: "not judged", False: f"judged not {reason}"}
    notes = [
        f"fail on the original code: {len(final.red)}; {judge[best.draft.accepted]}",
        f"{green} of {usable} candidate fixes that behave differently turn them green",
    ]
    if chosen is not best:
        notes.append("tests of other drafts, which show more, are taken over")
    if chosen.dropped:
        notes.append(
            f"left out, as a likely fix does not turn them green or the judge refuses them: "
            f"{len(chosen.dropped)}"
        )
    return tuple(notes)
