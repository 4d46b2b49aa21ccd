"""redgreen: draft tests and fixes, let each try the other, keep what fails now and turns green.

In order: locate, draft, improve (twice at most), broaden, conclude. Each of the first four is one
round of questions that are put at once, so a batch model needs five rounds at most. Whatever runs
out (calls, seconds), the best that is known by then is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from refute.errors import ContextTooLong
from refute.issue.context.commits import NO_HISTORY, read_history
from refute.issue.context.ranking import CONTEXT_TOKENS
from refute.issue.contract import Reproduction
from refute.issue.drafting.bounded_asker import Bounded, OutOfBounds
from refute.issue.fixing.proving import proven_fix
from refute.issue.grading.states import test_files
from refute.issue.methods.zeroshot import LEAST_TOKENS
from refute.issue.patches import split_fix, touched_files
from refute.issue.redgreen.cached_workspace import Remembering, memory_of
from refute.issue.redgreen.drafted import drafted_fixes
from refute.issue.redgreen.edits_read import read_patches, read_steps, read_verdicts
from refute.issue.redgreen.finalize import conclude
from refute.issue.redgreen.locate import Likely, View, likely_files, locate_prompt, view_of
from refute.issue.redgreen.questions import Questions
from refute.issue.redgreen.ranking import (
    KEPT,
    Draft,
    Ranked,
    broken_by_all,
    ranking,
    stands_for,
    telling_drafts,
    telling_fixes,
    without_shared,
)
from refute.issue.redgreen.rounds import PromptedQuestion, ask_round
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.methods import Bounds, Context, Given, method
from refute.parameters import parameter
from refute.problems import IssueProblem

__all__ = ["redgreen"]

ROUNDS = 2
"""Of improving."""
ENOUGH = 2
"""Drafts that are judged right and turned green: then nothing is repaired any more."""
JUDGED = 6
"""Drafts in one question to the judge, at most."""
MOST_FIXES = 6
"""That the drafts are tried on, by what they broke."""
_FEWEST_TO_LOCATE = 6
"""Calls from which one is spent on choosing what to look at."""
_SNIPPET_SECONDS = 180.0

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedgreenOptions:
    """What the method's figures depend on."""

    context_tokens: int = parameter(
        CONTEXT_TOKENS, "Tokens of the repository in one prompt.", at_least=500
    )


@method(
    "redgreen",
    summary="drafts of tests and fixes that try each other, repaired and judged",
    asks_model=True,
    takes_given=True,
    repairs=True,
)
async def redgreen(
    problem: IssueProblem, *, ctx: Context, options: RedgreenOptions
) -> Reproduction:
    """See the module's docstring.

    The test files of `ctx.given` are those to extend, and its patch is one more candidate fix,
    which the drafts try as they try the others; so nothing depends on whether it is right.
    """
    spawn, bounds = ctx.workspace, ctx.bounds
    asking = Bounded(ctx.model, bounds)
    memory = memory_of(problem)

    def remembering() -> Remembering:
        return Remembering(spawn(), memory, lambda: asking.seconds_left)

    with await asyncio.to_thread(remembering) as workspace:
        bed = await asyncio.to_thread(TestBed, workspace, bounds)
        work = _Work(problem, bed, asking, bounds, options.context_tokens, ctx.given)
        try:
            await work.seed(remembering)
            await work.locate()
            await work.draft()
            for _ in range(ROUNDS):
                if not await work.improve():
                    break
            await work.broaden()
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
        tokens: int,
        given: Given,
    ) -> None:
        self.problem = problem
        self.bed = bed
        self.ask = ask
        self.bounds = bounds
        self.tokens = tokens
        self.tests = given.test_files
        _, self.proposal = split_fix(given.code_patch)
        self.history = NO_HISTORY
        self.likely = Likely((), ())
        self.view = View((), (), ())
        self.drafts: list[Draft] = []
        self.fixes: list[CandidateFix] = []
        self.steps: list[dict[str, Any]] = []
        self.doubted: set[int] = set()
        self.repaired: set[int] = set()

    def step(self, kind: str, **what: Any) -> None:
        """Write a line of the journal."""
        self.steps.append({"kind": kind, **what})

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
        answer = ""
        if self.ask.left >= _FEWEST_TO_LOCATE:
            prompt = await self._blocking(
                lambda: locate_prompt(issue, sources, likely, self.tokens)
            )
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
            "locate", answer=answer, code=self.view.code, tests=self.view.tests, tokens=self.tokens
        )

    async def draft(self) -> None:
        """Tests by several routes, and fixes."""
        if self.proposal.strip():
            await self._blocking(lambda: self._fix(self.proposal, "given"))
        seed = self.drafts[0] if self.drafts else None
        left = self.ask.left
        samples = max(1, left - left // 3)  # about a third is left for the rest
        while True:
            routes = await self._blocking(lambda: self.questions.drafts(samples, seed))
            try:
                asked = [question for _, question in routes]
                answers = await ask_round(self.ask, asked, must_fit=True)
                break
            except ContextTooLong:
                # the model's context is smaller than ours: show half as much, and ask again
                self.tokens //= 2
                if self.tokens < LEAST_TOKENS:
                    if seed is None:
                        raise
                    answers = [[] for _ in routes]
                    break
                located = next(s["answer"] for s in self.steps if s["kind"] == "locate")
                await self._look(located)
        for (route, _), texts in zip(routes, answers, strict=True):
            for text in texts:
                await self._blocking(lambda t=text, r=route: self._read(t, r))  # type: ignore[misc]
        await self._blocking(self._cross)

    async def improve(self) -> bool:
        """Judge what fails, repair what does not show the issue, settle disputes with fixes.

        False: nothing was left to do.
        """
        good = [one for one in ranking(self.drafts, self._tried()) if one.tier == 0]
        asked = [] if len(good) >= ENOUGH else await self._blocking(self._doubts)
        await self._answered(asked)
        return bool(asked)

    async def broaden(self) -> None:
        """Judge the last repairs; make the best draft exercise all that the issue names."""
        asked = await self._blocking(self._last_questions)
        await self._answered(asked)
        for draft in self.drafts:
            if draft.route == "broaden" and draft.parent is not None:
                parent = self.drafts[draft.parent]
                draft = replace(draft, refused=parent.refused)
                self.drafts[draft.number] = replace(draft, accepted=stands_for(draft, parent))

    def conclude(self) -> Reproduction:
        """The best draft without the tests that do not serve, run once more."""
        for one in ranking(self.drafts, self._tried()):
            self.step(
                "ranked", draft=one.draft.number, route=one.draft.route, tier=one.tier,
                support=round(one.support, 3), kept=one.kept, dropped=one.dropped,
            )  # fmt: skip
        prediction = conclude(self.problem.id, self.bed, self.drafts, self._tried())
        self.step("final", patch=prediction.patch, failing=list(prediction.tests))
        fixes = drafted_fixes(self.drafts, self.fixes)
        return Reproduction(prediction, tuple(self.steps), fixes=fixes)

    # -- asking ------------------------------------------------------------------------------------

    @property
    def questions(self) -> Questions:
        """How to ask, with what is shown by now."""
        return Questions(self.problem.text, self.view, self.bed)

    def _doubts(self) -> list[tuple[str, tuple[int, ...], PromptedQuestion]]:
        """Kind, numbers of the drafts or of the fix, and question, of all that is in doubt."""
        asked = self._judging()
        order = ranking(self.drafts, self._tried())
        if sum(one.tier in (0, 3) and one.support >= KEPT for one in order) >= ENOUGH:
            return asked  # what fixes turn green needs the judge's word, and nothing else any help
        for draft in self.drafts:
            doubt = self._doubt(draft)
            if doubt is not None:
                asked.append((doubt[0], (draft.number,), doubt[1]))
        for fix in without_shared(self.fixes, self.drafts):
            if (fix.rejected or fix.broken) and fix.number not in self.repaired:
                self.repaired.add(fix.number)
                asked.append(("fix", (fix.number,), self.questions.fix_repair(fix)))
        return asked

    def _judging(self) -> list[tuple[str, tuple[int, ...], PromptedQuestion]]:
        """The question about the best drafts that fail and were not judged; none where all were."""
        order = [one.draft for one in ranking(self.drafts, self._tried())]
        drafts = [draft for draft in order if draft.red and draft.accepted is None]
        # what the issue's text alone gave has seen nothing of the repository: written tests first
        drafts = sorted(drafts, key=lambda draft: draft.route == "snippet")[:JUDGED]
        numbers = tuple(draft.number for draft in drafts)
        return [("judge", numbers, self.questions.review(drafts))] if drafts else []

    def _last_questions(self) -> list[tuple[str, tuple[int, ...], PromptedQuestion]]:
        order = ranking(self.drafts, self._tried())
        good = [one for one in order if one.tier == 0]
        asked = [] if len(good) >= ENOUGH else self._judging()
        if order and order[0].tier <= 2:
            asked.insert(0, ("broaden", (order[0].draft.number,), self._broadening(order[0])))
        return asked

    def _doubt(self, draft: Draft) -> tuple[str, PromptedQuestion] | None:
        """What is to be asked about a draft alone, and of which kind; None: nothing."""
        if draft.number in self.doubted:
            return None
        if not draft.red:
            self.doubted.add(draft.number)
            return "repair", self.questions.repair(draft)
        tried = self._tried()
        if not draft.accepted or not tried or any(draft.green(fix.number) for fix in tried):
            return None
        self.doubted.add(draft.number)
        return "dispute", self.questions.dispute(draft, tried[0])

    def _broadening(self, best: Ranked) -> PromptedQuestion:
        order = ranking(self.drafts, self._tried())
        fixes = telling_fixes(self.drafts, self._tried())
        others = telling_drafts(order)
        return self.questions.broaden(best.draft, others, fixes, broken_by_all(self.fixes))

    # -- answers -----------------------------------------------------------------------------------

    async def _answered(
        self, asked: Sequence[tuple[str, tuple[int, ...], PromptedQuestion]]
    ) -> None:
        """Put the questions about drafts and fixes, and work in what comes."""
        answers = await ask_round(self.ask, [question for _, _, question in asked])
        for (kind, numbers, _), texts in zip(asked, answers, strict=True):
            for text in texts:
                await self._blocking(lambda k=kind, n=numbers, t=text: self._take(k, n, t))  # type: ignore[misc]
        await self._blocking(self._cross)

    def _take(self, kind: str, numbers: tuple[int, ...], text: str) -> None:
        """Work in one answer about drafts or, of kind `fix`, about a fix."""
        if kind == "fix":
            self._read(text, "fix")
            return
        if kind == "judge":
            verdicts = read_verdicts(text, len(numbers))
            accepted = [verdict.accepted is True for verdict in verdicts]
            refused = [sorted(verdict.refused) for verdict in verdicts]
            self.step("judged", drafts=numbers, accepted=accepted, refused=refused, answer=text)
            for number, verdict in zip(numbers, verdicts, strict=True):
                self.drafts[number] = self.drafts[number].judged(verdict)
            if any(accepted):
                return
        self._read(text, "repair" if kind in ("judge", "repair") else kind, numbers[0])

    def _read(self, text: str, route: str, parent: int | None = None) -> None:
        """Try what an answer holds."""
        pinned = False
        source = text
        if route == "characterise":
            present, source = read_steps(text)
            pinned = bool(present) and self._passes(present)
        edited = read_patches(source, self.bed.original)
        self.step("answer", route=route, parent=parent, answer=text, problems=list(edited.problems))
        of_fix = route in ("fix", "wide")
        if edited.code and (of_fix or route == "dispute"):
            self._fix(edited.code, route)
        if not of_fix:
            self._try(edited.tests, route, parent, edited.problems, pinned=pinned)

    def _passes(self, present: str) -> bool:
        """Whether tests that pin down the present behaviour pass on the original code."""
        trial = self.bed.try_tests(read_patches(present, self.bed.original).tests)
        added = self.bed.added(trial)
        return bool(added) and not trial.failing

    def _try(
        self,
        patch: str,
        route: str,
        parent: int | None = None,
        problems: tuple[str, ...] = (),
        *,
        pinned: bool = False,
    ) -> None:
        if any(draft.trial.patch == patch for draft in self.drafts):
            return
        trial = self.bed.try_tests(patch)
        draft = Draft(len(self.drafts), route, trial, problems, parent, pinned=pinned)
        self.drafts.append(draft)
        self.step(
            "tried", draft=draft.number, route=route, parent=parent, patch=patch,
            rejected=trial.rejected, failing=[r.id for r in trial.failing], pinned=pinned,
        )  # fmt: skip

    def _fix(self, patch: str, route: str) -> None:
        for known in self.fixes:
            if known.patch == patch:
                self.fixes[known.number] = replace(known, drawn=known.drawn + 1)
                return
        together = self.history.beside(touched_files(patch), frozenset(self.likely.tests))
        first = (*self.view.tests[:1], *together[:1])
        fix = self.bed.try_fix(len(self.fixes), patch, first)
        self.fixes.append(fix)
        self.step(
            "fix", fix=fix.number, route=route, patch=patch, rejected=fix.rejected,
            broken=[result.id for result in fix.broken], near=fix.near,
        )  # fmt: skip

    # -- running -----------------------------------------------------------------------------------

    def _tried(self) -> list[CandidateFix]:
        """The fixes that drafts are tried on, those that broke least first."""
        usable = sorted(
            (fix for fix in without_shared(self.fixes, self.drafts) if fix.weight > 0),
            key=lambda fix: (-fix.weight, fix.number),
        )
        return usable[:MOST_FIXES]

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
