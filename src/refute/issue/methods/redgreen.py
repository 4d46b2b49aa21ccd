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
from typing import Any

from refute.core.methods import Bounds, Context, Given, method
from refute.core.parameters import parameter
from refute.core.problems import IssueProblem
from refute.core.remarks import remark
from refute.errors import ContextTooLong
from refute.issue.context import LEAST_TOKENS, Likely, likely_files, shown_issue
from refute.issue.contract import Bounded, DraftedFix, OutOfBounds, Reproduction
from refute.issue.proving import proven_fix
from refute.issue.redgreen.locate import View, locate_prompt, view_of
from refute.issue.redgreen.pool import Doubt, Doubts, Pool, conclude
from refute.issue.redgreen.questions import (
    PromptedQuestion,
    Questions,
    ask_round,
    read_patches,
    read_readings,
    read_verdicts,
)
from refute.issue.redgreen.ranking import Draft, fix_scores, ranking, without_shared
from refute.issue.redgreen.testbed import CandidateFix, Remembering, TestBed, memory_of
from refute.workspace.patches import split_fix, test_files, touched_files

ROUNDS = 2
"""Of improving."""
_FEWEST_TO_LOCATE = 4
"""Calls from which one is spent on choosing what to look at."""
_SNIPPET_SECONDS = 180.0
CONTEXT_TOKENS = 12_000
_ISSUE_SHARE = 4
"""The issue's text may have one token to so many of the context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedgreenOptions:
    """Options that the method's figures depend on."""

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
    tells_writer=True,
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
        if ctx.task != "repair":
            return found
        proof = workspace.unhurried()
        return await proven_fix(problem, found, asking, proof, bounds, issue=work.issue)


@dataclass
class _Work:
    """One issue being worked on: what is known so far, and the journal."""

    problem: IssueProblem
    bed: TestBed
    ask: Bounded
    bounds: Bounds
    options: RedgreenOptions
    given: Given

    def __post_init__(self) -> None:
        self.tokens = self.options.context_tokens
        self.issue = shown_issue(self.problem.text, self.tokens // _ISSUE_SHARE)
        self.answers = 0
        self.tests = self.given.test_files
        _, self.proposal = split_fix(self.given.code_patch)
        self.likely = Likely((), ())
        self.seen = ""
        self.view = View((), (), ())
        self.steps: list[dict[str, Any]] = []
        self.pool = Pool(self.bed, self.step)
        self.doubts = Doubts({})

    def step(self, kind: str, **what: Any) -> None:
        """Write a line of the journal."""
        self.steps.append({"kind": kind, **what})

    def say(self, stage: str) -> None:
        """Tell whoever waits what is being done."""
        remark([f"{self.problem.id}: {stage}"])

    # -- the stages --------------------------------------------------------------------------------

    async def seed(self, spawn: Callable[[], Remembering]) -> None:
        """The test that the issue's own example makes without a model, where there is one."""
        from refute.issue.methods.snippet import snippet

        seconds = min(_SNIPPET_SECONDS, self.bounds.seconds / 6)
        bounds = replace(self.bounds, seconds=seconds)
        ctx = Context(workspace=spawn, bounds=bounds)
        found = await snippet(self.problem, ctx=ctx)
        if found.prediction.patch:
            patch = found.prediction.patch
            await asyncio.to_thread(self.pool.add_tests, patch, "snippet")

    async def locate(self) -> None:
        """Choose what the prompts show."""
        issue, sources = self.problem.text, self.bed.sources
        self.seen = seen = "\n".join(self.bed.told(draft.trial) for draft in self.pool.drafts)
        self.likely = likely = await asyncio.to_thread(likely_files, issue, sources, seen)
        answer = ""
        if self.ask.left >= _FEWEST_TO_LOCATE:
            asked = self.issue, sources, likely, self.tokens
            prompt = await asyncio.to_thread(locate_prompt, *asked)
            self.say("asks which code to look at")
            (got,) = await ask_round(self.ask, [PromptedQuestion(prompt)])
            answer = got[0] if got else ""
        await self._look(answer)

    async def _look(self, answer: str) -> None:
        """Show what the answer chose, as far as there is room for it."""
        issue, sources = self.problem.text, self.bed.sources
        seeds = [path for draft in self.pool.drafts for path in test_files(draft.trial.patch)]
        first = next(iter((*self.tests, *seeds)), "")
        places = [f"CODE: {path}" for path in touched_files(self.proposal)]
        places += [f"TEST: {path}" for path in self.tests]
        said = "\n".join((*places, answer))
        self.view = await asyncio.to_thread(
            view_of, issue, sources, self.likely, said, self.tokens, test_first=first,
            seen=self.seen,
        )  # fmt: skip
        self.step(
            "locate", answer=answer, code=self.view.code, tests=self.view.tests, tokens=self.tokens,
            missing=self.view.missing,
        )  # fmt: skip

    async def draft(self) -> None:
        """Tests and fixes, each asked of somebody who knows nothing of the other."""
        if self.proposal.strip():
            await asyncio.to_thread(self._add_fix, self.proposal, "given")
        options, left = self.options, self.ask.left
        samples = max(1, left - left // 3)  # about a third is left for the rest
        while True:
            drafts = self.questions.drafts
            routes = await asyncio.to_thread(drafts, options.drafts, options.fix_drafts, samples)
            self.say("asks for tests and fixes")
            try:
                asked = [question for _, question in routes]
                answers = await ask_round(self.ask, asked, must_fit=True)
                break
            except ContextTooLong:
                # the model's context is smaller than ours: show half as much, and ask again
                self.tokens //= 2
                if self.tokens < LEAST_TOKENS:
                    if not self.pool.drafts:
                        raise
                    answers = [[] for _ in routes]
                    break
                located = next(s["answer"] for s in self.steps if s["kind"] == "locate")
                await self._look(located)
        self.doubts = Doubts({route: question.n for route, question in routes})
        self.say(f"runs what {sum(map(len, answers))} answers hold")
        for (route, _), texts in zip(routes, answers, strict=True):
            for text in texts:
                await asyncio.to_thread(self._read, text, route)
        await asyncio.to_thread(self.pool.cross)

    async def improve(self) -> bool:
        """Ask about what is in doubt, while an answer can change the outcome.

        False: nothing was asked.
        """
        asked = await asyncio.to_thread(self.doubts.of, self.pool, self.questions)
        if asked:
            self.say(f"asks again: {', '.join(sorted({kind for kind, _, _ in asked}))}")
        await self._answered(asked)
        return bool(asked)

    def conclude(self) -> Reproduction:
        """The best draft without the tests that do not serve, run once more."""
        self.say("concludes")
        drafts, fixes = self.pool.drafts, self.pool.behaviours()
        for one in ranking(drafts, fixes):
            self.step(
                "ranked", draft=one.draft.number, route=one.draft.route, tier=one.tier,
                support=round(one.support, 3), kept=one.kept, dropped=one.dropped,
            )  # fmt: skip
        prediction = conclude(self.problem.id, self.bed, drafts, fixes)
        self.step("final", patch=prediction.patch, failing=list(prediction.tests))
        drafted = drafted_fixes(drafts, self.pool.fixes)
        return Reproduction(prediction, tuple(self.steps), fixes=drafted)

    # -- asking ------------------------------------------------------------------------------------

    @property
    def questions(self) -> Questions:
        """Return the questions, with what has been shown so far."""
        return Questions(self.issue, self.view, self.bed)

    # -- answers -----------------------------------------------------------------------------------

    async def _answered(self, asked: Sequence[Doubt]) -> None:
        """Put the questions about drafts and fixes, and work in what comes."""
        answers = await ask_round(self.ask, [question for _, _, question in asked])
        for (kind, numbers, _), texts in zip(asked, answers, strict=True):
            for text in texts:
                await asyncio.to_thread(self._take, kind, numbers, text)
        await asyncio.to_thread(self.pool.cross)

    def _take(self, kind: str, numbers: tuple[int, ...], text: str) -> None:
        """Work in one answer about drafts or, of kind `fix`, about a fix."""
        if kind != "judge":
            self._read(text, kind, None if kind == "fix" else next(iter(numbers), None))
            return
        verdicts = read_verdicts(text, len(numbers))
        accepted = [verdict.accepted is True for verdict in verdicts]
        refused = [sorted(verdict.refused) for verdict in verdicts]
        self.step("judged", drafts=numbers, accepted=accepted, refused=refused, answer=text)
        for number, verdict in zip(numbers, verdicts, strict=True):
            self.pool.judge(number, verdict)

    def _read(self, text: str, route: str, parent: int | None = None) -> None:
        """Try what an answer holds."""
        self.answers += 1
        parts = read_readings(text) if route == "fix" else [text]
        edits = [read_patches(part, self.bed.original) for part in parts]
        problems = [problem for edited in edits for problem in edited.problems]
        self.step("answer", route=route, parent=parent, answer=text, problems=problems)
        for edited in edits:
            if edited.code and route in ("fix", "dispute"):
                self._add_fix(edited.code, route)
            if route != "fix":
                self.pool.add_tests(edited.tests, route, parent, edited.problems)

    def _add_fix(self, patch: str, route: str) -> None:
        self.pool.add_fix(patch, route, self.answers, self.view.tests[:1])


# -- the fixes that redgreen drafted, with the drafts of tests that speak for them -----------------
# Drafts speak that the judge accepts, and such as it was not asked about and a fix turns green;
# none that it refuses.


def drafted_fixes(drafts: Sequence[Draft], fixes: Sequence[CandidateFix]) -> tuple[DraftedFix, ...]:
    """The fixes that apply, the best first: by what redgreen believes, then by answers."""
    scores = fix_scores(drafts, fixes)
    witnesses = [draft for draft in drafts if _is_witness(draft)]
    found = []
    for fix in without_shared(fixes, drafts):
        if fix.rejected:
            continue
        green, red = set[str](), set[str]()
        for draft in witnesses:
            if fix.number not in draft.rows:
                continue
            passing = draft.green(fix.number)
            green |= {f"{draft.number} {id}" for id in passing}
            red |= {f"{draft.number} {id}" for id in draft.red if id not in passing}
        found.append(
            DraftedFix(
                fix.patch,
                fix.drawn,
                scores.get(fix.number, 0.0),
                tuple(result.id for result in fix.broken),
                fix.near,
                frozenset(green),
                frozenset(red),
            )
        )
    order = sorted(found, key=lambda one: (-one.score, len(one.broken), -one.answers))
    return tuple(order)


def _is_witness(draft: Draft) -> bool:
    if draft.accepted is False or not draft.red:
        return False
    return bool(draft.accepted) or any(draft.green(fix) for fix in draft.rows)
