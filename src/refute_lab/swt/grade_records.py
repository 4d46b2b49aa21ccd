"""Grades as the records of a journal, and the reports that they rest on as files of a run."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from refute.core.problems import IssueKey
from refute.core.storage import parse_json, read_file, unpack
from refute.errors import InputError
from refute.workspace.running import TestStatus, read_report, report_data
from refute_lab.figures import Figure, mean
from refute_lab.runs.journal import Count, ErrorRecord, Number, Schema
from refute_lab.swt.grade import Evidence, IssueGrade
from refute_lab.swt.verdict import (
    ChangeCoverage,
    Status,
    Transition,
    Verdict,
    counted_lines,
)

Lines = tuple[tuple[str, Count], ...]
"""Pairs of file and line."""


@dataclass(frozen=True, slots=True)
class StoredCoverage:
    """Changed lines, and those of them that tests execute; see `ChangeCoverage`."""

    removed: Lines
    added: Lines
    covered_removed: Lines
    covered_added: Lines


@dataclass(frozen=True, slots=True)
class GoldenCheck:
    """A check that the golden tests reproduce the issue here."""

    works: bool
    missing: tuple[str, ...]
    """Tests of the row's FAIL_TO_PASS that do not go from fail to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRecord:
    """The grade of one prediction, without its evidence."""

    id: str
    status: Status
    own: tuple[tuple[str, TestStatus, TestStatus, bool], ...]
    """Each test of the patch: before, after, and whether it is flaky."""
    broken: tuple[str, ...]
    remarks: tuple[str, ...]
    others: tuple[str, ...]
    coverage: StoredCoverage | None
    golden_coverage: StoredCoverage | None
    golden: GoldenCheck | None = None
    seconds: Number | None = None
    repo: str | None = None
    fails_before: bool = False
    content: str | None = None
    """A digest of the instance and one of the prediction; None: of an older version."""


RECORDS = Schema("grade", GradeRecord)


def grade_record(
    grade: IssueGrade,
    *,
    golden: GoldenCheck | None = None,
    repo: str | None = None,
) -> GradeRecord:
    """A grade as it is stored, without its evidence."""
    verdict = grade.verdict
    return GradeRecord(
        id=grade.id,
        status=verdict.status,
        own=tuple((one.test, one.before, one.after, one.flaky) for one in verdict.own),
        broken=verdict.broken,
        remarks=verdict.remarks,
        others=grade.others,
        coverage=_stored(grade.coverage),
        golden_coverage=_stored(grade.golden_coverage),
        golden=golden,
        seconds=None,
        repo=repo,
        fails_before=verdict.fails_before,
    )


def read_grade(record: GradeRecord, evidence: Evidence | None = None) -> IssueGrade:
    """The grade in a record of a journal."""
    own = tuple(Transition(*row) for row in record.own)
    return IssueGrade(
        record.id,
        Verdict(record.status, own, record.broken, record.remarks, record.fails_before),
        _coverage(record.coverage),
        _coverage(record.golden_coverage),
        record.others,
        evidence,
    )


_LINES = [one.name for one in fields(StoredCoverage)]


def _stored(coverage: ChangeCoverage | None) -> StoredCoverage | None:
    if coverage is None:
        return None
    return StoredCoverage(**{name: getattr(coverage, name) for name in _LINES})


def _coverage(stored: StoredCoverage | None) -> ChangeCoverage | None:
    if stored is None:
        return None
    return ChangeCoverage(**{name: getattr(stored, name) for name in _LINES})


def evidence_files(grade: IssueGrade) -> dict[str, bytes]:
    """The reports that a grade rests on, as files of the run's folder by their paths in it."""
    if grade.evidence is None:
        return {}
    evidence = grade.evidence
    data = {
        "predicted": [[report_data(r) for r in reports] for reports in evidence.predicted],
        "base": [report_data(report) for report in evidence.base],
        "golden": [report_data(report) for report in evidence.golden],
    }
    packed = gzip.compress(json.dumps(data).encode(), compresslevel=5, mtime=0)
    return {_evidence_path(grade.id): packed}


def read_evidence(run: Path, id: str) -> Evidence | None:
    """The reports of an instance; None where nothing was run. Raises `InputError`."""
    path = run / _evidence_path(id)
    try:
        data = parse_json(unpack(read_file(path)))
        first, last = (tuple(map(read_report, reports)) for reports in data["predicted"])
        base, golden = (tuple(map(read_report, data[name])) for name in ("base", "golden"))
        return Evidence((first, last), (base[0], base[1]), (golden[0], golden[1]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{path}: not the reports of a run: {error}") from None


def _evidence_path(id: str) -> str:
    return "reports/" + re.sub(r"[^\w.+-]", "_", id) + ".json.gz"


# -- grade summary ---------------------------------------------------------------------------------


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
