"""Two runs over functions on the problems that both have: differences, intervals, tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from refute_lab.benches.grade import Grade
from refute_lab.benches.records import FunctionRecord, read_grade
from refute_lab.figures import Z95, Interval, holm, mcnemar, paired_interval

Sums = Mapping[str, tuple[float, int]]
"""Problem -> (sum, count) of what a figure is the ratio of."""

PAIRED: Mapping[str, Callable[[Grade], tuple[float, int]]] = {
    "code_accuracy": lambda grade: (float(grade.passed), 1),
    "attack_rate": lambda grade: (grade.tests.attacks, len(grade.tests.verdicts)),
    "output_accuracy": lambda grade: (grade.tests.accurate, len(grade.tests.verdicts)),
    "accuracy_and_attack": lambda grade: (grade.tests.both, len(grade.tests.verdicts)),
}


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """One figure of two runs on the same problems."""

    metric: str
    first: int
    """Place of the run; so is `second`."""
    second: int
    n: int
    """Common problems; those without a test in either run left out, for the figures over tests."""
    better: int
    """Problems on which the first is better, and on which the second is."""
    worse: int
    difference: float
    """First less second."""
    interval: Interval
    """95 %: Tango's where each problem has one answer, else from clustered standard errors."""
    p: float
    """Sign test over problems, exact, two-sided; for one answer a problem that is McNemar's."""
    adjusted: float
    """The same, adjusted for the number of pairs with this figure (Holm)."""


def problems_of(records: Sequence[object]) -> frozenset[str]:
    """The problems that have a grade."""
    return frozenset(one.problem for one in records if isinstance(one, FunctionRecord))


def paired_runs(runs: Sequence[Sequence[object]]) -> tuple[PairedRuns, ...]:
    """Every two runs, given by their records, on each figure of `PAIRED` that both have."""
    found: list[PairedRuns] = []
    for metric in PAIRED:
        sums = [_sums(records, metric) for records in runs]
        rows = [
            (first, second, sums[first], sums[second])
            for first, second in combinations(range(len(runs)), 2)
            if sums[first].keys() & sums[second].keys()
        ]
        pairs = [_pair(metric, *row) for row in rows]
        adjusted = holm([pair.p for pair in pairs])
        found += [
            PairedRuns(metric, p.first, p.second, p.n, p.better, p.worse, p.difference, p.interval,
                       p.p, a)
            for p, a in zip(pairs, adjusted, strict=True)
        ]  # fmt: skip
    return tuple(found)


def _sums(records: Sequence[object], metric: str) -> Sums:
    """Over the tests as they were sampled, where a model wrote them."""
    part = PAIRED[metric]
    sums: dict[str, tuple[float, int]] = {}
    for record in records:
        if not isinstance(record, FunctionRecord):
            continue
        which = "tests" if record.grade.sampled is None else "sampled"
        more, counted = part(read_grade(record, which))  # type: ignore[arg-type]
        total, count = sums.get(record.problem, (0.0, 0))
        if counted:
            sums[record.problem] = (total + more, count + counted)
    return sums


def _pair(metric: str, first: int, second: int, one: Sums, other: Sums) -> PairedRuns:
    common = sorted(one.keys() & other.keys())
    better = sum(_rate(one[id]) > _rate(other[id]) for id in common)
    worse = sum(_rate(one[id]) < _rate(other[id]) for id in common)
    single = all(one[id][1] == other[id][1] == 1 for id in common)
    difference, interval = _clustered(one, other, common)
    if single:
        interval = paired_interval(better, worse, len(common))
    p = mcnemar(better, worse)
    return PairedRuns(metric, first, second, len(common), better, worse, difference, interval, p, p)


def _rate(sums: tuple[float, int]) -> float:
    return sums[0] / sums[1]


def _clustered(one: Sums, other: Sums, common: Sequence[str]) -> tuple[float, Interval]:
    """The difference of two ratios over the same clusters, linearized."""
    counts = [sum(sums[id][1] for id in common) for sums in (one, other)]
    ratios = [
        sum(sums[id][0] for id in common) / count
        for sums, count in zip((one, other), counts, strict=True)
    ]
    difference, n = ratios[0] - ratios[1], len(common)
    if n < 2:
        return difference, Interval(math.nan, math.nan)
    squares = 0.0
    for id in common:
        parts = [
            (sums[id][0] - ratio * sums[id][1]) / count
            for sums, ratio, count in zip((one, other), ratios, counts, strict=True)
        ]
        squares += (parts[0] - parts[1]) ** 2
    half = Z95 * math.sqrt(squares * n / (n - 1))
    if half == 0:
        return difference, Interval(math.nan, math.nan)
    return difference, Interval(max(-1.0, difference - half), min(1.0, difference + half))
