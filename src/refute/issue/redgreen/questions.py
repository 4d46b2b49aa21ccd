"""The questions of redgreen: what is asked at each stage, about what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.issue.redgreen.locate import View
from refute.issue.redgreen.ranking import Draft
from refute.issue.redgreen.rounds import FREE, PromptedQuestion
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.issue.redgreen.uncovered import missed_statements
from refute.prompts import render
from refute.workspace.contract import TestResult

__all__ = ["ORDER", "Questions"]

ORDER = ("direct", "fix", "characterise", "seed", "wide", "direct", "fix", "characterise", "wide",
         "direct")  # fmt: skip
"""Drafts by their route, what matters most first: where calls are few, the last are left out."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks about one issue, with one view of the repository."""

    issue: str
    view: View
    bed: TestBed

    def drafts(self, samples: int, seed: Draft | None) -> list[tuple[str, PromptedQuestion]]:
        """Route and question for up to `samples` drafts; `seed`: a draft to make tests of."""
        routes = [route for route in ORDER if route != "seed" or seed is not None][:samples]
        prompts: dict[str, Callable[[], str]] = {
            "direct": lambda: self._prompt("direct"),
            "characterise": lambda: self._prompt("characterise"),
            "seed": lambda: self._about("seed", seed) if seed else "",
            "fix": lambda: self._prompt("fix", wide=False),
            "wide": lambda: self._prompt("fix", wide=True),
        }
        return [
            (route, PromptedQuestion(make(), routes.count(route), FREE))
            for route, make in prompts.items()
            if route in routes
        ]

    def review(self, drafts: Sequence[Draft]) -> PromptedQuestion:
        """Does each of them fail for the issue's reason? One question: the repository is long."""
        versions = [
            {
                "patch": draft.trial.patch,
                "run": self.bed.told(draft.trial),
                "fixes": len(draft.rows),
                "never": draft.never_green(),
            }
            for draft in drafts
        ]
        return PromptedQuestion(self._prompt("review", versions=versions))

    def repair(self, draft: Draft) -> PromptedQuestion:
        """Of a draft that does not fail in its own body."""
        return PromptedQuestion(
            self._about("repair", draft, problems=draft.problems, fault=_fault(draft))
        )

    def dispute(self, draft: Draft, fix: CandidateFix) -> PromptedQuestion:
        """Of a draft that is judged right and that no fix turns green: which one is wrong?"""
        fixed_run = self.bed.fixed_run(draft.trial, fix)
        return PromptedQuestion(self._about("dispute", draft, fix=fix.patch, fixed_run=fixed_run))

    def fix_repair(self, fix: CandidateFix) -> PromptedQuestion:
        """Of a fix that does not apply or breaks tests."""
        return PromptedQuestion(
            self._prompt("fix_repair", patch=fix.patch, run=self.bed.told_fix(fix))
        )

    def broaden(
        self,
        draft: Draft,
        others: Sequence[Draft],
        fixes: Sequence[CandidateFix],
        broken: Sequence[TestResult] = (),
    ) -> PromptedQuestion:
        """The final set of tests, from the best draft. `broken`: tests that each fix breaks."""
        return PromptedQuestion(
            self._prompt(
                "broaden",
                patch=draft.trial.patch,
                refused=sorted(draft.refused),
                others=[
                    {"patch": other.trial.patch, "refused": sorted(other.refused)}
                    for other in others
                ],
                fixes=[fix.patch for fix in fixes],
                broken=[self.bed.told_shortly(result) for result in broken],
                missed=missed_statements(self.bed, draft.trial, fixes[0]) if fixes else [],
            )
        )

    def _prompt(self, name: str, **variables: Any) -> str:
        return render(f"redgreen_{name}", issue=self.issue, files=self.view.files, **variables)

    def _about(self, name: str, draft: Draft, **variables: Any) -> str:
        """A prompt with a draft and its run on the original code."""
        run = self.bed.told(draft.trial)
        return self._prompt(name, patch=draft.trial.patch, run=run, **variables)


def _fault(draft: Draft) -> str:
    """In a few words why a draft shows nothing."""
    trial = draft.trial
    if not trial.applied:
        return f"they were not run ({trial.rejected})"
    if trial.failing:
        return "they fail before or after their own body: on import, in set-up or in tear-down"
    if trial.report is not None and trial.report.status != "finished":
        return f"the run did not end as it should ({trial.report.status})"
    return "none of them fails on the code as it is"
