"""What runs have in common: paired tests, regions of the Venn diagram, the ideal ensemble.

SWT-Bench's Figure 7 (overlap of methods) and Table 6 (overlap of solving tests and solving fixes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from refute_lab.figures import (
    Interval,
    chi_squared,
    fisher,
    fisher_greater,
    holm,
    mcnemar,
    paired_interval,
)
from refute_lab.swt.analysis.runs import GradedRun, solved


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs on the instances that both have grades for."""

    first: int
    """Place of the run in the list; so is `second`."""
    second: int
    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    """McNemar's exact test of equal S, two-sided."""
    adjusted: float
    """The same, adjusted for the number of pairs (Holm)."""

    @property
    def n(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """S of the first less S of the second; 0 without common instances."""
        return (self.only_first - self.only_second) / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Of the difference, 95 % (Tango)."""
        return paired_interval(self.only_first, self.only_second, self.n)


def pairs(runs: Sequence[GradedRun]) -> tuple[Pair, ...]:
    """Every two runs of methods: golden tests and pass@k left out."""
    rows = []
    for first, second in combinations(_methods(runs), 2):
        one, other = runs[first].graded, runs[second].graded
        counts = _table(one.keys() & other.keys(), solved(one), solved(other))
        rows.append((first, second, counts, mcnemar(counts[1], counts[2])))
    adjusted = holm([p for *_, p in rows])
    return tuple(
        Pair(first, second, *counts, p=p, adjusted=a)
        for (first, second, counts, p), a in zip(rows, adjusted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The sets of instances that runs solve, on the instances that all of them have grades for."""

    n: int
    regions: Mapping[tuple[int, ...], int]
    """Places of the runs that solve an instance -> number of instances that just these solve; the
    largest region first. What none solves is not in it."""

    @property
    def ideal(self) -> int:
        """Instances that at least one run solves: what a perfect choice among them would solve."""
        return sum(self.regions.values())


def ensemble(runs: Sequence[GradedRun]) -> Ensemble:
    """The regions of the runs' Venn diagram, golden tests and pass@k left out."""
    graded = {at: runs[at].graded for at in _methods(runs)}
    common = set.intersection(*map(set, graded.values())) if graded else set()
    sets = {at: solved(records) for at, records in graded.items()}
    found = Counter(tuple(at for at, ids in sets.items() if id in ids) for id in common)
    found.pop((), None)
    order = sorted(found.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    return Ensemble(len(common), dict(order))


@dataclass(frozen=True, slots=True)
class Independence:
    """Instances whose tests succeed against instances whose fixes do, as a table of two by two."""

    both: int
    only_tests: int
    only_fixes: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.only_tests + self.only_fixes + self.neither

    @property
    def expected(self) -> float:
        """Instances with both, were the two independent; 0 without instances."""
        tests, fixes = self.both + self.only_tests, self.both + self.only_fixes
        return tests * fixes / self.n if self.n else 0.0

    @property
    def p(self) -> float:
        """Fisher's exact test, two-sided."""
        return fisher(self.both, self.only_tests, self.only_fixes, self.neither)

    @property
    def p_greater(self) -> float:
        """Fisher's exact test, one-sided: of so much overlap or more. The p-values of the paper's
        Table 6 fit this one, over 253 instances."""
        return fisher_greater(self.both, self.only_tests, self.only_fixes, self.neither)

    @property
    def p_chi_squared(self) -> float:
        """Pearson's test; NaN where one of the two always or never succeeds."""
        return chi_squared(self.both, self.only_tests, self.only_fixes, self.neither)


def independence(run: GradedRun, fixed: Collection[str]) -> Independence:
    """Of a run's graded instances: those that it solves, and those that a set of fixes resolves."""
    graded = run.graded
    return Independence(*_table(graded.keys(), solved(graded), fixed))


def _methods(runs: Sequence[GradedRun]) -> list[int]:
    """Places of the runs that are methods."""
    return [at for at, run in enumerate(runs) if run.is_method]


def _table(
    ids: Collection[str], first: Collection[str], second: Collection[str]
) -> tuple[int, int, int, int]:
    """Both, only the first, only the second, neither."""
    found = Counter((id in first, id in second) for id in ids)
    return found[True, True], found[True, False], found[False, True], found[False, False]
