"""LIBRO (Kang et al. 2023) as SWT-Bench runs it (sections 4.1 and 5.1, App. A).

k drafts are sampled and each is run on the original code only. A model judges, draft by draft,
whether its failure is the one that the issue describes; those that are form the preferred
cluster, and the shortest patch of it is chosen. Where the judge accepts none, the shortest draft
that fails at all is taken, then the shortest that applies: the paper's LIBRO always answers.
Neither the golden patch nor a golden test is seen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refute.core.combinators import succession
from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssuePrediction, IssueProblem
from refute.errors import ContextTooLong
from refute.issue.contract import Reproduction
from refute.issue.drafting.original import Original, TrialRun, described, shortened
from refute.issue.drafting.steady import scrubbed
from refute.models.contract import Asker, Message, Sampling, together
from refute.prompts import render
from refute_lab.baselines.methods.zeroshot import PromptOptions, drafts

JUDGE = Sampling(temperature=0.0, top_p=1.0, max_tokens=512)
_SHORT = 1500
"""Characters of a draft, and of its run, where the judge's question would be too long."""
_ANSWER = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgedDraft:
    """A draft that was run, and what the judge said of its failure (None: not asked)."""

    trial: TrialRun
    accepted: bool | None = None

    @property
    def rank(self) -> int:
        """0: the preferred cluster, 1: fails on the original code, 2: applies, 3: does not."""
        if not self.trial.applied:
            return 3
        return (0 if self.accepted else 1) if self.trial.failing else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LibroOptions(PromptOptions):
    """What the method's figures depend on."""

    samples: int = parameter(5, "Drafts.", at_least=1)


@method(
    "libro",
    summary="drafts, run on the original code, chosen by a judge",
    asks_model=True,
    takes_given=True,
)
async def libro(problem: IssueProblem, *, ctx: Context, options: LibroOptions) -> Reproduction:
    """See the module's docstring.

    Raises `ContextTooLong` where the issue and a little of the repository, or of a draft, are too
    much for the model.
    """
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        answers = await drafts(
            problem,
            original,
            ctx=ctx,
            form="custom",
            samples=options.samples,
            options=options,
        )
        # samples repeat each other: what a patch does on the original code is found out once
        ran: dict[str, TrialRun] = {}
        for patch in dict.fromkeys(draft.patch for draft in answers):
            ran[patch] = await asyncio.to_thread(original.attempt, patch)
        trials = [ran[draft.patch] for draft in answers]
        root = str(workspace.root)
    judged = await together(_judged(problem.text, trial, root, ctx.model) for trial in trials)
    best = chosen(judged)
    steps = [_step(draft.answer, one) for draft, one in zip(answers, judged, strict=True)]
    if best is None:
        prediction = IssuePrediction(problem.id, "", notes=("no draft could be applied",))
    else:
        prediction = IssuePrediction(
            problem.id,
            best.trial.patch,
            confidence=_confidence(judged),
            tests=tuple(result.id for result in best.trial.failing),
        )
    return Reproduction(prediction, tuple(steps))


def chosen(judged: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """The shortest of the best-ranked drafts; None where none applies. Ties: the earlier one."""
    usable = [one for one in judged if one.rank < 3]
    return min(usable, key=lambda one: (one.rank, len(one.trial.patch)), default=None)


def _confidence(judged: Sequence[JudgedDraft]) -> float:
    """How many drafts are accepted, by the rule of succession."""
    accepted = sum(one.rank == 0 for one in judged)
    return succession(accepted, len(judged)) if accepted else 0.0


def says_yes(answer: str) -> bool:
    """Whether a judge's answer is yes: its last "yes" or "no" counts; without any it is no."""
    words = _ANSWER.findall(answer)
    return bool(words) and words[-1].lower() == "yes"


async def _judged(issue: str, trial: TrialRun, root: str, ask: Asker) -> JudgedDraft:
    if not trial.failing:
        return JudgedDraft(trial)
    try:
        answer = await _opinion(issue, trial.patch, scrubbed(described(trial), root), ask)
    except ContextTooLong:
        short = scrubbed(described(trial, _SHORT), root)
        answer = await _opinion(issue, shortened(trial.patch, _SHORT), short, ask)
    return JudgedDraft(trial, says_yes(answer))


async def _opinion(issue: str, patch: str, run: str, ask: Asker) -> str:
    prompt = render("libro_judge", issue=issue, patch=patch, run=run)
    (answer,) = await ask.ask([Message("user", prompt)], sampling=JUDGE)
    return answer.text


def _step(answer: str, one: JudgedDraft) -> dict[str, Any]:
    return {
        "kind": "sample",
        "answer": answer,
        "patch": one.trial.patch,
        "rejected": one.trial.rejected,
        "failing": [result.id for result in one.trial.failing],
        "accepted": one.accepted,
    }
