"""Grades as the records of a journal, and the reports that they rest on as files of a run."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from refute.errors import InputError
from refute.files import read_file, unpack
from refute.issue.grading.coverage import ChangeCoverage
from refute.issue.grading.grade import Evidence, IssueGrade
from refute.issue.grading.statuses import TestStatus
from refute.issue.grading.verdict import Status, Transition, Verdict
from refute.issue.report_cache import read_report, report_data
from refute.jsontext import parse_json
from refute.runs.shapes import COUNT, FLAG, NUMBER, maybe, misfit, optional
from refute.storage import write_atomically

__all__ = ["Record", "damage", "grade_record", "read_evidence", "read_grade", "write_evidence"]

Record = dict[str, Any]


_LINES = [[str, COUNT]]
_COVERAGE = optional(
    {"removed": _LINES, "added": _LINES, "covered_removed": _LINES, "covered_added": _LINES}
)
_STANDING = frozenset(get_args(TestStatus))
_SHAPE = {
    "status": frozenset(get_args(Status)),
    "own": [[str, _STANDING, _STANDING, FLAG]],
    "broken": [str],
    "remarks": [str],
    "others": [str],
    "coverage": _COVERAGE,
    "golden_coverage": _COVERAGE,
    "golden": optional({"works": FLAG, "missing": [str]}),
    "seconds": maybe(NUMBER),
    "repo": maybe(str),
}


def damage(record: Record) -> str:
    """What is wrong with the record of a grade, for `Journal`; "" where nothing is."""
    missing = [name for name in ("coverage", "golden_coverage") if name not in record]
    return f"{missing[0]} is missing" if missing else misfit(record, _SHAPE)


def grade_record(grade: IssueGrade) -> Record:
    """A grade as JSON data, without its evidence."""
    verdict = grade.verdict
    return {
        "id": grade.id,
        "status": verdict.status,
        "own": [[one.test, one.before, one.after, one.flaky] for one in verdict.own],
        "broken": list(verdict.broken),
        "remarks": list(verdict.remarks),
        "others": list(grade.others),
        "coverage": None if grade.coverage is None else asdict(grade.coverage),
        "golden_coverage": None if grade.golden_coverage is None else asdict(grade.golden_coverage),
    }


def read_grade(record: Mapping[str, Any], evidence: Evidence | None = None) -> IssueGrade:
    """The grade in a record of a journal."""
    verdict = Verdict(
        record["status"],
        tuple(Transition(*row) for row in record["own"]),
        tuple(record["broken"]),
        tuple(record["remarks"]),
    )
    return IssueGrade(
        record["id"],
        verdict,
        _coverage(record["coverage"]),
        _coverage(record["golden_coverage"]),
        tuple(record["others"]),
        evidence,
    )


def _coverage(data: Mapping[str, Any] | None) -> ChangeCoverage | None:
    if data is None:
        return None
    return ChangeCoverage(
        **{name: tuple((file, line) for file, line in lines) for name, lines in data.items()}
    )


def write_evidence(run: Path, grade: IssueGrade) -> None:
    """Write the reports that a grade rests on to the run's folder, whole or not at all."""
    if grade.evidence is None:
        return
    evidence = grade.evidence
    data = {
        "predicted": [[report_data(r) for r in reports] for reports in evidence.predicted],
        "base": [report_data(report) for report in evidence.base],
        "golden": [report_data(report) for report in evidence.golden],
    }
    path = _evidence_path(run, grade.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress(json.dumps(data).encode(), compresslevel=5, mtime=0))


def read_evidence(run: Path, id: str) -> Evidence | None:
    """The reports of an instance; None where nothing was run. Raises `InputError`."""
    path = _evidence_path(run, id)
    try:
        data = parse_json(unpack(read_file(path)))
        first, last = (tuple(map(read_report, reports)) for reports in data["predicted"])
        base, golden = (tuple(map(read_report, data[name])) for name in ("base", "golden"))
        return Evidence((first, last), (base[0], base[1]), (golden[0], golden[1]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{path}: not the reports of a run: {error}") from None


def _evidence_path(run: Path, id: str) -> Path:
    return run / "reports" / (re.sub(r"[^\w.+-]", "_", id) + ".json.gz")
