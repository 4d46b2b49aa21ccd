"""What is asked after the first drafts: only what can change the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from refute.issue.redgreen.pool import Pool
from refute.issue.redgreen.questions import PromptedQuestion, Questions, Route
from refute.issue.redgreen.ranking import Draft, Ranked, agreed, ranking, without_shared

JUDGED = 4
"""Drafts in one question to the judge, at most."""
_SHOWN_FIXES = 2
"""Behaviours of fixes that the judge is shown."""

Doubt = tuple[str, tuple[int, ...], PromptedQuestion]
"""Kind, the numbers of the drafts or of the fix that it is about (none: it is for a draft that
knows of no other), and the question."""


class Doubts:
    """Remembers what was asked about already."""

    def __init__(self, drawn: Mapping[Route, int]) -> None:
        """`drawn`: how many drafts were asked for by each route."""
        self._doubted: set[int] = set()
        self._repaired: set[int] = set()
        self._drawn = dict(drawn)

    def of(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """What is to be asked; nothing where what there is agrees."""
        order = ranking(pool.drafts, pool.behaviours())
        if agreed(order):
            return []
        red = [draft for draft in pool.drafts if _counts(draft)]
        if not red:
            return [*self._repairs(pool, questions), *self._anew(("direct",), questions)]
        if any(draft.ever_green for draft in red):
            return _judging(order, pool, questions)
        asked = self._fix_repairs(pool, questions) or self._disputes(order, pool, questions)
        asked = asked or _judging(order, pool, questions)
        return [*asked, *self._anew(("direct", "fix"), questions)]

    def _anew(self, routes: Sequence[Route], questions: Questions) -> Iterator[Doubt]:
        """One more draft each, by somebody who has seen none: what corrects a draft inherits what
        it misread, and two that agree without knowing one another are the evidence that is wanting.
        """
        for route in routes:
            if self._drawn.get(route):
                yield route, (), questions.anew(route, self._drawn[route])
                self._drawn[route] += 1

    def _repairs(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """The first drafts that show nothing, until one of them was asked about."""
        written = [draft for draft in pool.drafts if draft.number not in self._doubted]
        written.sort(key=lambda draft: (draft.route == "snippet", not draft.trial.applied))
        self._doubted.update(draft.number for draft in written[:1])
        return [("repair", (one.number,), questions.repair(one)) for one in written[:1]]

    def _fix_repairs(self, pool: Pool, questions: Questions) -> list[Doubt]:
        """Where no fix can be used: the one that breaks least."""
        fixes = without_shared(pool.fixes, pool.drafts)
        if any(not fix.rejected and not fix.broken for fix in fixes):
            return []
        fixes = [fix for fix in fixes if fix.number not in self._repaired]
        fixes.sort(key=lambda fix: (bool(fix.rejected), len(fix.broken), fix.number))
        self._repaired.update(fix.number for fix in fixes[:1])
        return [("fix", (one.number,), questions.fix_repair(one)) for one in fixes[:1]]

    def _disputes(self, order: Sequence[Ranked], pool: Pool, questions: Questions) -> list[Doubt]:
        """The best draft and the best fix, where no draft and no fix agree."""
        tried = pool.usable()
        drafts = [one.draft for one in order if tried and _counts(one.draft)]
        drafts = [draft for draft in drafts if draft.number not in self._doubted][:1]
        self._doubted.update(draft.number for draft in drafts)
        return [("dispute", (one.number,), questions.dispute(one, tried[0])) for one in drafts]


def _judging(order: Sequence[Ranked], pool: Pool, questions: Questions) -> list[Doubt]:
    """The question about the drafts that fail, where one was not judged yet."""
    drafts = [one.draft for one in order if _counts(one.draft)]
    if all(draft.accepted is not None for draft in drafts):
        return []
    drafts = drafts[:JUDGED]
    fixes = [fix for fix in pool.behaviours() if not fix.rejected][:_SHOWN_FIXES]
    numbers = tuple(draft.number for draft in drafts)
    return [("judge", numbers, questions.judge(drafts, fixes))]


def _counts(draft: Draft) -> bool:
    """Whether it fails, and was written for this repository."""
    return bool(draft.red) and draft.route != "snippet"
