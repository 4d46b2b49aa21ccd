"""Grades as the records of a journal, and the reports that they rest on as files of a run."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from refute.errors import InputError
from refute.issue.coverage import ChangeCoverage
from refute.issue.grade import Evidence, IssueGrade
from refute.issue.reports import read_report, report_data
from refute.issue.verdict import Transition, Verdict

__all__ = ["Record", "grade_record", "read_evidence", "read_grade", "write_evidence"]

Record = dict[str, Any]


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
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(gzip.compress(json.dumps(data).encode(), compresslevel=5, mtime=0))
    part.replace(path)


def read_evidence(run: Path, id: str) -> Evidence | None:
    """The reports of an instance; None where nothing was run. Raises `InputError`."""
    path = _evidence_path(run, id)
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
        first, last = (tuple(map(read_report, reports)) for reports in data["predicted"])
        base, golden = (tuple(map(read_report, data[name])) for name in ("base", "golden"))
        return Evidence((first, last), (base[0], base[1]), (golden[0], golden[1]))
    except FileNotFoundError:
        return None
    except (OSError, EOFError, ValueError, KeyError, IndexError) as error:
        raise InputError(f"{path}: not the reports of a run: {error}") from None


def _evidence_path(run: Path, id: str) -> Path:
    return run / "reports" / (re.sub(r"[^\w.+-]", "_", id) + ".json.gz")
