"""Test reports as JSON, and a cache of them: what was executed is kept and graded again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from refute.core.storage import write_atomically
from refute.workspace.contract import Failure, Frame, TestReport, TestResult


class ReportCache:
    """Reports on disk, each under a digest of all that it depends on. Without a directory none."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def get(self, *key: Any) -> TestReport | None:
        """The report kept under `key` (JSON data; tuples are lists), where there is one."""
        if self._directory is None:
            return None
        try:
            return read_report(json.loads(self._path(self._directory, key).read_text()))
        except (OSError, ValueError):
            return None  # a damaged file is replaced by the next report

    def put(self, report: TestReport, *key: Any) -> None:
        """Keep a report. Raises `OSError`."""
        if self._directory is None:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(report_data(report), separators=(",", ":"))
        write_atomically(self._path(self._directory, key), text, durable=False)

    def _path(self, directory: Path, key: tuple[Any, ...]) -> Path:
        text = json.dumps(key, sort_keys=True, default=list)
        return directory / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def report_data(report: TestReport) -> dict[str, Any]:
    """A report as JSON data; `read_report` is its inverse."""
    data = asdict(report)
    data["lines"] = {
        file: {str(line): count for line, count in lines.items()}
        for file, lines in report.lines.items()
    }
    return data


def read_report(data: Mapping[str, Any]) -> TestReport:
    """A report from its JSON data. Raises `ValueError` when it is not one."""
    try:
        fields = dict(data)
        fields["results"] = tuple(_result(row) for row in data["results"])
        fields["lines"] = {
            str(file): {int(line): int(count) for line, count in lines.items()}
            for file, lines in data["lines"].items()
        }
        return TestReport(**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a test report: {error}") from None


def _result(row: Mapping[str, Any]) -> TestResult:
    fields = dict(row)
    failure = fields.get("failure")
    if failure is not None:
        frames = tuple(Frame(**frame) for frame in failure["frames"])
        fields["failure"] = Failure(**{**failure, "frames": frames})
    fields["names"] = tuple(fields["names"])
    return TestResult(**fields)
