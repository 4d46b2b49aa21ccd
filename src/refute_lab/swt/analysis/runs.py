"""Graded runs as they lie on disk: the grades, and what the predictions cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refute.errors import InputError
from refute_lab.benches import issues as bench
from refute_lab.benches.issues import PredictionRecord, given_words
from refute_lab.runs.journal import read_header, read_run
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grading.grade_records import RECORDS, GradeRecord, Grades, best_records


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
    """What the method was given besides the issue and the repository (Table 5), in words."""
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
        """Whether it is compared with methods: an oracle is not, nor is the first sample of pass@k,
        which nobody chose, nor are the golden tests."""
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
        raise InputError("--common: the runs have no instance in common")

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
    """What tells the runs over a dataset apart: method, models that differ, what was given.

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
