"""Test reports as JSON, so that what was executed can be kept and graded again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from refute.workspace.contract import Failure, Frame, TestReport, TestResult

__all__ = ["read_report", "report_data"]


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
