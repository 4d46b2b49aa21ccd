"""AssertFlip, e-Otter++ and Echo: reproducers that put their drafts right by running them.

For comparison with redgreen, from the papers' descriptions, with prompts of our own. BM25 stands
for Agentless' localisation (AssertFlip) and for the code graph (Echo); of e-Otter++ two masks and
two rewritten issues stand for its heterogeneous prompts, and our own drafts for the patches of
other agents. Calls of the model at most, with the defaults (R repairs), and where all goes well:

| method | paper | at most | at least |
|---|---|---|---|
| `assertflip` | arXiv 2507.17542; 10 regenerations, 10 refinements (its replication package) | 10 x (1 + 10 to pass, 1 to invert, 1 judge) = 130 | 3 |
| `e-otter++` | arXiv 2508.06365; 10 rounds of repair, as for Java | 2 rewritten issues, 5 x (11 drafts, 11 judges), 5 patches in one request of 5 samples = 117 | 17 |
| `echo` | arXiv 2603.07326; one test | 3 queries, 1 request of 3 patches, 6 drafts = 12 | 3 |

What the papers publish (F→P of SWT-Bench Verified or TDD-Bench Verified): AssertFlip 43.6 %,
e-Otter++ 63.0 %, Echo 66.28 %, each with other models than yours.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from refute.core.combinators import succession
from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssuePrediction, IssueProblem
from refute.issue.contract import Reproduction
from refute.issue.original import (
    Original,
    TrialRun,
    described,
    fix_submission,
    scrubbed,
    submission,
)
from refute.models.contract import Message
from refute.prompts import render
from refute.workspace.patches import is_test_file
from refute.workspace.running import rejection
from refute_lab.baselines.edits import read_edits
from refute_lab.baselines.methods.zeroshot import (
    GREEDY,
    VARIED,
    PromptOptions,
    drafts,
    opinion,
    relevant,
    says_yes,
    shown,
)

Holds = Callable[[TrialRun], bool]


def passes(trial: TrialRun) -> bool:
    """Return whether a draft runs on the original code, and all of it passes."""
    report = trial.report
    if report is None or report.status != "finished" or trial.failing:
        return False
    return any(result.outcome == "passed" for result in report.results)


def fails(trial: TrialRun) -> bool:
    """Return whether a draft's own test fails on the original code."""
    return bool(trial.asserted)


@dataclass(slots=True)
class _Author:
    """Asks for drafts of one issue, and runs them on the original code."""

    problem: IssueProblem
    ctx: Context
    original: Original
    options: PromptOptions
    steps: list[dict[str, Any]] = field(default_factory=list)
    _asked: Counter[str] = field(default_factory=Counter)
    """Number of times that each prompt was put: again, it gets another answer."""

    async def ask(
        self,
        step: str,
        *,
        issue: str = "",
        query: str = "",
        hidden: Callable[[str], bool] = lambda path: False,
        last: TrialRun | None = None,
    ) -> str:
        """The answer to one prompt. `query`: by which files are found ("": by the issue); `hidden`:
        files that are not shown; `last`: the draft before."""
        sources = await asyncio.to_thread(self.original.sources)
        seen = {path: text for path, text in sources.items() if not hidden(path)}
        issue, tokens = issue or self.problem.text, self.options.context_tokens
        prompt = render(
            "reproducer",
            step=step,
            issue=issue,
            files=shown(relevant(query or issue, seen, tokens=tokens)),
            code_patch="",
            test_files=(),
            patch=last.patch if last else "",
            run=self._run(last) if last else "",
        )
        number = self._asked[prompt]
        self._asked[prompt] += 1
        sampling = VARIED if number else GREEDY
        [answer] = await self.ctx.model.ask(
            [Message("user", prompt)], first=max(0, number - 1), sampling=sampling
        )
        self.steps.append({"kind": step, "answer": answer.text})
        return answer.text

    async def draft(self, step: str, **given: Any) -> TrialRun:
        """A draft, run on the original code."""
        answer = await self.ask(step, **given)
        applied = read_edits(answer, "custom").apply(self.original.source)
        tests = submission(self.problem.id, applied.patch).patch
        trial = await asyncio.to_thread(self.original.attempt, tests)
        failing = [result.id for result in trial.failing]
        self.steps[-1] |= {"patch": tests, "rejected": trial.rejected, "failing": failing}
        return trial

    async def until(self, holds: Holds, step: str, repairs: int, **given: Any) -> TrialRun:
        """A draft, put right by its run until it `holds`, `repairs` times at most."""
        trial = await self.draft(step, **given)
        for _ in range(repairs):
            if holds(trial):
                break
            trial = await self.draft(step, **{**given, "last": trial})
        return trial

    async def accepts(self, trial: TrialRun) -> bool:
        """Return whether a judge says that the test fails for the issue's reason."""
        if not fails(trial):
            return False
        said = await opinion(self.problem.text, trial.patch, self._run(trial), self.ctx.model)
        self.steps.append({"kind": "judge", "answer": said})
        return says_yes(said)

    async def patches(self, count: int) -> list[str]:
        """Different fixes that apply, of `count` drafts."""
        answers = await drafts(
            self.problem, self.original, ctx=replace(self.ctx, task="repair"), form="custom",
            samples=count, options=self.options,
        )  # fmt: skip
        fixes = [fix_submission(self.problem.id, answer.patch).patch for answer in answers]
        self.steps.append({"kind": "patches", "patches": fixes})
        workspace = self.original.workspace
        return [
            fix
            for fix in dict.fromkeys(fixes)
            if fix and not await asyncio.to_thread(rejection, workspace, fix)
        ]

    async def on_fixes(self, trial: TrialRun, fixes: Sequence[str]) -> list[TrialRun]:
        """A failing draft, run after each of the fixes."""
        return [
            await asyncio.to_thread(self.original.attempt, trial.patch, fix=fix) for fix in fixes
        ]

    def result(
        self, trial: TrialRun | None, note: str = "", confidence: float | None = None
    ) -> Reproduction:
        """The prediction that a draft is; None: there is none."""
        notes = (note,) if note else ()
        if trial is None or not fails(trial):
            none = IssuePrediction(self.problem.id, "", notes=("no draft fails now", *notes))
            return Reproduction(none, tuple(self.steps))
        tests = tuple(result.id for result in trial.failing)
        found = IssuePrediction(self.problem.id, trial.patch, confidence, tests, notes)
        return Reproduction(found, tuple(self.steps))

    def _run(self, trial: TrialRun) -> str:
        return scrubbed(described(trial), str(self.original.workspace.root))


# -- AssertFlip ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertflipOptions(PromptOptions):
    """The method's options; its figures depend on them."""

    regenerations: int = parameter(10, "Tests that are begun anew.", at_least=1)
    repairs: int = parameter(10, "Times that a test is put right until it passes.", at_least=0)


@method("assertflip", summary="a passing test first, then its assertion inverted", asks_model=True)
async def assertflip(
    problem: IssueProblem, *, ctx: Context, options: AssertflipOptions
) -> Reproduction:
    """Plan and pass, invert, validate, and begin anew with what was seen."""
    with await asyncio.to_thread(ctx.workspace) as workspace:
        author = _Author(problem, ctx, Original(workspace, ctx.bounds), options)
        best: TrialRun | None = None
        last: TrialRun | None = None
        for _ in range(options.regenerations):
            trial = await author.until(passes, "pass", options.repairs, last=last)
            if passes(trial):
                trial = await author.draft("invert", last=trial)
                best = trial if fails(trial) else best
                if await author.accepts(trial):
                    return author.result(trial)
            last = trial
        return author.result(best, "no inverted test was judged to show the issue")


# -- e-Otter++ -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OtterOptions(PromptOptions):
    """The method's options; its figures depend on them."""

    repairs: int = parameter(10, "Times that each test is put right by its run.", at_least=0)
    patches: int = parameter(5, "Surrogate patches that choose among the tests.", at_least=1)


@method(
    "e-otter++",
    summary="tests of different prompts, put right by running, chosen by surrogate patches",
    asks_model=True,
)
async def otter(problem: IssueProblem, *, ctx: Context, options: OtterOptions) -> Reproduction:
    """The test that fails now and passes with most patches; then the judge, then the shortest."""
    with await asyncio.to_thread(ctx.workspace) as workspace:
        author = _Author(problem, ctx, Original(workspace, ctx.bounds), options)
        morphs = [await author.ask("morph") for _ in range(2)]
        prompts: list[dict[str, Any]] = [
            {},
            {"hidden": is_test_file},
            {"hidden": lambda path: not is_test_file(path)},
            *({"issue": morph} for morph in morphs),
        ]
        trials = {}
        for given in prompts:
            trial = await author.draft("fail", **given)
            accepted = await author.accepts(trial)
            for _ in range(options.repairs):
                if accepted:
                    break
                trial = await author.draft("fail", **given, last=trial)
                accepted = await author.accepts(trial)
            if fails(trial):
                trials[trial.patch] = trial, accepted
        fixes = await author.patches(options.patches) if trials else []
        ranks = []
        for trial, accepted in trials.values():
            turned = sum(map(passes, await author.on_fixes(trial, fixes)))
            ranks.append((-turned, not accepted, len(trial.patch), trial))
        if not ranks:
            return author.result(None)
        turned, _, _, best = min(ranks, key=lambda rank: rank[:3])
        share = succession(-turned, len(fixes)) if fixes else None
        return author.result(best, f"passes with {-turned} of {len(fixes)} patches", share)


# -- Echo ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoOptions(PromptOptions):
    """The method's options; its figures depend on them."""

    queries: int = parameter(3, "Times that the search for files may be refined.", at_least=0)
    patches: int = parameter(3, "Patches that the test is validated by.", at_least=1)
    repairs: int = parameter(5, "Times that the test is put right by its run.", at_least=0)


_QUERY = re.compile(r"^\W*QUERY:\s*(\S.*)$", re.MULTILINE)


@method("echo", summary="one test, files found by refined queries, validated by patches",
        asks_model=True)  # fmt: skip
async def echo(problem: IssueProblem, *, ctx: Context, options: EchoOptions) -> Reproduction:
    """One test, put right until it fails now and passes with a patch."""
    with await asyncio.to_thread(ctx.workspace) as workspace:
        author = _Author(problem, ctx, Original(workspace, ctx.bounds), options)
        query = problem.text
        for _ in range(options.queries):
            if (more := _QUERY.search(await author.ask("retrieve", query=query))) is None:
                break
            query += f"\n{more[1]}"
        fixes = await author.patches(options.patches)
        best: TrialRun | None = None
        last: TrialRun | None = None
        for _ in range(options.repairs + 1):
            last = trial = await author.draft("fail", query=query, last=last)
            if fails(trial):
                best = trial
                ran = await author.on_fixes(trial, fixes)
                if turned := sum(map(passes, ran)):
                    share = succession(turned, len(fixes))
                    note = f"passes with {turned} of {len(fixes)} patches"
                    return author.result(trial, note, share)
                last = next((one for one in ran if one.applied), trial)
        return author.result(best, "passes with no patch")
