"""redgreen: drafts of tests and fixes, made apart, try each other; what fails now and turns green
stays.

In order: locate, draft, improve (twice at most), conclude. Each of the first three is one round of
questions that are put at once, so a batch model needs four rounds at most, and two where the first
drafts agree: a question is put only while its answer can change the outcome. Whatever runs out
(calls, seconds), the best that is known by then is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from refute.errors import ContextTooLong
from refute.issue.context.commits import NO_HISTORY, read_history
from refute.issue.contract import Reproduction
from refute.issue.drafting.bounded_asker import Bounded, OutOfBounds
from refute.issue.fixing.proving import proven_fix
from refute.issue.grading.states import test_files
from refute.issue.methods.zeroshot import LEAST_TOKENS
from refute.issue.patches import split_fix, touched_files
from refute.issue.redgreen.cached_workspace import Remembering, memory_of
from refute.issue.redgreen.drafted import drafted_fixes
from refute.issue.redgreen.edits_read import read_patches, read_readings, read_verdicts
from refute.issue.redgreen.finalize import conclude
from refute.issue.redgreen.locate import (
    Likely,
    View,
    likely_files,
    locate_prompt,
    told_places,
    view_of,
)
from refute.issue.redgreen.questions import Questions
from refute.issue.redgreen.ranking import (
    Draft,
    Ranked,
    agreed,
    behaviours,
    ranking,
    without_shared,
)
from refute.issue.redgreen.rounds import PromptedQuestion, ask_round
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.methods import Bounds, Context, Given, method
from refute.parameters import parameter
from refute.problems import IssueProblem
from refute.remarks import remark

__all__ = ["redgreen"]

ROUNDS = 2
"""Of improving."""
JUDGED = 4
"""Drafts in one question to the judge, at most."""
_SHOWN_FIXES = 2
"""Behaviours of fixes that the judge is shown."""
MOST_FIXES = 6
"""That the drafts are tried on, by what they broke."""
_FEWEST_TO_LOCATE = 4
"""Calls from which one is spent on choosing what to look at."""
_SNIPPET_SECONDS = 180.0
CONTEXT_TOKENS = 12_000

Result = TypeVar("Result")
_Asked = tuple[str, tuple[int, ...], PromptedQuestion]
"""Kind, the numbers of the drafts or of the fix that it is about, and the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedgreenOptions:
    """What the method's figures depend on."""

    context_tokens: int = parameter(
        CONTEXT_TOKENS, "Tokens of the repository in one prompt.", at_least=500
    )
    drafts: int = parameter(2, "Drafts of tests.", at_least=1)
    fix_drafts: int = parameter(2, "Answers with candidate fixes.", at_least=0)


@method(
    "redgreen",
    summary="drafts of tests and fixes that try each other, judged where they disagree",
    asks_model=True,
    takes_given=True,
    repairs=True,
)
async def redgreen(
    problem: IssueProblem, *, ctx: Context, options: RedgreenOptions
) -> Reproduction:
    """See the module's docstring.

    The test files of `ctx.given` are those to extend, and its patch is one more candidate fix,
    which the drafts try as they try the others; so nothing depends on whether it is right. Tests
    are asked of `ctx.writer`, everything else of `ctx.model`.
    """
    spawn, bounds = ctx.workspace, ctx.bounds
    asking = Bounded(ctx.model, bounds, ctx.writer)
    memory = memory_of(problem)

    def remembering() -> Remembering:
        return Remembering(spawn(), memory, lambda: asking.seconds_left)

    with await asyncio.to_thread(remembering) as workspace:
        bed = await asyncio.to_thread(TestBed, workspace, bounds)
        work = _Work(problem, bed, asking, bounds, options, ctx.given)
        try:
            await work.seed(remembering)
            await work.locate()
            await work.draft()
            for _ in range(ROUNDS):
                if not await work.improve():
                    break
        except OutOfBounds as error:
            work.step("bounds", said=str(error))
        found = await asyncio.to_thread(work.conclude)
    return await proven_fix(problem, found, ctx, asking) if ctx.task == "repair" else found


class _Work:
    """One issue being worked on: what is known so far, and the journal."""

    def __init__(
        self,
        problem: IssueProblem,
        bed: TestBed,
        ask: Bounded,
        bounds: Bounds,
        options: RedgreenOptions,
        given: Given,
    ) -> None:
        self.problem = problem
        self.bed = bed
        self.ask = ask
        self.bounds = bounds
        self.options = options
        self.tokens = options.context_tokens
        self.answers = 0
        self.tests = given.test_files
        _, self.proposal = split_fix(given.code_patch)
        self.history = NO_HISTORY
        self.likely = Likely((), ())
        self.view = View((), (), ())
        self.drafts: list[Draft] = []
        self.fixes: list[CandidateFix] = []
        self.steps: list[dict[str, Any]] = []
        self.meanings: list[object] = []
        self.doubted: set[int] = set()
        self.repaired: set[int] = set()

    def step(self, kind: str, **what: Any) -> None:
        """Write a line of the journal."""
        self.steps.append({"kind": kind, **what})

    def say(self, stage: str) -> None:
        """Tell whoever waits what is being done."""
        remark([f"{self.problem.id}: {stage}"])

    # -- the stages --------------------------------------------------------------------------------

    async def seed(self, spawn: Callable[[], Remembering]) -> None:
        """The test that the issue's own example makes without a model, where there is one."""
        from refute.issue.snippet import snippet

        seconds = min(_SNIPPET_SECONDS, self.bounds.seconds / 6)
        bounds = replace(self.bounds, seconds=seconds)
        ctx = Context(workspace=spawn, bounds=bounds)
        found = await snippet(self.problem, ctx=ctx)
        if found.prediction.patch:
            await self._blocking(lambda: self._try(found.prediction.patch, "snippet"))

    async def locate(self) -> None:
        """Choose what the prompts show."""
        issue, sources = self.problem.text, self.bed.sources
        self.history = await self._blocking(lambda: read_history(self.problem))
        seen = "\n".join(self.bed.told(draft.trial) for draft in self.drafts)
        self.likely = likely = await self._blocking(
            lambda: likely_files(issue, sources, self.history, seen)
        )
        answer = await self._blocking(lambda: told_places(issue, sources, seen))
        if not answer and self.ask.left >= _FEWEST_TO_LOCATE:
            prompt = await self._blocking(
                lambda: locate_prompt(issue, sources, likely, self.tokens)
            )
            self.say("asks which code to look at")
            ((answer, *_),) = [
                got or [""] for got in await ask_round(self.ask, [PromptedQuestion(prompt)])
            ]
        await self._look(answer)

    async def _look(self, answer: str) -> None:
        """Show what the answer chose, as far as there is room for it."""
        issue, sources = self.problem.text, self.bed.sources
        seeds = [path for draft in self.drafts for path in test_files(draft.trial.patch)]
        first = next(iter((*self.tests, *seeds)), "")
        places = [f"CODE: {path}" for path in touched_files(self.proposal)]
        places += [f"TEST: {path}" for path in self.tests]
        said = "\n".join((*places, answer))
        self.view = await self._blocking(
            lambda: view_of(
                *(issue, sources, self.likely, said, self.tokens),
                test_first=first,
                history=self.history,
            )
        )
        self.step(
            "locate", answer=answer, code=self.view.code, tests=self.view.tests, tokens=self.tokens,
            missing=self.view.missing,
        )  # fmt: skip

    async def draft(self) -> None:
        """Tests and fixes, each asked of somebody who knows nothing of the other."""
        if self.proposal.strip():
            await self._blocking(lambda: self._fix(self.proposal, "given"))
        options, left = self.options, self.ask.left
        samples = max(1, left - left // 3)  # about a third is left for the rest
        while True:
            routes = await self._blocking(
                lambda: self.questions.drafts(options.drafts, options.fix_drafts, samples)
            )
            self.say("asks for tests and fixes")
            try:
                asked = [question for _, question in routes]
                answers = await ask_round(self.ask, asked, must_fit=True)
                break
            except ContextTooLong:
                # the model's context is smaller than ours: show half as much, and ask again
                self.tokens //= 2
                if self.tokens < LEAST_TOKENS:
                    if not self.drafts:
                        raise
                    answers = [[] for _ in routes]
                    break
                located = next(s["answer"] for s in self.steps if s["kind"] == "locate")
                await self._look(located)
        self.say(f"runs what {sum(map(len, answers))} answers hold")
        for (route, _), texts in zip(routes, answers, strict=True):
            for text in texts:
                await self._blocking(lambda t=text, r=route: self._read(t, r))  # type: ignore[misc]
        await self._blocking(self._cross)

    async def improve(self) -> bool:
        """Ask about what is in doubt, while an answer can change the outcome.

        False: nothing was asked.
        """
        asked = await self._blocking(self._doubts)
        if asked:
            self.say(f"asks again: {', '.join(sorted({kind for kind, _, _ in asked}))}")
        await self._answered(asked)
        return bool(asked)

    def conclude(self) -> Reproduction:
        """The best draft without the tests that do not serve, run once more."""
        self.say("concludes")
        fixes = self._behaviours()
        for one in ranking(self.drafts, fixes):
            self.step(
                "ranked", draft=one.draft.number, route=one.draft.route, tier=one.tier,
                support=round(one.support, 3), kept=one.kept, dropped=one.dropped,
            )  # fmt: skip
        prediction = conclude(self.problem.id, self.bed, self.drafts, fixes)
        self.step("final", patch=prediction.patch, failing=list(prediction.tests))
        drafted = drafted_fixes(self.drafts, self.fixes)
        return Reproduction(prediction, tuple(self.steps), fixes=drafted)

    # -- asking ------------------------------------------------------------------------------------

    @property
    def questions(self) -> Questions:
        """How to ask, with what is shown by now."""
        return Questions(self.problem.text, self.view, self.bed)

    def _doubts(self) -> list[_Asked]:
        """What is to be asked; nothing where what there is agrees."""
        order = ranking(self.drafts, self._behaviours())
        if agreed(order):
            return []
        red = [draft for draft in self.drafts if draft.red and draft.route != "snippet"]
        if not red:
            return self._repairs()
        if any(draft.ever_green for draft in red):
            return self._judging(order)
        asked = self._fix_repairs()
        asked += [] if asked else self._disputes(order)
        return asked or self._judging(order)

    def _repairs(self) -> list[_Asked]:
        """The first drafts that show nothing, until one of them was asked about."""
        written = [draft for draft in self.drafts if draft.number not in self.doubted]
        written.sort(key=lambda draft: (draft.route == "snippet", not draft.trial.applied))
        self.doubted.update(draft.number for draft in written[:1])
        return [("repair", (one.number,), self.questions.repair(one)) for one in written[:1]]

    def _fix_repairs(self) -> list[_Asked]:
        """Where no fix can be used: the one that breaks least."""
        fixes = without_shared(self.fixes, self.drafts)
        if any(not fix.rejected and not fix.broken for fix in fixes):
            return []
        fixes = [fix for fix in fixes if fix.number not in self.repaired]
        fixes.sort(key=lambda fix: (bool(fix.rejected), len(fix.broken), fix.number))
        self.repaired.update(fix.number for fix in fixes[:1])
        return [("fix", (one.number,), self.questions.fix_repair(one)) for one in fixes[:1]]

    def _disputes(self, order: Sequence[Ranked]) -> list[_Asked]:
        """The best draft and the best fix, where no draft and no fix agree."""
        drafts = [one.draft for one in order if one.draft.red and one.draft.route != "snippet"]
        tried = self._tried()
        drafts = (
            [draft for draft in drafts if draft.number not in self.doubted][:1] if tried else []
        )
        self.doubted.update(draft.number for draft in drafts)
        return [("dispute", (one.number,), self.questions.dispute(one, tried[0])) for one in drafts]

    def _judging(self, order: Sequence[Ranked]) -> list[_Asked]:
        """The question about the drafts that fail, where one was not judged yet."""
        drafts = [one.draft for one in order if one.draft.red and one.draft.route != "snippet"]
        if all(draft.accepted is not None for draft in drafts):
            return []
        drafts = drafts[:JUDGED]
        fixes = [fix for fix in self._behaviours() if not fix.rejected][:_SHOWN_FIXES]
        numbers = tuple(draft.number for draft in drafts)
        return [("judge", numbers, self.questions.judge(drafts, fixes))]

    # -- answers -----------------------------------------------------------------------------------

    async def _answered(self, asked: Sequence[_Asked]) -> None:
        """Put the questions about drafts and fixes, and work in what comes."""
        answers = await ask_round(self.ask, [question for _, _, question in asked])
        for (kind, numbers, _), texts in zip(asked, answers, strict=True):
            for text in texts:
                await self._blocking(lambda k=kind, n=numbers, t=text: self._take(k, n, t))  # type: ignore[misc]
        await self._blocking(self._cross)

    def _take(self, kind: str, numbers: tuple[int, ...], text: str) -> None:
        """Work in one answer about drafts or, of kind `fix`, about a fix."""
        if kind != "judge":
            self._read(text, kind, None if kind == "fix" else numbers[0])
            return
        verdicts = read_verdicts(text, len(numbers))
        accepted = [verdict.accepted is True for verdict in verdicts]
        refused = [sorted(verdict.refused) for verdict in verdicts]
        self.step("judged", drafts=numbers, accepted=accepted, refused=refused, answer=text)
        for number, verdict in zip(numbers, verdicts, strict=True):
            self.drafts[number] = self.drafts[number].judged(verdict)

    def _read(self, text: str, route: str, parent: int | None = None) -> None:
        """Try what an answer holds."""
        self.answers += 1
        parts = read_readings(text) if route == "fix" else [text]
        edits = [read_patches(part, self.bed.original) for part in parts]
        problems = [problem for edited in edits for problem in edited.problems]
        self.step("answer", route=route, parent=parent, answer=text, problems=problems)
        for edited in edits:
            if edited.code and route in ("fix", "dispute"):
                self._fix(edited.code, route)
            if route != "fix":
                self._try(edited.tests, route, parent, edited.problems)

    def _try(
        self,
        patch: str,
        route: str,
        parent: int | None = None,
        problems: tuple[str, ...] = (),
    ) -> None:
        if any(draft.trial.patch == patch for draft in self.drafts):
            return
        trial = self.bed.try_tests(patch)
        draft = Draft(len(self.drafts), route, trial, problems, parent)
        self.drafts.append(draft)
        self.step(
            "tried", draft=draft.number, route=route, parent=parent, patch=patch,
            rejected=trial.rejected, failing=[r.id for r in trial.failing],
        )  # fmt: skip

    def _fix(self, patch: str, route: str) -> None:
        """Try a fix, unless another spelling of it was tried already."""
        meaning = self.bed.meaning(patch)
        if meaning in self.meanings:
            known = self.fixes[self.meanings.index(meaning)]
            answers = known.answers | {self.answers}
            self.fixes[known.number] = replace(known, answers=answers)
            return
        first = self.view.tests[:1]
        fix = self.bed.try_fix(len(self.fixes), patch, first, self.answers)
        self.meanings.append(meaning)
        self.fixes.append(fix)
        self.step(
            "fix", fix=fix.number, route=route, patch=patch, rejected=fix.rejected,
            broken=[result.id for result in fix.broken], near=fix.near, answer_of=self.answers,
        )  # fmt: skip

    # -- running -----------------------------------------------------------------------------------

    def _tried(self) -> list[CandidateFix]:
        """The fixes that drafts are tried on, those that broke least first."""
        usable = sorted(
            (fix for fix in without_shared(self.fixes, self.drafts) if fix.weight > 0),
            key=lambda fix: (-fix.weight, fix.number),
        )
        return usable[:MOST_FIXES]

    def _behaviours(self) -> list[CandidateFix]:
        """One fix for each behaviour, those that can be used."""
        return behaviours(self._tried(), self.drafts)

    def _cross(self) -> None:
        """Run each draft that fails on each fix, where that was not done."""
        for fix in self._tried():
            for draft in self.drafts:
                if not draft.red or fix.number in draft.rows:
                    continue
                row = self.bed.cross(draft.trial, fix)
                rows = {**draft.rows, fix.number: row}
                self.drafts[draft.number] = replace(draft, rows=rows)
                self.step("crossed", draft=draft.number, fix=fix.number, tests=dict(row))

    async def _blocking(self, work: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(work)
