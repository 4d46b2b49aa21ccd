"""Means over problems, each with its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Figure", "clustered", "mean"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean with its standard error; NaN where there is nothing to average."""

    value: float
    stderr: float
    n: int = 0
    """Problems that it is a mean over."""


def mean(numbers: Iterable[float]) -> Figure:
    """The mean over problems, with the standard error of the mean (n - 1)."""
    return clustered([(number, 1) for number in numbers])


def clustered(groups: Sequence[tuple[float, int]]) -> Figure:
    """The mean over tests that come in groups, one group (sum, count) per problem.

    Tests of one problem are not independent, so the standard error is that of the ratio of two
    sums over problems (linearized; the usual clustered standard error, n / (n - 1)).
    """
    total = sum(count for _, count in groups)
    if total == 0:
        return Figure(math.nan, math.nan)
    value = sum(part for part, _ in groups) / total
    n = sum(1 for _, count in groups if count)
    if n < 2:
        return Figure(value, math.nan, n)
    squares = sum((part - value * count) ** 2 for part, count in groups)
    return Figure(value, math.sqrt(squares * n / (n - 1)) / total, n)
