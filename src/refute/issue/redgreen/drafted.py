"""The fixes that redgreen drafted, with the drafts of tests that speak for them.

Drafts speak that the judge accepts, and such as it was not asked about and a fix turns green; none
that it refuses, and none that was made from the fixes.
"""

from __future__ import annotations

from collections.abc import Sequence

from refute.issue.contract import DraftedFix
from refute.issue.redgreen.ranking import Draft, fix_scores, without_shared
from refute.issue.redgreen.testbed import CandidateFix

__all__ = ["drafted_fixes"]

_MADE_FROM_FIXES = ("merged",)
"""Routes of drafts that are no witness for the fixes."""


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
    if draft.route in _MADE_FROM_FIXES or draft.accepted is False or not draft.red:
        return False
    return bool(draft.accepted) or any(draft.green(fix) for fix in draft.rows)
