"""All analyses of the runs over one dataset, in the order in which a report shows them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from refute.core.problems import IssueKey, IssueProblem
from refute.errors import InputError
from refute.issue.context import estimated_tokens
from refute.workspace.patches import file_patches
from refute.workspace.running import statuses
from refute_lab.benches import issues as bench
from refute_lab.benches.issues import PredictionRecord, given_words, spent_on
from refute_lab.figures import (
    Figure,
    PairedRuns,
    Share,
    Sums,
    chi_squared,
    fisher,
    fisher_greater,
    mean,
    paired,
)
from refute_lab.runs import ErrorRecord, read_header, read_run
from refute_lab.swt import Transition, executable_lines, own_tests, transitions
from refute_lab.swt.grade import (
    RECORDS,
    Evidence,
    GradeRecord,
    Grades,
    Summary,
    best_records,
    read_evidence,
    summarize,
)

# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GradedRun:
    """One method's grades on a dataset."""

    dataset: str
    method: str
    """The method's name, or `model_name_or_path` of predictions that we did not make."""
    folder: Path
    grades: Grades
    """Errors included."""
    model: str | None = None
    given: tuple[str, ...] = ()
    """Inputs of the method besides the issue and the repository (Table 5), in words."""
    work: tuple[PredictionRecord | ErrorRecord, ...] = ()
    """Records of `refute bench`, one per instance; () where the predictions came from elsewhere."""
    samples: tuple[Grades, ...] = ()
    """Grades of each sample, where the method drew several."""
    oracle: bool = False
    """pass@k: the best sample by its grade. A bound, no method: not compared with methods."""
    missing: int = 0
    """Instances of the run that have no grade yet."""
    gold: bool = False
    """The golden tests as predictions: what can be reached, no method."""

    @property
    def is_method(self) -> bool:
        """Return whether it is compared with methods: an oracle is not, nor is the first sample of
        pass@k, which nobody chose, nor are the golden tests."""
        return not (self.oracle or self.gold or self.method.startswith("pass@"))

    @property
    def graded(self) -> dict[str, GradeRecord]:
        """The records that are grades: infrastructure's errors are left out."""
        return {id: r for id, r in self.grades.items() if not isinstance(r, ErrorRecord)}


def solved(grades: Grades) -> frozenset[str]:
    """Ids of the instances with success (S)."""
    return frozenset(id for id, record in grades.items() if record.status == "success")


def read_graded(directory: Path) -> list[GradedRun]:
    """The graded run in a folder of `refute bench` or of `refute grade`, then its pass@k.

    The run may be under way. Raises `InputError` where there are no grades.
    """
    header = read_header(directory)
    if header is None:
        raise InputError(f"{directory}: no run is there")
    if header.get("task") == "repair" or header.get("kind") == "fix grades":
        raise InputError(
            f"{directory}: holds fixes; compare tests with them by --fixes {directory}"
        )
    if header.get("kind") == "issues":
        grades = directory / "grades"
        first = grades / "predictions"
        if read_header(first) is None:
            again = f"refute bench {header['dataset']} --run {directory} --grade"
            raise InputError(f"{directory}: its predictions have no grades yet: {again}")
        return _with_samples(_of_bench(directory, header, _records(first)), grades)
    if header.get("kind") != "grades":
        raise InputError(f"{directory}: not a run of refute bench or grade over issues")
    run = directory.parent.parent
    above = read_header(run) if directory.parent.name == "grades" else None
    if above is not None and above.get("kind") == "issues" and directory.name == "predictions":
        return [_of_bench(run, above, _records(directory))]
    gold = header.get("predictions") == "gold"
    records = _records(directory)
    return [GradedRun(header["dataset"], header["model"], directory, records, gold=gold)]


def _of_bench(directory: Path, header: Mapping[str, Any], grades: Grades) -> GradedRun:
    _, work = read_run(directory, bench.RECORDS)
    return GradedRun(
        dataset=header["dataset"],
        method=header["method"],
        folder=directory,
        grades=grades,
        model=header.get("model"),
        given=given_words(header),
        work=tuple(work),
        missing=max(0, int(header.get("problems", 0)) - len(grades)),
    )


def _with_samples(run: GradedRun, grades: Path) -> list[GradedRun]:
    samples: list[Grades] = []
    while read_header(folder := grades / f"predictions.{len(samples)}") is not None:
        samples.append(_records(folder))
    if not samples:
        return [run]
    run = replace(run, samples=tuple(samples))
    best = replace(
        run,
        method=run.method
        if run.method.startswith("pass@")
        else f"pass@{len(samples)} of {run.method}",
        grades=best_records(samples),
        work=(),
        samples=(),
        oracle=True,
    )
    return [run, best]


def on_common(runs: Sequence[GradedRun]) -> list[GradedRun]:
    """The runs over the instances that all of them have a grade for. Raises `InputError`."""
    common = set.intersection(*(set(run.graded) for run in runs)) if runs else set()
    if not common:
        raise InputError("common: the runs have no instance in common")

    def kept(grades: Grades) -> Grades:
        return {id: record for id, record in grades.items() if id in common}

    return [
        replace(
            run,
            grades=kept(run.grades),
            work=tuple(one for one in run.work if one.id in common),
            samples=tuple(map(kept, run.samples)),
            missing=0,
        )
        for run in runs
    ]


def _records(directory: Path) -> Grades:
    _, records = read_run(directory, RECORDS)
    return {record.id: record for record in records}


def run_labels(runs: Sequence[GradedRun]) -> list[str]:
    """Label the runs over a dataset by method, by models that differ and by what was given away.

    Runs that are still called alike have their folder.
    """
    labels = []
    for run in runs:
        models = {one.model for one in runs if one.dataset == run.dataset and one.model}
        words = [_named(run), *([run.model] if run.model and len(models) > 1 else [])]
        labels.append(", ".join((" ".join(words), *run.given)))
    keys = [(run.dataset, label) for run, label in zip(runs, labels, strict=True)]
    return [
        f"{label} [{run.folder.name}]" if keys.count(key) > 1 else label
        for run, label, key in zip(runs, labels, keys, strict=True)
    ]


def _named(run: GradedRun) -> str:
    """The method; a run of pass@k holds its first sample, which is not the best of k."""
    first = run.method.startswith("pass@") and not run.oracle
    return f"first sample of {run.method}" if first else run.method


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
    """Return whether it is a day as `by_date` takes it."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _groups(groups: Mapping[str, Sequence[str]]) -> tuple[Group, ...]:
    return tuple(Group(label, tuple(ids)) for label, ids in groups.items())


# -- sampling --------------------------------------------------------------------------------------


def pass_at(run: GradedRun) -> tuple[Figure, ...]:
    """pass@1 to pass@n of a run with n graded samples of each instance.

    The unbiased estimate of Chen et al. (arXiv 2107.03374): 1 - C(n - c, k) / C(n, k) for c
    successes. Over the instances with a grade for all samples.
    """
    n = len(run.samples)
    if n < 2:
        return ()
    common = set.intersection(*(set(records) for records in run.samples))
    counts = []
    for id in sorted(common):
        states = [records[id].status for records in run.samples]
        if "error" not in states:
            counts.append(states.count("success"))
    return tuple(
        mean(1 - math.comb(n - c, k) / math.comb(n, k) for c in counts) for k in range(1, n + 1)
    )


@dataclass(frozen=True, slots=True)
class RunCost:
    """A run's cost in model calls and machine time."""

    instances: int
    samples: int
    """Of the model, those from its cache included (at their first price)."""
    tokens: int
    usd: float | None
    """None: no price is known."""
    seconds: float
    """Wall clock, added up over instances."""
    solved: int

    @property
    def usd_per_instance(self) -> float | None:
        return None if self.usd is None or not self.instances else self.usd / self.instances

    @property
    def usd_per_success(self) -> float | None:
        return None if self.usd is None or not self.solved else self.usd / self.solved


def cost(run: GradedRun, successes: int) -> RunCost | None:
    """The cost of a run of `refute bench`; None where the predictions came from elsewhere."""
    done = [record for record in run.work if not isinstance(record, ErrorRecord)]
    if not done:
        return None
    spent = spent_on(done)
    return RunCost(
        instances=len(done),
        samples=spent.samples + spent.cached,
        tokens=spent.prompt_tokens + spent.completion_tokens,
        usd=spent.usd,
        seconds=sum(record.seconds for record in done),
        solved=successes,
    )


# -- golden run ------------------------------------------------------------------------------------


TestChange = Literal["adds", "modifies", "removes"]
_KINDS = {("fail", "pass"): "f2p", ("fail", "fail"): "f2f", ("pass", "pass"): "p2p",
          ("pass", "fail"): "p2f"}  # fmt: skip
_DEFINED = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)|^\s*class\s+(\w+)")


def measured(run: Path, keys: Iterable[IssueKey]) -> dict[str, dict[str, Any]]:
    """Instance -> what its golden run showed, of those that were run.

    Raises `InputError` where the folder holds no graded golden tests.
    """
    header = read_header(run)
    if header is None or header.get("predictions") != "gold":
        told = "not a run of the golden tests; make one: refute grade DATASET gold --run"
        raise InputError(f"{run}: {told} {run}")
    found = {key.id: (key, read_evidence(run, key.id)) for key in keys}
    return {id: measured_by(key, one) for id, (key, one) in found.items() if one is not None}


def measured_by(key: IssueKey, evidence: Evidence) -> dict[str, Any]:
    """Counts by kind of the existing tests of the golden tests' files, and of the golden tests:
    those that are new or stand differently, a changed parametrised one included. Share of X* that
    the existing tests execute already."""
    base_before, base_after = map(statuses, evidence.base)
    base = transitions(base_before, base_after)
    golden = transitions(*map(statuses, evidence.golden))
    lines = executable_lines(key.patch, base=evidence.base, golden=evidence.golden)
    executed = [
        bool(report.lines.get(file, {}).get(line))
        for part, report in zip((lines.removed, lines.added), evidence.base, strict=True)
        for file, line in part
    ]
    return {
        "existing": _by_kind(base.values()),
        "golden": _by_kind(own_tests(golden, base)),
        "added": len(golden.keys() - base.keys()),
        "removed": len(base.keys() - golden.keys()),
        "coverage": sum(executed) / len(executed) if executed else None,
    }


def _by_kind(rows: Iterable[Transition]) -> dict[str, int]:
    pairs = Counter((one.before, one.after) for one in rows)
    return {name: pairs[pair] for pair, name in _KINDS.items()}  # type: ignore[index]


def change_of_tests(test_patch: str) -> TestChange:
    """Return whether golden tests add a function or class, take some away and add none, or change
    what is in them. The paper's shares are 71, 1 and 28 %; so read, they fit best."""
    plus, minus = set[str](), set[str]()
    for part in file_patches(test_patch):
        for line in part.text.splitlines():
            match = None if line.startswith(("+++", "---")) else _DEFINED.match(line[1:])
            if match is not None and line[0] in "+-":
                (plus if line[0] == "+" else minus).add(match[1] or match[2])
    if plus - minus:
        return "adds"
    return "removes" if minus - plus else "modifies"


# -- study -----------------------------------------------------------------------------------------


# -- overlap ---------------------------------------------------------------------------------------


def pairs(runs: Sequence[GradedRun]) -> tuple[PairedRuns, ...]:
    """Every two runs of methods on S: golden tests and pass@k left out."""
    methods = set(_methods(runs))
    sums: list[Sums] = []
    for at, run in enumerate(runs):
        ids, right = (run.graded if at in methods else ()), solved(run.graded)
        sums.append({id: (float(id in right), 1) for id in ids})
    return tuple(paired("success", sums))


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
    pairs: tuple[PairedRuns, ...]
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
