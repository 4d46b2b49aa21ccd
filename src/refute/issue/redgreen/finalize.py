"""Make the prediction of what was tried: the best draft, without the tests that do not serve."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from refute.core.problems import IssuePrediction
from refute.errors import PatchRejected
from refute.issue.drafting.bounded_asker import OutOfBounds
from refute.issue.drafting.original import Original
from refute.issue.edits.definitions import EditedModule
from refute.issue.edits.tree import EditProblem
from refute.issue.redgreen.ranking import (
    NO_USE,
    TRUST,
    Draft,
    Ranked,
    confidence,
    defined_as,
    fix_scores,
    ranking,
)
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.source.syntax import first_line
from refute.workspace.contract import TestResult
from refute.workspace.patches import test_files
from refute.workspace.running import applied


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
    with suppress(OutOfBounds):
        order = _most_telling_first(order, bed, fixes)
    best = order[0]
    final = best.draft
    with suppress(OutOfBounds):
        final = _pruned(best, bed, drafts, fixes)
    return IssuePrediction(
        problem,
        final.trial.patch,
        confidence=round(confidence(best, drafts, fixes), 3),
        tests=tuple(id for id in final.red if id in best.kept) or final.red,
        notes=_evidence(best, final, drafts, fixes),
    )


def _most_telling_first(
    order: Sequence[Ranked], bed: TestBed, fixes: Sequence[CandidateFix]
) -> list[Ranked]:
    """The ranking, in which drafts that are as much believed as the best are put in the order of
    the mutants that they kill, of the fix that is believed most: more tests may ask for less."""
    tied = [one for one in order if one.key[:TRUST] == order[0].key[:TRUST]]
    scores = fix_scores([one.draft for one in order], fixes)
    if order[0].tier or len(tied) < 2 or not scores:
        return list(order)
    first = max(fixes, key=lambda one: (scores.get(one.number, 0.0), -one.number))
    kills = dict.fromkeys((one.draft.number for one in tied), 0)
    for mutant in bed.mutants(first):
        for one in tied:
            row = bed.cross(one.draft.trial, mutant)
            kills[one.draft.number] += any(row.get(id) == "fail" for id in one.kept)
    tied.sort(key=lambda one: -kills[one.draft.number])
    return [*tied, *(one for one in order if one not in tied)]


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
    final: Draft,
    drafts: Sequence[Draft],
    fixes: Sequence[CandidateFix],
) -> tuple[str, ...]:
    """Remarks for people: why the prediction is what it is."""
    scores = fix_scores(drafts, fixes)
    green = sum(set(best.kept) <= best.draft.green(number) for number in scores)
    usable = sum(not fix.rejected for fix in fixes)
    reason = "to fail for the issue's reason"
    judge = {True: f"judged {reason}", None: "not judged", False: f"judged not {reason}"}
    notes = [
        f"fail on the original code: {len(final.red)}; {judge[best.draft.accepted]}",
        f"{green} of {usable} candidate fixes that behave differently turn them green",
    ]
    if best.dropped:
        notes.append(
            f"left out, as a likely fix does not turn them green or the judge refuses them: "
            f"{len(best.dropped)}"
        )
    return tuple(notes)


def without_tests(patch: str, drop: Sequence[TestResult], original: Original) -> str:
    """The patch without the tests `drop`: new ones are gone, changed ones are as they were.

    A test that cannot be taken out stays. The workspace is clean before and afterwards.
    """
    names: dict[str, set[str]] = {}
    for result in drop:
        names.setdefault(result.file, set()).add(defined_as(result.id))
    workspace = original.workspace
    before = {path: original.source(path) for path in test_files(patch)}
    try:
        with applied(workspace, patch):
            for path, old in before.items():
                text = original.source(path)
                if text is not None and names.get(path):
                    workspace.write(path, _text_without(text, old, names[path]).encode())
            return workspace.diff()
    except PatchRejected:
        return patch


def _text_without(text: str, old: str | None, names: Collection[str]) -> str:
    try:
        module = EditedModule(text)
        base = EditedModule(old) if old and old.strip() else None
    except EditProblem:
        return text
    for name in sorted(names):
        node = module.named(name, None)
        if node is None:
            continue
        was = None if base is None else base.named(name, None)
        try:
            if base is None or was is None:
                module.remove(node)
            else:
                module.replace(node, source_in(base, was), True)
        except EditProblem:
            continue  # it shares a line with another statement, or the file depends on it
    return module.text


def source_in(module: EditedModule, node: ast.stmt) -> str:
    """A statement with its decorators."""
    start = first_line(node)
    lines = module.lines[start - 1 : node.end_lineno]
    return "\n".join(line.rstrip("\r\n") for line in lines)
