"""What a verb found, in the forms that other programs read: one `Report`, several formats of it."""

from __future__ import annotations

from collections.abc import Callable

from refute.report.formats.contract import Report

__all__ = ["FORMATS", "formatted"]

FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "markdown")
"""`text` and `json` are each verb's own; the others are made of its `Report`."""


def formatted(report: Report, name: str) -> str:
    """A report in one of the formats, `text` and `json` excepted; it ends with a line feed, or is
    empty."""
    return _writer(name)(report)


def _writer(name: str) -> Callable[[Report], str]:
    if name == "sarif":
        from refute.report.formats.sarif import sarif_text

        return sarif_text
    if name == "junit":
        from refute.report.formats.junit import junit_text

        return junit_text
    if name == "github":
        from refute.report.formats.github import github_text

        return github_text
    if name == "markdown":
        from refute.report.formats.markdown import markdown_text

        return markdown_text
    from refute.report.formats.lines import jsonl_text

    return jsonl_text
