"""All analyses of the runs over one dataset, in the order in which a report shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from refute.core.problems import IssueKey, IssueProblem
from refute_lab.figures import (
    Figure,
    Interval,
    Share,
    chi_squared,
    fisher,
    fisher_greater,
    holm,
    mcnemar,
    paired_interval,
)
from refute_lab.swt.grade_records import Summary, summarize
from refute_lab.swt.measures import (
    GradedRun,
    Group,
    RunCost,
    by_date,
    by_length,
    by_repository,
    cost,
    pass_at,
    resolved_share,
    run_labels,
    share,
    solved,
)

# -- overlap ---------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class StudiedRun:
    """One run of a study."""

    label: str
    run: GradedRun
    summary: Summary
    cost: RunCost | None
    pass_at: tuple[Figure, ...]
    """pass@1, pass@2, ...; () where the run drew no samples."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """S of every run in groups of instances."""

    title: str
    groups: tuple[Group, ...]
    shares: tuple[tuple[Share, ...], ...]
    """For each group that of each run."""
    fixes: tuple[tuple[str, tuple[Share, ...]], ...] = ()
    """Name of a set of fixes -> for each group the share of its instances that they resolve
    (SWT-Bench's Figure 5 has both)."""


@dataclass(frozen=True, slots=True)
class Study:
    """The runs over one dataset, with everything that is said about them."""

    dataset: str
    subjects: tuple[StudiedRun, ...]
    breakdowns: tuple[Breakdown, ...]
    ensemble: Ensemble
    pairs: tuple[Pair, ...]
    fixes: tuple[tuple[str, tuple[Independence, ...]], ...]
    """Name of a set of fixes -> for each run its independence of them."""


def study(
    dataset: str,
    runs: Sequence[GradedRun],
    problems: Sequence[IssueProblem],
    keys: Sequence[IssueKey],
    *,
    fixes: Mapping[str, Collection[str]] | None = None,
    cutoff: str | None = None,
) -> Study:
    """Analyse runs over one dataset.

    `problems` and `keys`: the dataset's instances that any run has. `fixes`: name of a set of
    fixes -> ids of the instances that they resolve. `cutoff`: a day (`2023-04-30`); issues until it
    and after it are separate.
    """
    labels = run_labels(runs)
    groupings = [("by repository", by_repository(problems)), ("by length", by_length(problems))]
    if cutoff is not None:
        groupings.append(("by date of the issue", by_date(problems, cutoff)))
    return Study(
        dataset,
        tuple(_subject(label, run, keys) for label, run in zip(labels, runs, strict=True)),
        tuple(
            Breakdown(
                title,
                groups,
                tuple(tuple(share(run, group) for run in runs) for group in groups),
                tuple(
                    (name, tuple(resolved_share(resolved, group) for group in groups))
                    for name, resolved in (fixes or {}).items()
                ),
            )
            for title, groups in groupings
        ),
        ensemble(runs),
        pairs(runs),
        tuple(
            (name, tuple(independence(run, resolved) for run in runs))
            for name, resolved in (fixes or {}).items()
        ),
    )


def _subject(label: str, run: GradedRun, keys: Sequence[IssueKey]) -> StudiedRun:
    summary = summarize(keys, run.grades)
    return StudiedRun(
        label, run, summary, cost(run, summary.statuses.get("success", 0)), pass_at(run)
    )
