"""From what redgreen found to a fix with a claim: choose, review, run, and say what it rests on.

One more question at most: a reviewer who sees the issue and the best fixes, but neither the drafts
of tests nor which fix passes them, so that its word is evidence of its own. Then the fix is vetted:
its own tests before and after, more existing tests near it, failures planted (`refute.issue.vet`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from refute.errors import ContextTooLong
from refute.issue.contract import DraftedFix, FixClaim, FixState, Reproduction
from refute.issue.drafting.bounded_asker import Bounded, OutOfBounds
from refute.issue.drafting.submission import fix_submission
from refute.issue.fixing.choosing import Kind, Review, kinds_of, read_review, shortcomings
from refute.issue.patches import knows_of_tests
from refute.issue.vet import Vetted, vet_fix
from refute.methods import Context
from refute.models.contract import Message, Sampling
from refute.problems import IssueProblem
from refute.prompts import render

__all__ = ["proven_fix"]

MOST_REVIEWED = 3
MOST_RIVALS = 2
_STRICT = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)


async def proven_fix(
    problem: IssueProblem, found: Reproduction, ctx: Context, asking: Bounded
) -> Reproduction:
    """The best of the fixes that were drafted with the tests in `found`, and what may be claimed.

    The prediction is the fix; it is "" where none was drafted that applies. `asking`: with what is
    left of the issue's bounds. Raises `WorkspaceUnavailable`, and what `Asker.ask` raises.
    """
    kinds = kinds_of(found.fixes)
    if not kinds:
        reason = "no fix was drafted that applies"
        prediction = fix_submission(problem.id, "", reason)
        return replace(found, prediction=prediction, claim=FixClaim("cannot tell", (reason,)))
    steps = list(found.steps)
    shown = _shown(kinds)
    review, said = await _review(problem, [fix.patch for fix in shown], asking)
    if said is not None:
        steps.append({"kind": "fix review", "fixes": [f.patch for f in shown], "answer": said})
    tests = found.prediction
    first = _chosen(kinds, shown, review)
    order = [first, *(one for one in shown if one is not first)]
    fix, vetted = await asyncio.to_thread(_first_that_holds, order, tests.patch, ctx)
    kind = next(one for one in kinds if fix in one.members)
    kind = Kind((fix, *(one for one in kind.members if one is not fix)))
    if fix is not first:
        review = "the review chose another one, which its tests refuse"
    state, reasons = _claimed(kind, kinds, fix, review, vetted)
    rivals = [one.patch for one in shown if one is not fix][:MOST_RIVALS]
    failing = tuple(result.id for result in vetted.reproducing if vetted.verdict == "fixed")
    claim = FixClaim(state, reasons, tests.patch, failing, tuple(rivals))
    steps.append({"kind": "claim", "state": state, "reasons": list(reasons), "tests": tests.patch,
                  "verdict": vetted.verdict})  # fmt: skip
    answers = sum(one.answers for one in found.fixes)
    sure = (kind.answers + 1) / (answers + 2)
    prediction = replace(
        fix_submission(problem.id, fix.patch, *reasons),
        confidence=round(sure if state == "fixed" else sure / 2, 3),
        tests=failing,
    )
    return replace(found, prediction=prediction, steps=tuple(steps), claim=claim)


def _shown(kinds: Sequence[Kind]) -> list[DraftedFix]:
    """The fixes that a reviewer chooses from: the best of each kind, then more of the best kind."""
    fixes = [kind.best for kind in kinds if kind.score > 0 or kind is kinds[0]]
    fixes += kinds[0].members[1:]
    return fixes[:MOST_REVIEWED]


async def _review(
    problem: IssueProblem, patches: Sequence[str], asking: Bounded
) -> tuple[Review | str, str | None]:
    """The reviewer's word and the answer; where the bounds leave no question, that and None."""
    prompt = render("fix_review", issue=problem.text, patches=patches)
    try:
        answer, *_ = await asking.ask([Message("user", prompt)], sampling=_STRICT)
    except (OutOfBounds, ContextTooLong):
        return "no question was left for a review", None
    return read_review(answer.text, len(patches)), answer.text


def _chosen(kinds: Sequence[Kind], shown: Sequence[DraftedFix], review: Review | str) -> DraftedFix:
    """The reviewer's choice, unless it leaves accepted tests red that the best kind turns green."""
    first = kinds[0].best
    if isinstance(review, str) or review.best is None:
        return first
    chosen = shown[review.best]
    return chosen if chosen.green >= first.green and not chosen.broken else first


def _first_that_holds(
    fixes: Sequence[DraftedFix], tests: str, ctx: Context
) -> tuple[DraftedFix, Vetted]:
    """The first that the tests call fixed, with the verdict; else the first of all."""
    found = []
    with ctx.workspace() as workspace:
        for fix in fixes:
            vetted = vet_fix(fix.patch, tests, workspace, ctx.bounds)
            if vetted.verdict in ("fixed", "cannot tell"):
                return fix, vetted
            found.append((fix, vetted))
    return found[0]


def _claimed(
    kind: Kind,
    kinds: Sequence[Kind],
    fix: DraftedFix,
    review: Review | str,
    vetted: Vetted,
) -> tuple[FixState, tuple[str, ...]]:
    """The state, and why: what is wanting, or what it rests on."""
    hurts = vetted.verdict == "breaks tests" and not fix.green
    if vetted.verdict in ("does not apply", "not fixed") or hurts:
        return "cannot tell", (vetted.reason, *vetted.notes)
    wanting = [] if vetted.verdict == "fixed" else [vetted.reason]
    wanting += shortcomings(kind, kinds, review)
    if names := knows_of_tests(fix.patch):
        wanting.append(f"its code mentions {', '.join(names)}: read why")
    if wanting:
        nothing = vetted.verdict != "fixed" and not fix.green
        return ("cannot tell" if nothing else "proposed"), tuple(wanting)
    near = len(vetted.neighbours)
    return "fixed", (
        vetted.reason,
        f"accepted tests of {kind.drafts} drafts turn green, and {kind.answers} answers agree",
        f"no test of {near} files near it breaks" if near else "there is no existing test near it",
        "a review of the fix alone finds it complete, and the issue clear",
        *vetted.notes,
    )
