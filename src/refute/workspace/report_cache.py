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
    """Reports in memory and, with a directory, on disk: each under a digest of all that it depends
    on. `instance`: what is the same for all of them, as JSON data."""

    def __init__(self, directory: Path | None, *instance: Any) -> None:
        self._directory = directory
        self._instance = instance
        self._known: dict[str, TestReport] = {}

    def get(self, *key: Any) -> TestReport | None:
        """The report kept under `key` (JSON data; tuples are lists), where there is one."""
        name = self._name(key)
        if name not in self._known and self._directory is not None:
            try:
                self._known[name] = read_report(json.loads((self._directory / name).read_text()))
            except (OSError, ValueError):
                return None  # a damaged file is replaced by the next report
        return self._known.get(name)

    def put(self, report: TestReport, *key: Any) -> None:
        """Keep a report, unless its run was meddled with. Raises `OSError`."""
        if not report.trusted:
            return
        name = self._name(key)
        self._known[name] = report
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
            text = json.dumps(report_data(report), separators=(",", ":"))
            write_atomically(self._directory / name, text, durable=False)

    def _name(self, key: tuple[Any, ...]) -> str:
        text = json.dumps([*self._instance, *key], sort_keys=True, default=list)
        return f"{hashlib.sha256(text.encode()).hexdigest()}.json"


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
