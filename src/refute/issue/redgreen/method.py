"""redgreen: draft tests and fixes, let each try the other, keep what fails now and turns green.

In order: locate, draft, improve (twice at most), broaden, conclude. Each of the first four is one
round of questions that are put at once, so a batch model needs five rounds at most. Whatever runs
out (calls, seconds), the best that is known by then is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from refute.issue.bounded import Bounded, OutOfBounds
from refute.issue.context import CONTEXT_TOKENS
from refute.issue.contract import Bounds, Reproduction, Spawn
from refute.issue.redgreen.answers import read_patches, read_steps, read_verdict
from refute.issue.redgreen.asking import FREE, Question, ask_round
from refute.issue.redgreen.choose import NO_USE, Draft, Ranked, confidence, fix_scores, ranking
from refute.issue.redgreen.locate import View, locate_prompt, view_of
from refute.issue.redgreen.pruning import defined_as, without_tests
from refute.issue.redgreen.remembering import Remembering, memory_of
from refute.issue.redgreen.trying import Fix, TestBed
from refute.issue.states import test_files
from refute.models.contract import Asker, ModelUnavailable
from refute.problems import IssuePrediction, IssueProblem
from refute.prompts import render

__all__ = ["redgreen"]

DIRECT, CHARACTERISE, SEED, FIXES = 3, 2, 1, 2
"""Samples of each prompt; FIXES of the narrow and of the wide one."""
ROUNDS = 2
"""Of improving."""
ENOUGH = 2
"""Drafts that are judged right and turned green: then nothing is repaired any more."""
MOST_FIXES = 6
"""That the drafts are tried on, by what they broke."""
_FEWEST_TO_LOCATE = 6
"""Calls from which one is spent on choosing what to look at."""
_SNIPPET_SECONDS = 180.0
_MISSED_LINES = 40

Result = TypeVar("Result")


async def redgreen(
    problem: IssueProblem,
    spawn: Spawn,
    *,
    ask: Asker | None,
    bounds: Bounds,
    context_tokens: int = CONTEXT_TOKENS,
) -> Reproduction:
    """See the module's docstring and `Reproducer`. `context_tokens`: of code in each prompt."""
    if ask is None:
        raise ModelUnavailable("redgreen asks a model; add --model")
    asking = Bounded(ask, bounds)
    memory = memory_of(problem)

    def remembering() -> Remembering:
        return Remembering(spawn(), memory, lambda: asking.seconds_left)

    with await asyncio.to_thread(remembering) as workspace:
        bed = await asyncio.to_thread(TestBed, workspace, bounds)
        work = _Work(problem, bed, asking, bounds, context_tokens)
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
        return await asyncio.to_thread(work.conclude)


class _Work:
    """One issue being worked on: what is known so far, and the journal."""

    def __init__(
        self, problem: IssueProblem, bed: TestBed, ask: Bounded, bounds: Bounds, tokens: int
    ) -> None:
        self.problem = problem
        self.bed = bed
        self.ask = ask
        self.bounds = bounds
        self.tokens = tokens
        self.view = View((), (), ())
        self.drafts: list[Draft] = []
        self.fixes: list[Fix] = []
        self.steps: list[dict[str, Any]] = []
        self.disputed: set[int] = set()
        self.repaired: set[int] = set()

    def step(self, kind: str, **what: Any) -> None:
        """Write a line of the journal."""
        self.steps.append({"kind": kind, **what})

    # -- the stages --------------------------------------------------------------------------------

    async def seed(self, spawn: Callable[[], Remembering]) -> None:
        """The test that the issue's own example makes without a model, where there is one."""
        try:
            from refute.issue.snippet import snippet
        except ImportError:
            return
        seconds = min(_SNIPPET_SECONDS, self.bounds.seconds / 6)
        bounds = replace(self.bounds, seconds=seconds)
        found = await snippet(self.problem, spawn, ask=None, bounds=bounds)
        if found.prediction.patch:
            await self._blocking(lambda: self._try(found.prediction.patch, "snippet"))

    async def locate(self) -> None:
        """Choose what the prompts show."""
        issue, sources = self.problem.text, self.bed.sources
        answer = ""
        if self.ask.left >= _FEWEST_TO_LOCATE:
            prompt = await self._blocking(lambda: locate_prompt(issue, sources, self.tokens))
            ((answer, *_),) = [got or [""] for got in await ask_round(self.ask, [Question(prompt)])]
        seeds = [path for draft in self.drafts for path in test_files(draft.trial.patch)]
        first = seeds[0] if seeds else ""
        self.view = await self._blocking(
            lambda: view_of(issue, sources, answer, self.tokens, test_first=first)
        )
        self.step("locate", answer=answer, code=self.view.code, tests=self.view.tests)

    async def draft(self) -> None:
        """Tests by several routes, and fixes."""
        routes = self._routes()
        answers = await ask_round(self.ask, [question for _, question in routes])
        for (route, _), texts in zip(routes, answers, strict=True):
            for text in texts:
                await self._blocking(lambda t=text, r=route: self._read(t, r))  # type: ignore[misc]
        await self._blocking(self._cross)

    async def improve(self) -> bool:
        """Judge what fails, repair what does not show the issue, settle disputes with fixes.

        False: nothing was left to do.
        """
        good = [one for one in ranking(self.drafts, self._tried()) if one.tier == 0]
        asked: list[tuple[str, int, Question]] = []
        for draft in self.drafts:
            kind, prompt = self._doubt(draft, enough=len(good) >= ENOUGH)
            if prompt:
                asked.append((kind, draft.number, Question(prompt)))
        for fix in self.fixes:
            if (fix.rejected or fix.broken) and fix.number not in self.repaired:
                self.repaired.add(fix.number)
                prompt = self._prompt("fix_repair", patch=fix.patch, run=self.bed.told_fix(fix))
                asked.append(("fix", fix.number, Question(prompt)))
        await self._answered(asked)
        return bool(asked)

    async def broaden(self) -> None:
        """Judge the last repairs; make the best draft exercise all that the issue names."""
        asked = []
        for draft in self.drafts:
            if draft.red and draft.accepted is None:
                prompt = self._prompt(
                    "review", patch=draft.trial.patch, run=self.bed.told(draft.trial)
                )
                asked.append(("judge", draft.number, Question(prompt)))
        best = ranking(self.drafts, self._tried())[:1]
        if best and best[0].tier <= 2:
            prompt = await self._blocking(lambda: self._broadened(best[0]))
            asked.insert(0, ("broaden", best[0].draft.number, Question(prompt)))
        await self._answered(asked)

    def conclude(self) -> Reproduction:
        """The best draft without the tests that do not serve, run once more."""
        order = ranking(self.drafts, self._tried())
        best = order[0] if order else None
        for one in order:
            self.step(
                "ranked", draft=one.draft.number, route=one.draft.route, tier=one.tier,
                support=round(one.support, 3), kept=one.kept, dropped=one.dropped,
            )  # fmt: skip
        if best is None or best.tier >= NO_USE:
            reason = "no draft fails on the original code in its own body"
            prediction = IssuePrediction(self.problem.id, "", 0.0, notes=(reason,))
            return Reproduction(prediction, tuple(self.steps))
        final = best.draft
        with suppress(OutOfBounds):
            final = self._pruned(best)
        patch = final.trial.patch
        self.step("final", patch=patch, failing=list(final.red))
        prediction = IssuePrediction(
            self.problem.id,
            patch,
            confidence=round(confidence(best, self.drafts, self._tried()), 3),
            tests=tuple(id for id in final.red if id in best.kept) or final.red,
            notes=self._evidence(best, final),
        )
        return Reproduction(prediction, tuple(self.steps))

    # -- asking ------------------------------------------------------------------------------------

    def _prompt(self, name: str, **variables: Any) -> str:
        return render(
            f"redgreen_{name}", issue=self.problem.text, files=self.view.files, **variables
        )

    def _routes(self) -> list[tuple[str, Question]]:
        """The questions for drafts, cut so that about a third of the calls is left for the rest.

        What matters most comes first; a few calls still give a test and a fix.
        """
        order = ["direct", "fix", "characterise", "seed", "wide", "direct", "fix", "characterise",
                 "wide", "direct"]  # fmt: skip
        if not self.drafts:
            order.remove("seed")
        left = self.ask.left
        order = order[: max(1, left - left // 3)]
        prompts: dict[str, Callable[[], str]] = {
            "direct": lambda: self._prompt("direct"),
            "characterise": lambda: self._prompt("characterise"),
            "seed": lambda: self._prompt(
                "seed",
                patch=self.drafts[0].trial.patch,
                run=self.bed.told(self.drafts[0].trial),
            ),
            "fix": lambda: self._prompt("fix", wide=False),
            "wide": lambda: self._prompt("fix", wide=True),
        }
        return [
            (name, Question(make(), order.count(name), FREE))
            for name, make in prompts.items()
            if name in order
        ]

    def _doubt(self, draft: Draft, *, enough: bool) -> tuple[str, str]:
        """What is to be asked about a draft, as (kind, prompt); "" where nothing is."""
        if draft.red and draft.accepted is None:
            run = self.bed.told(draft.trial)
            return "judge", self._prompt("review", patch=draft.trial.patch, run=run)
        if enough or draft.number in self.disputed:
            return "", ""
        if not draft.red:
            self.disputed.add(draft.number)
            return "repair", self._prompt(
                "repair",
                patch=draft.trial.patch,
                problems=draft.problems,
                fault=_fault(draft),
                run=self.bed.told(draft.trial),
            )
        tried = self._tried()
        if not draft.accepted or not tried or any(draft.green(fix.number) for fix in tried):
            return "", ""
        self.disputed.add(draft.number)
        return "dispute", self._prompt(
            "dispute",
            patch=draft.trial.patch,
            run=self.bed.told(draft.trial),
            fix=tried[0].patch,
            fixed_run=self.bed.fixed_run(draft.trial, tried[0]),
        )

    def _broadened(self, best: Ranked) -> str:
        scores = fix_scores(self.drafts, self._tried())
        fixes = sorted(
            (fix for fix in self._tried() if fix.number in scores),
            key=lambda fix: (-scores[fix.number], fix.number),
        )[:2]
        others = [
            one.draft.trial.patch
            for one in ranking(self.drafts, self._tried())
            if one.tier <= 1 and one.draft is not best.draft
        ][:2]
        return self._prompt(
            "broaden",
            patch=best.draft.trial.patch,
            others=others,
            fixes=[fix.patch for fix in fixes],
            missed=self._missed(best.draft, fixes[0]) if fixes else [],
        )

    def _missed(self, draft: Draft, fix: Fix) -> list[str]:
        """Lines that a fix adds and the draft's tests do not execute, as `path:line: text`."""
        from refute.issue.patches import file_patches

        executed = self.bed.executed(draft.trial, fix)
        missed = []
        for part in file_patches(fix.patch):
            texts = [
                line[1:].strip()
                for line in part.text.splitlines()
                if line.startswith("+") and not line.startswith("+++ ")
            ]
            for number, text in zip(part.added, texts, strict=False):
                if text and not text.startswith("#") and (part.path, number) not in executed:
                    missed.append(f"{part.path}:{number}: {text}")
        return missed[:_MISSED_LINES] if executed else []

    # -- answers -----------------------------------------------------------------------------------

    async def _answered(self, asked: Sequence[tuple[str, int, Question]]) -> None:
        """Put the questions about drafts and fixes, and work in what comes."""
        answers = await ask_round(self.ask, [question for _, _, question in asked])
        for (kind, number, _), texts in zip(asked, answers, strict=True):
            for text in texts:
                await self._blocking(lambda k=kind, n=number, t=text: self._take(k, n, t))  # type: ignore[misc]
        await self._blocking(self._cross)

    def _take(self, kind: str, number: int, text: str) -> None:
        """Work in one answer about a draft or, of kind `fix`, about a fix."""
        if kind == "fix":
            self._read(text, "fix")
            return
        if kind == "judge":
            verdict = read_verdict(text)
            self.step("judged", draft=number, accepted=verdict, answer=text)
            self.drafts[number] = replace(self.drafts[number], accepted=verdict is True)
            if verdict is not False:
                return
        self._read(text, "broaden" if kind == "broaden" else "repair", number)

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
        if edited.code and (of_fix or (route == "repair" and parent in self.disputed)):
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
        if route == "broaden" and parent is not None:
            # Nobody judges it: it stands for its parent, whose failures it has to show again.
            named = {defined_as(id) for id in draft.red}
            same = {defined_as(id) for id in self.drafts[parent].red} <= named
            draft = replace(draft, accepted=self.drafts[parent].accepted if same else False)
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
        test_file = self.view.tests[0] if self.view.tests else ""
        fix = self.bed.try_fix(len(self.fixes), patch, test_file)
        self.fixes.append(fix)
        self.step(
            "fix", fix=fix.number, route=route, patch=patch, rejected=fix.rejected,
            broken=[result.id for result in fix.broken], near=fix.near,
        )  # fmt: skip

    # -- running -----------------------------------------------------------------------------------

    def _tried(self) -> list[Fix]:
        """The fixes that drafts are tried on, those that broke least first."""
        usable = sorted(
            (f for f in self.fixes if f.weight > 0), key=lambda f: (-f.weight, f.number)
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

    def _pruned(self, best: Ranked) -> Draft:
        """The draft without tests that do not serve; as it is where that loses a kept one.

        Tests that pass now stay where they execute lines of the best fix that no other test does.
        """
        draft = best.draft
        kept = {defined_as(id) for id in best.kept}
        added = self.bed.added(draft.trial)
        bad = [r for r in added if r.id in best.dropped and defined_as(r.id) not in kept]
        idle = [
            r for r in added
            if r.id not in draft.red and r.id not in best.dropped and defined_as(r.id) not in kept
        ]  # fmt: skip
        scores = fix_scores(self.drafts, self._tried())
        believed = max(self._tried(), key=lambda f: (scores.get(f.number, 0.0), -f.number),
                       default=None)  # fmt: skip
        without_bad = self._again(draft, bad, best.kept)
        if not idle:
            return without_bad
        bare = self._again(draft, [*bad, *idle], best.kept)
        if bare is draft or believed is None:
            return bare if bare is not draft else without_bad
        more = self.bed.executed(without_bad.trial, believed)
        return without_bad if more - self.bed.executed(bare.trial, believed) else bare

    def _again(self, draft: Draft, drop: Sequence[Any], kept: Sequence[str]) -> Draft:
        """The draft without some tests, run on the original code; itself where that fails less."""
        patch = without_tests(draft.trial.patch, drop, self.bed.original) if drop else ""
        if not patch.strip() or patch == draft.trial.patch:
            return draft
        trial = self.bed.try_tests(patch)
        again = replace(draft, trial=trial)
        return again if set(kept) <= set(again.red) else draft

    def _evidence(self, best: Ranked, final: Draft) -> tuple[str, ...]:
        """Remarks for people: why the prediction is what it is."""
        scores = fix_scores(self.drafts, self._tried())
        green = sum(bool(best.draft.green(number)) for number in scores)
        reason = "to fail for the issue's reason"
        judge = {True: f"judged {reason}", None: "not judged", False: f"judged not {reason}"}
        notes = [
            f"{len(final.red)} tests fail on the original code; {judge[best.draft.accepted]}",
            f"{green} of {len(self._tried())} candidate fixes turn them green",
        ]
        if best.draft.pinned:
            notes.append("the same tests pass when they assert the present behaviour")
        if best.dropped:
            notes.append(f"{len(best.dropped)} tests were dropped: no likely fix turns them green")
        return tuple(notes)

    async def _blocking(self, work: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(work)


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
