"""Make a fix with a claim of redgreen's drafts: choose, review, run, and say what it rests on.

One more question at most: a reviewer who sees the issue and the best fixes, but neither the drafts
of tests nor which fix passes them, so that its word is evidence of its own. It is also asked which
of the existing tests that the best fix breaks demand just what the issue calls wrong. Then the fix
is vetted: its own tests before and after, more existing tests near it, failures planted
(`refute.issue.vet`).

Fixes are compared by what they do, not by how they are written: two that turn the same accepted
tests green are one kind, and a kind is believed for the answers that hold it. *Fixed* asks for
evidence from several sides, each of which a wrong fix can pass alone: tests of two drafts at least
that do not know the fix, two answers at least of its kind, no accepted test that stays red, no
kind as strong that differs, existing tests near it, and a reviewer who sees the issue and the
fixes alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from refute.core.combinators import succession
from refute.core.methods import Bounds
from refute.core.problems import IssueProblem
from refute.core.remarks import few
from refute.errors import ContextTooLong
from refute.issue.contract import Bounded, DraftedFix, FixClaim, FixState, OutOfBounds, Reproduction
from refute.issue.original import fix_submission, groups_told, runnable_id, scrubbed
from refute.issue.vet import Vetted, vet_fix
from refute.models.contract import Message, Sampling
from refute.prompts import render
from refute.workspace.contract import TestResult, Workspace
from refute.workspace.patches import knows_of_tests

FEWEST_ANSWERS = 2
"""Of one kind, for *fixed*."""
FEWEST_DRAFTS = 2
"""Of accepted tests that the fix turns green, for *fixed*."""
RIVAL = 0.5
"""Share of the best kind's answers from which another kind is a rival."""

_OUTDATED = re.compile(r"^\W*OUTDATED\W+([^\n]*)", re.MULTILINE)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*(?:-|to)\s*(\d{1,4}))?")
_LINE = re.compile(r"^\W*(BEST|COMPLETE|DETERMINED)\W+([A-Za-z0-9]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Kind:
    """Fixes that stand alike with every accepted test, the one to be shown first."""

    members: tuple[DraftedFix, ...]

    @property
    def best(self) -> DraftedFix:
        return self.members[0]

    @property
    def answers(self) -> int:
        """Number of answers that hold a fix of this kind."""
        return sum(one.answers for one in self.members)

    @property
    def score(self) -> float:
        """The method's own, of all members."""
        return sum(one.score for one in self.members)

    @property
    def drafts(self) -> int:
        """Drafts of tests all of whose accepted tests it turns green."""
        green = {id.partition(" ")[0] for id in self.best.green}
        return len(green - {id.partition(" ")[0] for id in self.best.red})


def kinds_of(fixes: Sequence[DraftedFix]) -> list[Kind]:
    """The kinds, the most believed first. Within one, what breaks least, then the shortest."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[DraftedFix]] = {}
    for fix in fixes:
        groups.setdefault((fix.green, fix.red), []).append(fix)
    kinds = [
        Kind(tuple(sorted(found, key=lambda f: (len(f.broken), -f.answers, len(f.patch)))))
        for found in groups.values()
    ]
    return sorted(
        kinds,
        key=lambda k: (-k.score, len(k.best.broken), -k.drafts, -k.answers, len(k.best.patch)),
    )


@dataclass(frozen=True, slots=True)
class Review:
    """Reviewer's word on the fixes that were shown."""

    best: int | None = None
    """Place of the fix that resolves the issue best; None: none was named."""
    complete: bool = False
    """True if it does all that the issue asks for."""
    determined: bool = False
    """True if the issue says enough for any right fix to do the same."""
    outdated: frozenset[int] = frozenset()
    """Places of the existing tests that demand just what the issue calls wrong."""


def read_review(answer: str, shown: int, tests: int = 0) -> Review | str:
    """The last `BEST n`, `COMPLETE yes|no`, `DETERMINED yes|no`, `OUTDATED 1, 3-5|all|none` of an
    answer; `shown`, `tests`: how many fixes and existing tests it was about. What is not said
    counts as no; a text: nothing of it can be read."""
    said = {name: word.lower() for name, word in _LINE.findall(answer)}
    if not said:
        return "the answer of the review could not be read"
    best = said.get("BEST", "")
    place = int(best) - 1 if best.isdecimal() and 1 <= int(best) <= shown else None
    lines = _OUTDATED.findall(answer)
    return Review(
        place,
        said.get("COMPLETE") == "yes",
        said.get("DETERMINED") == "yes",
        _places(lines[-1], tests) if lines else frozenset(),
    )


def _places(line: str, tests: int) -> frozenset[int]:
    """Of those `tests`, from 0, that the line names by their numbers, from 1."""
    if line.strip().lower().startswith("all"):
        return frozenset(range(tests))
    spans = [(int(a) - 1, int(b or a)) for a, b in _NUMBERS.findall(line)]
    return frozenset(n for a, b in spans for n in range(max(a, 0), min(b, tests)))


def shortcomings(kind: Kind, kinds: Sequence[Kind], review: Review | str) -> list[str]:
    """List the evidence that the best of a kind lacks before it may be called fixed.

    `review`: the reviewer's word on it, or why there is none.

    What its tests and the existing ones show when they are run is not part of it.
    """
    found = []
    if kind.drafts < FEWEST_DRAFTS:
        drafts = f"{kind.drafts} draft{'s' * (kind.drafts != 1)}"
        found.append(f"tests of {drafts} turn green, not of {FEWEST_DRAFTS}")
    if kind.answers < FEWEST_ANSWERS:
        found.append("only one answer holds a fix that does this")
    if kind.best.red:
        found.append(f"{len(kind.best.red)} accepted tests stay red with it")
    rivals = (one for one in kinds if one is not kind and one.best.green - kind.best.green)
    if any(one.answers >= RIVAL * kind.answers and not one.best.broken for one in rivals):
        found.append("another fix, as well supported, turns other tests green")
    if isinstance(review, str):
        found.append(review)
    else:
        if not review.complete:
            found.append("the review: it does not do all that the issue asks for")
        if not review.determined:
            found.append("the review: the issue leaves open what a fix has to do")
    return found


MOST_REVIEWED = 3
MOST_RIVALS = 2
_MOST_BROKEN = 30
"""Existing tests that the reviewer is asked about; of more than that a fix breaks too much."""
_NAMED = 5
"""Tests that a reason names."""
_STRICT = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)


async def proven_fix(
    problem: IssueProblem,
    found: Reproduction,
    asking: Bounded,
    workspace: Workspace,
    bounds: Bounds,
    *,
    issue: str,
) -> Reproduction:
    """The best of the fixes that were drafted with the tests in `found`, and what may be claimed.

    The prediction is the fix; it is "" where none was drafted that applies. `asking`: with what is
    left of the issue's bounds; `issue`: its text as a prompt shows it. Raises
    `WorkspaceUnavailable`, and what `Asker.ask` raises.
    """
    kinds = kinds_of(found.fixes)
    if not kinds:
        reason = "no fix was drafted that applies"
        prediction = fix_submission(problem.id, "", reason)
        return replace(found, prediction=prediction, claim=FixClaim("cannot tell", (reason,)))
    steps = list(found.steps)
    shown = _shown(kinds)
    vetting = _Vetting(found.prediction.patch, workspace, bounds)
    broken = _by_function((await asyncio.to_thread(vetting, shown[0])).broken)
    told = scrubbed(groups_told(broken), str(workspace.root))
    review, said = await _review(issue, [fix.patch for fix in shown], told, len(broken), asking)
    if said is not None:
        steps.append({"kind": "fix review", "fixes": [f.patch for f in shown], "answer": said})
    outdated = _outdated(review, broken)
    first = _chosen(kinds, shown, review, outdated)
    order = [first, *(one for one in shown if one is not first)]
    fix, vetted = await asyncio.to_thread(_first_that_holds, order, vetting, outdated)
    kind = next(one for one in kinds if fix in one.members)
    kind = Kind((fix, *(one for one in kind.members if one is not fix)))
    if fix is not first:
        review = "the review chose another one, which its tests refuse"
    excused = sorted(outdated & {result.id for result in vetting(fix).broken})
    state, reasons = _claimed(kind, kinds, review, vetted, excused)
    rivals = [one.patch for one in shown if one is not fix][:MOST_RIVALS]
    failing = tuple(result.id for result in vetted.reproducing if vetted.verdict == "fixed")
    claim = FixClaim(state, reasons, found.prediction.patch, failing, tuple(rivals))
    steps.append({"kind": "claim", "state": state, "reasons": list(reasons),
                  "tests": found.prediction.patch, "verdict": vetted.verdict,
                  "outdated": excused})  # fmt: skip
    answers = sum(one.answers for one in found.fixes)
    sure = succession(kind.answers, answers)
    prediction = replace(
        fix_submission(problem.id, fix.patch, *reasons),
        confidence=round(sure if state == "fixed" else sure / 2, 3),
        tests=failing,
    )
    return replace(found, prediction=prediction, steps=tuple(steps), claim=claim)


class _Vetting:
    """Vets fixes by one test patch, in one workspace; each at most twice."""

    def __init__(self, tests: str, workspace: Workspace, bounds: Bounds) -> None:
        self._ground = tests, workspace, bounds
        self._known: dict[tuple[str, frozenset[str]], Vetted] = {}

    def __call__(self, fix: DraftedFix, outdated: frozenset[str] = frozenset()) -> Vetted:
        """`outdated`: tests that are not held against it."""
        outdated = outdated and outdated & {result.id for result in self(fix).broken}
        key = fix.patch, outdated
        if key not in self._known:
            self._known[key] = vet_fix(fix.patch, *self._ground, first=fix.near, outdated=outdated)
        return self._known[key]


def _shown(kinds: Sequence[Kind]) -> list[DraftedFix]:
    """The fixes that a reviewer chooses from: the best of each kind, then more of the best kind."""
    fixes = [kind.best for kind in kinds if kind.score > 0 or kind is kinds[0]]
    fixes += kinds[0].members[1:]
    return fixes[:MOST_REVIEWED]


def _by_function(broken: Sequence[TestResult]) -> list[tuple[TestResult, ...]]:
    """Broken tests by their function: cases of one with other parameters are one question."""
    functions: dict[str, list[TestResult]] = {}
    for result in broken:
        functions.setdefault(runnable_id(result.id), []).append(result)
    return [tuple(results) for results in functions.values()][:_MOST_BROKEN]


async def _review(
    issue: str, patches: Sequence[str], told: str, tests: int, asking: Bounded
) -> tuple[Review | str, str | None]:
    """The reviewer's word and the answer; where the bounds leave no question, that and None."""
    prompt = render("fix_review", issue=issue, patches=patches, broken=told)
    try:
        answer, *_ = await asking.ask([Message("user", prompt)], sampling=_STRICT)
    except (OutOfBounds, ContextTooLong):
        return "no question was left for a review", None
    return read_review(answer.text, len(patches), tests), answer.text


def _outdated(review: Review | str, broken: Sequence[Sequence[TestResult]]) -> frozenset[str]:
    """Ids of the broken tests that, by the reviewer's word, demand what the issue calls wrong."""
    places = frozenset[int]() if isinstance(review, str) else review.outdated
    return frozenset(result.id for place in places for result in broken[place])


def _chosen(
    kinds: Sequence[Kind],
    shown: Sequence[DraftedFix],
    review: Review | str,
    outdated: Collection[str],
) -> DraftedFix:
    """The reviewer's choice, unless it leaves accepted tests red that the best kind turns green."""
    first = kinds[0].best
    if isinstance(review, str) or review.best is None:
        return first
    chosen = shown[review.best]
    return chosen if chosen.green >= first.green and set(chosen.broken) <= set(outdated) else first


def _first_that_holds(
    fixes: Sequence[DraftedFix],
    vetting: Callable[[DraftedFix, frozenset[str]], Vetted],
    outdated: frozenset[str],
) -> tuple[DraftedFix, Vetted]:
    """The first that the tests call fixed, with the verdict; else the first of all."""
    found = []
    for fix in fixes:
        vetted = vetting(fix, outdated)
        if vetted.verdict in ("fixed", "cannot tell"):
            return fix, vetted
        found.append((fix, vetted))
    return found[0]


def _claimed(
    kind: Kind,
    kinds: Sequence[Kind],
    review: Review | str,
    vetted: Vetted,
    excused: Sequence[str],
) -> tuple[FixState, tuple[str, ...]]:
    """The state, and why: what is wanting, or what it rests on. `excused`: existing tests that it
    breaks and that the review calls outdated."""
    fix = kind.best
    reason = vetted.reason
    if vetted.verdict == "breaks tests":
        reason = f"{reason} ({few([result.id for result in vetted.broken], _NAMED)})"
    tells = vetted.verdict == "fixed" or fix.green or excused
    if vetted.verdict in ("does not apply", "not fixed") or not tells:
        return "cannot tell", (reason, *vetted.notes)
    wanting = [] if vetted.verdict == "fixed" else [reason]
    wanting += shortcomings(kind, kinds, review)
    if spared := _spared(kind, kinds, excused):
        wanting.append(f"another fix that turns the same tests green keeps {few(spared, _NAMED)}")
    if vetted.too_long and not vetted.neighbours:
        wanting.append(f"existing tests near it take too long: {few(vetted.too_long, _NAMED)}")
    if names := knows_of_tests(fix.patch):
        wanting.append(f"its code mentions {', '.join(names)}: read why")
    said = f"by the review the issue calls wrong what existing tests demand: {few(excused, _NAMED)}"
    aside = [said] if excused else []
    if wanting:
        return "proposed", (*wanting, *aside)
    near = len(vetted.neighbours)
    return "fixed", (
        vetted.reason,
        f"tests of {kind.drafts} drafts turn green, none of them judged wrong, and"
        f" {kind.answers} answers agree",
        f"no {'other ' if excused else ''}test of {near} file{'s' * (near > 1)} near it breaks"
        if near
        else "no existing test is near it",
        "a review of the fix alone finds it complete, and the issue clear",
        *aside,
        *vetted.notes,
    )


def _spared(kind: Kind, kinds: Sequence[Kind], excused: Collection[str]) -> list[str]:
    """Of the existing tests that are excused, those that another fix keeps green and yet turns
    green what this one does: then not every right fix breaks them."""
    fix = kind.best
    fixes = [one for other in kinds for one in other.members]
    rivals = [o for o in fixes if o.green >= fix.green and set(o.near) >= set(fix.near)]
    return sorted({id for o in rivals for id in set(fix.broken) - set(o.broken)} & set(excused))
