"""What a filter of fixes is worth: precision, recall, and the trade-off over confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from refute.issue.analysis.inference import Interval, wilson
from refute.issue.filtering import Judged

__all__ = ["FilterResult", "Point", "filter_result"]


@dataclass(frozen=True, slots=True)
class Point:
    """The fixes that are kept when tests of at least some confidence are asked for."""

    threshold: float
    """0: every kept fix."""
    kept: int
    right: int
    """Of them, those that resolve their issue."""
    resolved: int
    """All proposed fixes that resolve their issue, kept or not."""

    @property
    def precision(self) -> float:
        """Right ones among the kept; NaN where none is kept."""
        return self.right / self.kept if self.kept else math.nan

    @property
    def recall(self) -> float:
        """Kept ones among the right; NaN where none is right."""
        return self.right / self.resolved if self.resolved else math.nan

    @property
    def precision_interval(self) -> Interval:
        """95 % (Wilson)."""
        return wilson(self.right, self.kept)

    @property
    def recall_interval(self) -> Interval:
        """95 % (Wilson)."""
        return wilson(self.right, self.resolved)


@dataclass(frozen=True, slots=True)
class FilterResult:
    """A set of proposed fixes before and after the filter."""

    proposed: int
    """Fixes that were judged or do not apply."""
    unfiltered: Point
    """All fixes that apply."""
    filtered: Point
    curve: tuple[Point, ...]
    """Over the confidence, the highest first; the last is `filtered`."""
    resolved_ids: frozenset[str]


def filter_result(judged: Sequence[Judged]) -> FilterResult:
    """Precision and recall of "keep the fixes that turn a generated F→P test green"."""
    applied = [one for one in judged if one.status == "judged"]
    resolved = frozenset(one.id for one in applied if one.resolved)
    kept = [one for one in applied if one.kept]

    def point(threshold: float) -> Point:
        chosen = [one for one in kept if one.confidence >= threshold]
        return Point(threshold, len(chosen), sum(one.resolved for one in chosen), len(resolved))

    thresholds = sorted({one.confidence for one in kept}, reverse=True)
    return FilterResult(
        proposed=len(judged),
        unfiltered=Point(0.0, len(applied), len(resolved), len(resolved)),
        filtered=point(0.0),
        curve=tuple(point(threshold) for threshold in thresholds),
        resolved_ids=resolved,
    )
