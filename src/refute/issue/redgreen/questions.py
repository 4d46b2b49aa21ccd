"""The questions of redgreen: what is asked at each stage, about what.

Who writes tests is not told what a fix does, nor the other way round; what they share is the issue
and the code, which open each prompt, so that a server's prefix cache serves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refute.issue.redgreen.locate import View
from refute.issue.redgreen.ranking import Draft
from refute.issue.redgreen.rounds import FREE, PromptedQuestion
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.prompts import render

Route = Literal["direct", "fix"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks about one issue, with one view of the repository."""

    issue: str
    view: View
    bed: TestBed

    def drafts(self, tests: int, fixes: int, samples: int) -> list[tuple[Route, PromptedQuestion]]:
        """Route and question for tests and for fixes, `samples` answers together at most: where
        they are few, by turns, tests first."""
        wanted: dict[Route, int] = {"direct": 0, "fix": 0}
        most: dict[Route, int] = {"direct": tests, "fix": fixes}
        for number in range(max(tests, fixes)):
            for route in wanted:
                if number < most[route] and sum(wanted.values()) < samples:
                    wanted[route] += 1
        return [
            (route, PromptedQuestion(self._prompt(route), n, FREE, of_tests=route == "direct"))
            for route, n in wanted.items()
            if n
        ]

    def anew(self, route: Route, first: int) -> PromptedQuestion:
        """For one more draft by that route, where `first` were had already."""
        return PromptedQuestion(self._prompt(route), 1, FREE, first, of_tests=route == "direct")

    def judge(self, drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> PromptedQuestion:
        """Which of them fail for the issue's reason? `fixes`: one for each behaviour."""
        versions = [
            {"patch": draft.trial.patch, "stands": list(_stands(draft, fixes))} for draft in drafts
        ]
        run = self.bed.told_together([draft.trial for draft in drafts])
        patches = [fix.patch for fix in fixes]
        return PromptedQuestion(self._prompt("judge", versions=versions, fixes=patches, run=run))

    def repair(self, draft: Draft) -> PromptedQuestion:
        """Of a draft that does not fail in its own body."""
        fault, problems = _fault(draft), draft.problems
        return self._about("repair", draft, problems=problems, fault=fault)

    def dispute(self, draft: Draft, fix: CandidateFix) -> PromptedQuestion:
        """Of a draft that no fix turns green: which one is wrong?"""
        fixed_run = self.bed.fixed_run(draft.trial, fix)
        return self._about("dispute", draft, fix=fix.patch, fixed_run=fixed_run)

    def fix_repair(self, fix: CandidateFix) -> PromptedQuestion:
        """Of a fix that does not apply or breaks tests."""
        run = self.bed.told_fix(fix)
        return PromptedQuestion(self._prompt("fix_repair", patch=fix.patch, run=run))

    def _prompt(self, name: str, **variables: Any) -> str:
        view = self.view
        return render(
            f"redgreen_{name}",
            issue=self.issue,
            files=view.code_files,
            test_files=view.test_files,
            fixtures=view.fixtures,
            missing=view.missing,
            **variables,
        )

    def _about(self, name: str, draft: Draft, **variables: Any) -> PromptedQuestion:
        """A question about tests, with a draft of them and its run on the original code."""
        run = self.bed.told(draft.trial)
        prompt = self._prompt(name, patch=draft.trial.patch, run=run, **variables)
        return PromptedQuestion(prompt, of_tests=True)


def _stands(draft: Draft, fixes: Sequence[CandidateFix]) -> Iterator[str]:
    """With which of the fixes each of its tests passes, a line each."""
    for id in draft.red:
        green = [str(n) for n, fix in enumerate(fixes, 1) if id in draft.green(fix.number)]
        if fixes:
            among = f"change {', '.join(green)}" if green else "none of the changes"
            yield f"{id} fails now, and passes with {among}."


def _fault(draft: Draft) -> str:
    """In a few words why a draft shows nothing."""
    trial = draft.trial
    if not trial.applied:
        return f"they were not run ({trial.rejected})"
    if trial.wanting:
        return "they import a package that is not installed here"
    if trial.failing:
        return "they fail before or after their own body: on import, in set-up or in tear-down"
    if trial.report is not None and trial.report.status != "finished":
        return f"the run did not end as it should ({trial.report.status})"
    return "none of them fails on the code as it is"
