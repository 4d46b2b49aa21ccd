"""JSON lines: a line for each function as it is done, then one for all (schema `line/1`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from refute.report.formats.contract import Case, Left, Problem, Report

_SCHEMA = "line/1"


def jsonl_text(report: Report) -> str:
    """All lines of a report."""
    cases = (case_line(report.verb, case) for case in report.cases)
    return "".join(f"{line}\n" for line in (*cases, *last_lines(report)))


def case_line(verb: str, case: Case) -> str:
    """The line of one function."""
    return _line(
        verb,
        "function",
        file=case.file,
        line=case.line,
        function=case.function,
        state=case.state,
        problems=[_problem(one) for one in case.problems],
        reason=case.reason or None,
        proposal=case.proposal.text if case.proposal is not None else None,
    )


def last_lines(report: Report) -> Iterator[str]:
    """What comes after the functions: what was not looked at, and the summary."""
    for one in report.left:
        yield _line(report.verb, "skipped", **_left(one))
    yield _line(
        report.verb,
        "summary",
        functions=len(report.cases),
        problems=len(report.problems),
        skipped=len(report.left),
        known=report.known,
        interrupted=report.interrupted,
        text=report.summary,
    )


def _line(verb: str, of: str, /, **more: Any) -> str:
    return json.dumps({"schema": _SCHEMA, "verb": verb, "type": of, **more})


def _left(one: Left) -> dict[str, str]:
    return {"where": one.where, "kind": one.kind, "reason": one.reason}


def _problem(one: Problem) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "level": one.level,
        "message": one.message,
        "others": one.others,
        "fingerprint": one.fingerprint,
    }
