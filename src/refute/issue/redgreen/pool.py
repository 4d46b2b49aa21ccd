"""The drafts and fixes of one issue: each is tried as it comes, and each draft on each fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from refute.issue.redgreen.edits_read import TestOpinion
from refute.issue.redgreen.ranking import Draft, behaviours, without_shared
from refute.issue.redgreen.testbed import CandidateFix, TestBed

MOST_FIXES = 6
"""That the drafts are tried on, by what they broke."""


class Pool:
    """What was tried so far. Everything here blocks while tests run; see `TestBed`."""

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
