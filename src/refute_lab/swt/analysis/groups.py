"""Success by groups of instances: by repository, by the issue's length, by its date.

SWT-Bench's Figures 5 and 6, and its comparison of issues from before and after a model's cut-off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from refute.core.problems import IssueProblem
from refute.issue.context.ranking import estimated_tokens
from refute_lab.figures import Share
from refute_lab.swt.analysis.runs import GradedRun

LENGTHS = (100, 200, 500)
"""Upper ends of the groups by length, in tokens (Figure 6)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Instances that are looked at together."""

    label: str
    ids: tuple[str, ...]


def share(run: GradedRun, group: Group) -> Share:
    """S of a run in a group."""
    graded = run.graded
    found = [graded[id].status == "success" for id in group.ids if id in graded]
    return Share(sum(found), len(found))


def resolved_share(resolved: Collection[str], group: Group) -> Share:
    """The instances of a group that fixes resolve; one without a fix counts as not resolved."""
    return Share(sum(id in resolved for id in group.ids), len(group.ids))


def by_repository(problems: Sequence[IssueProblem]) -> tuple[Group, ...]:
    """One group per repository, the largest first."""
    groups: dict[str, list[str]] = {}
    for problem in problems:
        groups.setdefault(problem.repo, []).append(problem.id)
    return _groups(dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))))


def by_length(problems: Sequence[IssueProblem]) -> tuple[Group, ...]:
    """Groups by the issue's length in tokens (estimated: every model counts its own)."""
    labels = [f"≤ {end} tokens" for end in LENGTHS] + [f"> {LENGTHS[-1]} tokens"]
    groups: dict[str, list[str]] = {label: [] for label in labels}
    for problem in problems:
        length = estimated_tokens(problem.text)
        groups[labels[sum(length > end for end in LENGTHS)]].append(problem.id)
    return _groups({label: ids for label, ids in groups.items() if ids})


def by_date(problems: Sequence[IssueProblem], cutoff: str) -> tuple[Group, ...]:
    """Issues until a day (`2023-04-30`, included) and later ones; of unknown date: neither."""
    groups: dict[str, list[str]] = {f"until {cutoff}": [], f"after {cutoff}": []}
    for problem in problems:
        if problem.created_at:
            which = "until" if problem.created_at[: len(cutoff)] <= cutoff else "after"
            groups[f"{which} {cutoff}"].append(problem.id)
    return _groups(groups)


def is_day(text: str) -> bool:
    """Whether it is a day as `by_date` takes it."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _groups(groups: Mapping[str, Sequence[str]]) -> tuple[Group, ...]:
    return tuple(Group(label, tuple(ids)) for label, ids in groups.items())
