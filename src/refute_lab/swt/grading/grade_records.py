"""Grades as the records of a journal, and the reports that they rest on as files of a run."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, fields
from pathlib import Path

from refute.core.files import parse_json, read_file, unpack
from refute.errors import InputError
from refute.workspace.report_cache import read_report, report_data
from refute.workspace.statuses import TestStatus
from refute_lab.runs.records import Count, Number, Schema
from refute_lab.swt.grading.coverage import ChangeCoverage
from refute_lab.swt.grading.grade import Evidence, IssueGrade
from refute_lab.swt.grading.verdict import Status, Transition, Verdict

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
    """Whether the golden tests reproduce the issue here."""

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
    seconds: float | None = None,
) -> GradeRecord:
    """A grade as it is stored, without its evidence. `seconds`: what grading took."""
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
        seconds=None if seconds is None else round(seconds, 3),
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
