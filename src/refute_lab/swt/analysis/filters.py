"""What a filter of fixes is worth: precision, recall, and the trade-off over confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.errors import InputError
from refute_lab.figures import Interval, wilson
from refute_lab.runs.journal import read_header, read_run
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grading.filtering import RECORDS, Judgement


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
class FilterFigures:
    """A set of proposed fixes before and after the filter."""

    proposed: int
    """Fixes that were judged or do not apply."""
    unfiltered: Point
    """All fixes that apply."""
    filtered: Point
    curve: tuple[Point, ...]
    """Over the confidence, the highest first; the last is `filtered`."""
    resolved_ids: frozenset[str]


def filter_result(judged: Sequence[Judgement]) -> FilterFigures:
    """Precision and recall of "keep the fixes that turn a generated F→P test green"."""
    applied = [one for one in judged if one.status == "judged"]
    resolved = frozenset(one.id for one in applied if one.resolved)
    kept = [one for one in applied if one.kept]

    def point(threshold: float) -> Point:
        chosen = [one for one in kept if one.confidence >= threshold]
        return Point(threshold, len(chosen), sum(one.resolved for one in chosen), len(resolved))

    thresholds = sorted({one.confidence for one in kept}, reverse=True)
    return FilterFigures(
        proposed=len(judged),
        unfiltered=Point(0.0, len(applied), len(resolved), len(resolved)),
        filtered=point(0.0),
        curve=tuple(point(threshold) for threshold in thresholds),
        resolved_ids=resolved,
    )


@dataclass(frozen=True, slots=True)
class FilterRun:
    """A journal of judged fixes."""

    folder: Path
    dataset: str
    fixer: str
    """What proposed the fixes."""
    tests: str
    """What generated the tests."""
    judged: tuple[Judgement, ...]
    errors: Mapping[str, str]
    """Instances without a judgement, with the reason."""

    @property
    def result(self) -> FilterFigures:
        return filter_result(self.judged)

    @property
    def title(self) -> str:
        """Who proposed and who filtered."""
        return f"{self.fixer}, filtered by {self.tests}"


def read_filter(directory: Path) -> FilterRun:
    """The filter in a folder of `refute bench --filter`. Raises `InputError`."""
    header, records = read_run(directory, RECORDS)
    if header.get("kind") != "filter":
        raise InputError(f"{directory}: not a filter of fixes")
    judged = tuple(one for one in records if not isinstance(one, ErrorRecord))
    errors = {one.id: one.error for one in records if isinstance(one, ErrorRecord)}
    names = (header["dataset"], header["fixer"], header["tests"])
    return FilterRun(directory, *names, judged, errors)


def filters_of(run: Path) -> list[FilterRun]:
    """The filters that the tests of a run of `refute bench` were used for, by name."""
    folders = sorted((run / "filter").glob("*"))
    return [read_filter(folder) for folder in folders if read_header(folder) is not None]
