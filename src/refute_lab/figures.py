"""Statistics of benchmarks: means with standard errors, shares with intervals, paired tests.

All of it is exact or closed-form, on counts of at most a few thousand, so no numerical library is
needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

Z95 = 1.959963984540054
"""The normal distribution's 0.975 quantile: 95 % intervals."""

_TOLERANCE = 1 + 1e-7
"""Two tables whose probabilities differ by rounding alone are equally likely."""


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


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of confidence."""

    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a share (1927), of use also at 0 and at n; NaN for n = 0."""
    return wilson_of(successes / n, n, z) if n else Interval(math.nan, math.nan)


def wilson_of(share: float, n: float, z: float = Z95) -> Interval:
    """The same of a share among `n` above 0, which need not be whole (an effective number)."""
    square = z * z / n
    centre = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    low = 0.0 if share <= 1e-12 else max(0.0, centre - half)
    high = 1.0 if share >= 1 - 1e-12 else min(1.0, centre + half)
    return Interval(low, high)


@dataclass(frozen=True, slots=True)
class Share:
    """Number of successes among `n`."""

    successes: int
    n: int

    @property
    def interval(self) -> Interval:
        """Wilson's, 95 %."""
        return wilson(self.successes, self.n)


def mcnemar(only_first: int, only_second: int) -> float:
    """McNemar's exact test: the two-sided p-value that two paired shares are equal.

    The arguments count the pairs in which one alone succeeds; under the hypothesis each of them
    falls to either side with probability 1/2.
    """
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << n))


def paired_interval(only_first: int, only_second: int, n: int, z: float = Z95) -> Interval:
    """Tango's score interval (1998) of the difference of two paired shares, first minus second.

    `n`: all pairs, those that agree included; NaN for n = 0.
    """
    if n == 0:
        return Interval(math.nan, math.nan)

    def score(delta: float) -> float:
        return _tango(only_first, only_second, n, delta)

    return Interval(_falls_to(score, z), _falls_to(score, -z))


def _tango(b: int, c: int, n: int, delta: float) -> float:
    """The score statistic of the hypothesis that the difference is `delta`; falls as it rises."""
    linear = -b - c + (2 * n - b + c) * delta
    constant = -c * delta * (1 - delta)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    q21 = (root - linear) / (4 * n)  # the second's share alone, at its likeliest under delta
    variance = n * (2 * q21 + delta * (1 - delta))
    distance = b - c - n * delta
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def _falls_to(function: Callable[[float], float], level: float) -> float:
    """Find the point in [-1, 1] at which a falling function reaches the level, to about 1e-12."""
    low, high = -1.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def fisher(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Fisher's exact test of independence in a table of two by two: the two-sided p-value.

    Sums the probabilities of all tables with the same margins that are no likelier than this one.
    """
    first, second = both + only_first, both + only_second
    n = first + only_second + neither
    possible = range(max(0, first + second - n), min(first, second) + 1)
    weights = {k: math.comb(second, k) * math.comb(n - second, first - k) for k in possible}
    limit = weights[both] * _TOLERANCE
    return sum(w for w in weights.values() if w <= limit) / math.comb(n, first)


def fisher_greater(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Fisher's exact test of the same table, one-sided: how likely an overlap of `both` or more is
    where the two are independent (the upper tail of the hypergeometric distribution)."""
    first, second = both + only_first, both + only_second
    n = first + only_second + neither
    tail = range(both, min(first, second) + 1)
    weights = (math.comb(second, k) * math.comb(n - second, first - k) for k in tail)
    return sum(weights) / math.comb(n, first)


def chi_squared(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Pearson's chi-squared test of the same table, without correction: its p-value.

    NaN where a margin is 0. With expected counts under 5 or so rely on `fisher`.
    """
    first, second = both + only_first, both + only_second
    n = first + only_second + neither
    margins = first * (n - first) * second * (n - second)
    if margins == 0:
        return math.nan
    statistic = n * (both * neither - only_first * only_second) ** 2 / margins
    return math.erfc(math.sqrt(statistic / 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment (1979): p-values that hold for all tests together, in the given order."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted


# -- intervals -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the interval that it lies in, NaN where unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    """Problems or instances that it is over."""


unknown = Estimate(math.nan)


def estimate(figure: Figure | None, clusters: int | None = None) -> Estimate:
    """A mean of numbers in [0, 1] with Wilson's interval, from its clustered standard error.

    Wilson's interval is that of the number of independent problems which would have this standard
    error; for one answer a problem it is exactly the usual one. `clusters`: problems; needed where
    the standard error is 0 or unknown, as for 3 of 3, where it says nothing. No more than those of
    the figure count (those with a test, of a rate of tests), and all of them where it is None.
    """
    if figure is None or math.isnan(figure.value):
        return unknown
    p, error = figure.value, figure.stderr
    clusters = min((n for n in (clusters, figure.n) if n), default=None)
    spread = p * (1 - p)
    if spread > 1e-12 and error > 1e-12:
        size = spread / (error * error)
        if clusters is not None and clusters > 1:
            size *= clusters / (clusters - 1)
    elif clusters:
        size = float(clusters)
    else:
        return Estimate(p, n=clusters)
    found = wilson_of(p, size)
    return Estimate(p, found.low, found.high, clusters)


def of_share(share: Share) -> Estimate:
    """Format a share with Wilson's interval."""
    if not share.n:
        return unknown
    found = share.interval
    return Estimate(share.successes / share.n, found.low, found.high, share.n)


# -- two runs --------------------------------------------------------------------------------------


Sums = Mapping[str, tuple[float, int]]
"""Problem -> (sum, count) of what a figure is the ratio of."""


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


def paired(metric: str, runs: Sequence[Sums]) -> list[PairedRuns]:
    """Every two of the runs that have problems in common, on one figure."""
    pairs = [
        _pair(metric, first, second, runs[first], runs[second])
        for first, second in combinations(range(len(runs)), 2)
        if runs[first].keys() & runs[second].keys()
    ]
    adjusted = holm([pair.p for pair in pairs])
    return [replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]


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
