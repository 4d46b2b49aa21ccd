"""Grades of many problems as a few figures, each with its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refute.function.grade import Grade

__all__ = ["Figure", "clustered", "mean", "metrics"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean with its standard error; NaN where there is nothing to average."""

    value: float
    stderr: float


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
        return Figure(value, math.nan)
    squares = sum((part - value * count) ** 2 for part, count in groups)
    return Figure(value, math.sqrt(squares * n / (n - 1)) / total)


def metrics(grades: Sequence[Grade]) -> dict[str, Figure]:
    """All figures of a run, by name; problems count once each, whatever their number of tests.

    `attack_rate`, `output_accuracy`, `accuracy_and_attack`: over the generated tests, standard
    errors clustered by problem. `hit_rate`: share of problems with at least one test that is right
    and attacks. `tested`: share of problems with any test. `code_accuracy`, `code_accuracy_top3`:
    share of problems whose first choice (one of the first three) passes all private tests.
    `pass_rate`: share of private tests that the first choice passes, mean over problems. `fixed`:
    share of problems for which a fix was proposed. `fix_precision`: share of those fixes that pass
    all private tests.
    """
    sizes = [len(g.tests.verdicts) for g in grades]
    proposed = [g for g in grades if g.fixed]
    return {
        "attack_rate": _over_tests((g.tests.attacks for g in grades), sizes),
        "output_accuracy": _over_tests((g.tests.accurate for g in grades), sizes),
        "accuracy_and_attack": _over_tests((g.tests.both for g in grades), sizes),
        "hit_rate": mean(float(g.tests.both > 0) for g in grades),
        "tested": mean(float(size > 0) for size in sizes),
        "code_accuracy": mean(float(g.passed) for g in grades),
        "code_accuracy_top3": mean(float(g.passed_top3) for g in grades),
        "pass_rate": mean(g.programs[0].pass_rate for g in grades),
        "fixed": mean(float(g.fixed) for g in grades),
        "fix_precision": mean(float(g.passed) for g in proposed),
    }


def _over_tests(parts: Iterable[int], sizes: Sequence[int]) -> Figure:
    return clustered(list(zip(parts, sizes, strict=True)))
