"""JSON lines: a line for each function as it is done, then one for all (schema `line/1`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from msgspec import convert

from refute.report.formats.contract import Case, Report
from refute.results import as_json
from refute.results.lines import FunctionLine, LastLine, ShownProblem, SkippedLine


def jsonl_text(report: Report) -> str:
    """All lines of a report."""
    cases = (case_line(report.verb, case) for case in report.cases)
    return "".join(f"{line}\n" for line in (*cases, *last_lines(report)))


def case_line(verb: str, case: Case) -> str:
    """The line of one function."""
    return as_json(
        FunctionLine(
            verb=verb,
            type="function",
            file=case.file,
            line=case.line,
            function=case.function,
            state=case.state,
            problems=convert(case.problems, list[ShownProblem], from_attributes=True),
            reason=case.reason or None,
            proposal=None if case.proposal is None else case.proposal.text,
        )
    )


def last_lines(report: Report) -> Iterator[str]:
    """What comes after the functions: what was not looked at, and the summary."""
    verb = report.verb
    for one in report.left:
        yield as_json(SkippedLine(verb=verb, type="skipped", **asdict(one)))
    yield as_json(
        LastLine(
            verb=verb,
            type="summary",
            functions=len(report.cases),
            problems=len(report.problems),
            skipped=len(report.left),
            known=report.known,
            interrupted=report.interrupted,
            text=report.summary,
        )
    )
