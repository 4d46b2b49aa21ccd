"""The drafts and fixes of one issue: each is tried as it comes, and each draft on each fix.

The doubts that they leave become the questions of the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from refute.issue.redgreen.questions import PromptedQuestion, Questions, Route
from refute.issue.redgreen.ranking import (
    Draft,
    Ranked,
    TestOpinion,
    agreed,
    behaviours,
    ranking,
    without_shared,
)
from refute.issue.redgreen.testbed import CandidateFix, TestBed

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
