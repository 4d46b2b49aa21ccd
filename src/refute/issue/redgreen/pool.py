"""The drafts and fixes of one issue: each is tried as it comes, and each draft on each fix.

The doubts that they leave become the questions of the next round. In the end the prediction is
the best draft, without the tests that do not serve.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from refute.core.problems import IssuePrediction
from refute.errors import PatchRejected
from refute.issue.contract import OutOfBounds
from refute.issue.edits.definitions import EditedModule
from refute.issue.edits.tree import EditProblem
from refute.issue.original import Original
from refute.issue.redgreen.questions import PromptedQuestion, Questions, Route
from refute.issue.redgreen.ranking import (
    NO_USE,
    TRUST,
    Draft,
    Ranked,
    TestOpinion,
    agreed,
    behaviours,
    confidence,
    defined_as,
    fix_scores,
    ranking,
    without_shared,
)
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.source.syntax import first_line
from refute.workspace.contract import TestResult
from refute.workspace.patches import test_files
from refute.workspace.running import applied

MOST_FIXES = 6
"""That the drafts are tried on, by what they broke."""


class Pool:
    """Drafts and fixes tried so far. Every method blocks while tests run; see `TestBed`."""

    def __init__(self, bed: TestBed, step: Callable[..., None]) -> None:
        """`step`: writes a line of the journal."""
        self.bed = bed
        self.drafts: list[Draft] = []
        self.fixes: list[CandidateFix] = []
        self._step = step
        self._meanings: list[object] = []

    def add_tests(
        self, patch: str, route: str, parent: int | None = None, problems: tuple[str, ...] = ()
    ) -> None:
        """Try a draft, unless it is known."""
        if any(draft.trial.patch == patch for draft in self.drafts):
            return
        trial = self.bed.try_tests(patch)
        draft = Draft(len(self.drafts), route, trial, problems, parent)
        self.drafts.append(draft)
        self._step(
            "tried", draft=draft.number, route=route, parent=parent, patch=patch,
            rejected=trial.rejected, failing=[r.id for r in trial.failing],
        )  # fmt: skip

    def add_fix(self, patch: str, route: str, answer: int, first: tuple[str, ...]) -> None:
        """Try a fix, unless another spelling of it is known, which is then held by one more answer.
        `first`: existing test files to run it beside."""
        meaning = self.bed.meaning(patch)
        if meaning in self._meanings:
            known = self.fixes[self._meanings.index(meaning)]
            self.fixes[known.number] = replace(known, answers=known.answers | {answer})
            return
        fix = self.bed.try_fix(len(self.fixes), patch, first, answer)
        self._meanings.append(meaning)
        self.fixes.append(fix)
        self._step(
            "fix", fix=fix.number, route=route, patch=patch, rejected=fix.rejected,
            broken=[result.id for result in fix.broken], near=fix.near, answer_of=answer,
        )  # fmt: skip

    def judge(self, number: int, verdict: TestOpinion) -> None:
        """Note a judge's word on a draft."""
        self.drafts[number] = self.drafts[number].judged(verdict)

    def usable(self) -> list[CandidateFix]:
        """The fixes that drafts are tried on, those that broke least first."""
        usable = sorted(
            (fix for fix in without_shared(self.fixes, self.drafts) if fix.weight > 0),
            key=lambda fix: (-fix.weight, fix.number),
        )
        return usable[:MOST_FIXES]

    def behaviours(self) -> list[CandidateFix]:
        """One fix for each behaviour, those that can be used."""
        return behaviours(self.usable(), self.drafts)

    def cross(self) -> None:
        """Run each draft that fails on each fix, where that was not done."""
        for fix in self.usable():
            for draft in self.drafts:
                if not draft.red or fix.number in draft.rows:
                    continue
                row = self.bed.cross(draft.trial, fix)
                rows = {**draft.rows, fix.number: row}
                self.drafts[draft.number] = replace(draft, rows=rows)
                self._step("crossed", draft=draft.number, fix=fix.number, tests=dict(row))


JUDGED = 4
"""Drafts in one question to the judge, at most."""
_SHOWN_FIXES = 2
"""Behaviours of fixes that the judge is shown."""

Doubt = tuple[str, tuple[int, ...], PromptedQuestion]
"""Kind, the numbers of the drafts or of the fix that it is about (none: it is for a draft that
knows of no other), and the question."""


class Doubts:
    """Remembers what was asked about already."""

    def __init__(self, drawn: Mapping[Route, int]) -> None:
        """`drawn`: how many drafts were asked for by each route."""
        self._doubted: set[int] = set()
        self._repaired: set[int] = set()
        self._drawn = dict(drawn)

    def of(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """Return the questions to ask next; none where drafts and fixes agree."""
        order = ranking(pool.drafts, pool.behaviours())
        if agreed(order):
            return []
        red = [draft for draft in pool.drafts if _counts(draft)]
        if not red:
            return [*self._repairs(pool, questions), *self._anew(("direct",), questions)]
        if any(draft.ever_green for draft in red):
            return _judging(order, pool, questions)
        asked = self._fix_repairs(pool, questions) or self._disputes(order, pool, questions)
        asked = asked or _judging(order, pool, questions)
        return [*asked, *self._anew(("direct", "fix"), questions)]

    def _anew(self, routes: Sequence[Route], questions: Questions) -> Iterator[Doubt]:
        """One more draft each, by somebody who has seen none: what corrects a draft inherits what
        it misread, and two that agree without knowing one another are the evidence that is wanting.
        """
        for route in routes:
            if self._drawn.get(route):
                yield route, (), questions.anew(route, self._drawn[route])
                self._drawn[route] += 1

    def _repairs(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """The first drafts that show nothing, until one of them was asked about."""
        written = [draft for draft in pool.drafts if draft.number not in self._doubted]
        written.sort(key=lambda draft: (draft.route == "snippet", not draft.trial.applied))
        self._doubted.update(draft.number for draft in written[:1])
        return [("repair", (one.number,), questions.repair(one)) for one in written[:1]]

    def _fix_repairs(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """Yield the fix that breaks least, to be repaired where none can be used."""
        fixes = without_shared(pool.fixes, pool.drafts)
        if any(not fix.rejected and not fix.broken for fix in fixes):
            return []
        fixes = [fix for fix in fixes if fix.number not in self._repaired]
        fixes.sort(key=lambda fix: (bool(fix.rejected), len(fix.broken), fix.number))
        self._repaired.update(fix.number for fix in fixes[:1])
        return [("fix", (one.number,), questions.fix_repair(one)) for one in fixes[:1]]

    def _disputes(self, order: Sequence[Ranked], pool: Pool, questions: Questions) -> list[Doubt]:
        """The best draft and the best fix, where no draft and no fix agree."""
        tried = pool.usable()
        drafts = [one.draft for one in order if tried and _counts(one.draft)]
        drafts = [draft for draft in drafts if draft.number not in self._doubted][:1]
        self._doubted.update(draft.number for draft in drafts)
        return [("dispute", (one.number,), questions.dispute(one, tried[0])) for one in drafts]


def _judging(order: Sequence[Ranked], pool: Pool, questions: Questions) -> list[Doubt]:
    """The question about the drafts that fail, where one was not judged yet."""
    drafts = [one.draft for one in order if _counts(one.draft)]
    if all(draft.accepted is not None for draft in drafts):
        return []
    drafts = drafts[:JUDGED]
    fixes = [fix for fix in pool.behaviours() if not fix.rejected][:_SHOWN_FIXES]
    numbers = tuple(draft.number for draft in drafts)
    return [("judge", numbers, questions.judge(drafts, fixes))]


def _counts(draft: Draft) -> bool:
    """Return whether it fails, and was written for this repository."""
    return bool(draft.red) and draft.route != "snippet"


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
