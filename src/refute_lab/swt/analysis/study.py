"""All analyses of the runs over one dataset, in the order in which a report shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from refute.core.problems import IssueKey, IssueProblem
from refute_lab.figures import Figure, Share
from refute_lab.swt.analysis.figures import (
    Group,
    RunCost,
    by_date,
    by_length,
    by_repository,
    cost,
    pass_at,
    resolved_share,
    share,
)
from refute_lab.swt.analysis.overlap import (
    Ensemble,
    Independence,
    Pair,
    ensemble,
    independence,
    pairs,
)
from refute_lab.swt.analysis.runs import GradedRun, run_labels
from refute_lab.swt.grading.grade_records import Summary, summarize


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
    and after it are told apart.
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
