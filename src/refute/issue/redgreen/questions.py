"""The questions of redgreen: what is asked at each stage, about what.

Who writes tests is not told what a fix does, nor the other way round; what they share is the issue
and the code, which open each prompt, so that a server's prefix cache serves it.

A round of questions is put all at once, cut to what the bounds allow, in a fixed order.
The answers are read here, too: edits of tests and of code, and verdicts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refute.errors import ContextTooLong
from refute.issue.contract import Bounded
from refute.issue.edits import read_edits
from refute.issue.edits.custom import read_blocks
from refute.issue.original import Original
from refute.issue.redgreen.locate import View
from refute.issue.redgreen.ranking import Draft, TestOpinion
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.models.contract import Message, Sampling
from refute.prompts import render
from refute.workspace.patches import split_fix, split_tests

FREE = Sampling(temperature=0.8, top_p=0.95, max_tokens=12_288)
"""For drafts, of which several shall differ."""
STRICT = Sampling(temperature=0.0, top_p=1.0, max_tokens=12_288)
"""For verdicts and corrections."""


@dataclass(frozen=True, slots=True)
class PromptedQuestion:
    """A prompt and how many answers are wanted."""

    prompt: str
    n: int = 1
    sampling: Sampling = STRICT
    first: int = 0
    """The number of the first answer: so many were had already."""
    of_tests: bool = False
    """Its answer writes tests: it is put to the model that does (`Context.writer`)."""


async def ask_round(
    ask: Bounded, questions: Sequence[PromptedQuestion], *, must_fit: bool = False
) -> list[list[str]]:
    """The answers to each question, in their order; fewer, or none, where calls run out.

    Which questions lose theirs is settled before any is put, from the last to the first, so that
    the same answers lead to the same questions. A question that does not fit into the model's
    context has no answer; `must_fit`: raises `ContextTooLong` where none of them fits. All are put
    before the first exception goes on, so that each of them is on file where answers come later
    (`AnswersPending`). Raises what `Asker.ask` raises besides.
    """
    left = ask.left
    numbers = []
    for question in questions:
        numbers.append(min(question.n, left))
        left -= numbers[-1]
    jobs = (_answers(ask, q, n) for q, n in zip(questions, numbers, strict=True))
    ended = await asyncio.gather(*jobs, return_exceptions=True)
    too_long = [one for one in ended if isinstance(one, ContextTooLong)]
    answers: list[list[str]] = []
    for one in ended:
        if isinstance(one, ContextTooLong):
            one = []
        elif isinstance(one, BaseException):
            raise one
        answers.append(one)
    if must_fit and too_long and not any(answers):
        raise too_long[0]
    return answers


async def _answers(ask: Bounded, question: PromptedQuestion, n: int) -> list[str]:
    if not n:
        return []
    messages = [Message("user", question.prompt)]
    found = await ask.ask(
        messages,
        n=n,
        first=question.first,
        sampling=question.sampling,
        of_tests=question.of_tests,
    )
    return [completion.text for completion in found]


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
        """Ask a judge which of them fail for the issue's reason. `fixes`: one for each
        behaviour."""
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


_VERDICT = re.compile(
    r"^[\W_]*VERDICT[\W_]*?(?:\b(\d{1,3})\b[\W_]*)?\b(yes|no)\b(?:[\W_]*(?:without|except)\b(.*))?",
    re.IGNORECASE | re.MULTILINE,
)
_TEST = re.compile(r"\btest\w*")
_READING = re.compile(r"^[^a-z0-9\n]*READING[^a-z0-9\n]*\d\b.*$", re.MULTILINE | re.IGNORECASE)
MOST_READINGS = 2
"""Of one answer that are tried: each costs a run of tests for each draft."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The edits of one answer as patches of the original code."""

    tests: str
    """Its change of test files: a unified diff, or ""."""
    code: str
    """Its change of other files, those of the test runner left out."""
    problems: tuple[str, ...] = ()
    """Parts that could not be used, a line each."""


def read_patches(answer: str, original: Original) -> Edited:
    """The edits of an answer in the custom form, those of tests apart from those of code."""
    applied = read_edits(answer).apply(original.source)
    tests, _ = split_tests(applied.patch)
    _, code = split_fix(applied.patch)  # a fix that sets up the runner proves nothing
    return Edited(tests, code, tuple(applied.problems))


def read_readings(answer: str) -> list[str]:
    """The changes of an answer that reads the issue in more than one way, the likelier first.

    An answer without the lines that divide them holds one. What is only said of a reading, without
    edits, is none.
    """
    code = {line for block in read_blocks(answer) for line in block.code.split("\n")}
    lines = [line for line in _READING.finditer(answer) if line[0] not in code]
    stops = [*(line.start() for line in lines[1:]), len(answer)]
    found = [answer[line.end() : stop] for line, stop in zip(lines, stops, strict=False)]
    edited = [part for part in found if read_blocks(part)]
    return (edited or found)[:MOST_READINGS] or [answer]


def read_verdicts(answer: str, n: int) -> tuple[TestOpinion, ...]:
    """A judge's verdict on each of n versions of the tests.

    The first on each counts, because what follows are tests, which may hold any text. One without
    a number is on all versions that have none of their own.
    """
    found: dict[int, TestOpinion] = {}
    for match in _VERDICT.finditer(answer):
        refused = frozenset(_TEST.findall(match[3] or ""))
        found.setdefault(int(match[1] or 0), TestOpinion(match[2].lower() == "yes", refused))
    return tuple(found.get(number, found.get(0, TestOpinion())) for number in range(1, n + 1))
