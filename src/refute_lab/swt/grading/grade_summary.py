"""The figures of a graded run: SWT-Bench's Tables 2 and 3, each with its standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from refute.core.problems import IssueKey
from refute_lab.figures import Figure, mean
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.grading.coverage import counted_lines
from refute_lab.swt.grading.grade import IssueGrade
from refute_lab.swt.grading.grade_records import GradeRecord, read_grade

Grades = Mapping[str, GradeRecord | ErrorRecord]
"""Instance id -> its grade, or why there is none."""

Columns = Literal["v1", "later"]
"""Whose definitions a table has: the paper's first version's, or the benchmark's of today."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's figures. Shares of instances, and means of ΔC over instances."""

    n: int
    """Instances with a grade."""
    figures: Mapping[str, Figure]
    statuses: Mapping[str, int]
    """Status -> number of instances."""
    errors: Mapping[str, str]
    """Instances without a grade, with the reason: infrastructure, never counted as wrong."""
    flaky: int
    """Instances with a flaky test of the patch."""
    doubtful: tuple[str, ...]
    """Instances whose golden tests show no F→P here."""
    others: int
    """Predictions that touch files besides tests."""
    counted: int
    """Instances that ΔC is a mean over: the others have no line that it counts."""


def summarize(keys: Sequence[IssueKey], records: Grades) -> Summary:
    """The figures over the instances that have a record, in the order of `keys`.

    ΔC is 0 for a prediction whose tests were not run. An instance is left out of it when its golden
    patch changes no line of Python, or none that the original or golden tests execute.
    """
    found = [records[key.id] for key in keys if key.id in records]
    graded = [record for record in found if not isinstance(record, ErrorRecord)]
    grades = [read_grade(record) for record in graded]
    by_id = {key.id: key for key in keys}
    covered = [(grade, c) for grade in grades if (c := _delta(grade, by_id[grade.id])) is not None]

    def share(holds: Callable[[IssueGrade], bool]) -> Figure:
        return mean(float(holds(grade)) for grade in grades)

    return Summary(
        n=len(grades),
        figures={
            "applicable": share(lambda g: g.applicable),
            "fail_to_any": share(lambda g: bool(g.verdict.fail_to_any)),
            "fail_to_pass": share(lambda g: bool(g.verdict.fail_to_pass)),
            "pass_to_pass": share(lambda g: bool(g.verdict.pass_to_pass)),
            "fail_to_any_v1": share(lambda g: g.applicable and _fails_before(g)),
            "pass_to_pass_v1": share(lambda g: g.applicable and not _fails_before(g)),
            "success": share(lambda g: g.verdict.success),
            "coverage": mean(value for _, value in covered),
            "coverage_success": mean(v for g, v in covered if g.verdict.success),
            "coverage_other": mean(v for g, v in covered if not g.verdict.success),
        },
        statuses=dict(Counter(grade.verdict.status for grade in grades).most_common()),
        errors={one.id: one.error for one in found if isinstance(one, ErrorRecord)},
        flaky=sum(any(one.flaky for one in grade.verdict.own) for grade in grades),
        doubtful=tuple(r.id for r in graded if r.golden is not None and not r.golden.works),
        others=sum(bool(grade.others) for grade in grades),
        counted=len(covered),
    )


def best_records(samples: Sequence[Grades]) -> dict[str, GradeRecord | ErrorRecord]:
    """Of several samples of each instance the best graded one: the oracle of pass@k.

    Success counts most, then F→P, then ΔC, then applicability (the reference's order). An instance
    is without a grade when one of its samples is, and none succeeds.
    """
    best: dict[str, GradeRecord | ErrorRecord] = {}
    for id in dict.fromkeys(id for records in samples for id in records):
        rows = [records[id] for records in samples if id in records]
        errors = [row for row in rows if isinstance(row, ErrorRecord)]
        graded = [row for row in rows if not isinstance(row, ErrorRecord)]
        top = max(graded, key=_goodness) if graded else errors[0]
        best[id] = errors[0] if errors and top.status != "success" else top
    return best


def _goodness(record: GradeRecord) -> tuple[bool, bool, float, bool]:
    grade = read_grade(record)
    delta = grade.coverage.value if grade.coverage is not None else None
    verdict = grade.verdict
    return verdict.success, bool(verdict.fail_to_pass), delta or 0.0, grade.applicable


def _fails_before(grade: IssueGrade) -> bool:
    """A record that was made before `fails_before` was told at least says what its tests do."""
    return grade.verdict.fails_before or bool(grade.verdict.fail_to_any)


def _delta(grade: IssueGrade, key: IssueKey) -> float | None:
    if grade.coverage is not None:
        return grade.coverage.value
    return 0.0 if counted_lines(key.patch) else None
