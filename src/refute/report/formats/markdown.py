"""Markdown for a comment on a change or the summary of a job: short, and safe to be shown.

All that comes from the code stands in code spans, where it is neither markup nor a mention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from refute.report.formats.contract import Case, Problem, Report
from refute.sandbox.values import printable

MOST = 20
"""Problems that are shown, the gravest first."""
_CELL = 200
_ORDER = ("error", "warning", "note")
_MARKS = {"error": "wrong", "warning": "to look at", "note": "as stated"}


def markdown_text(report: Report) -> str:
    """A heading, the summary, a table of problems, what was not looked at."""
    rows = [(case, problem) for case in report.cases for problem in case.problems]
    rows.sort(key=lambda row: _ORDER.index(row[1].level))
    lines = [f"### refute {report.verb}", "", _code(report.summary or "nothing found"), ""]
    if rows:
        lines += ["| | where | what |", "|---|---|---|"]
        lines += [_row(case, problem) for case, problem in rows[:MOST]]
        if len(rows) > MOST:
            lines.append(f"\nand {len(rows) - MOST} more")
        lines.append("")
    lines += _left(report)
    if report.known:
        lines += [f"{report.known} known problems are not shown (baseline).", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(case: Case, problem: Problem) -> str:
    where = f"{problem.file}:{problem.line} {problem.function}" if problem.file else "-"
    what = _code(problem.message)
    if problem.others:
        what += f" and {problem.others} more"
    if case.proposal is not None:
        what += f"<br>{_code(case.proposal.text)}"
    return f"| {_MARKS[problem.level]} | {_code(where)} | {what} |"


def _left(report: Report) -> Sequence[str]:
    if not report.left:
        return []
    lines = ["<details><summary>not looked at: " + str(len(report.left)) + "</summary>", ""]
    lines += [f"- {_code(f'{one.where}: {one.reason}')}" for one in report.left[:MOST]]
    if len(report.left) > MOST:
        lines.append(f"- and {len(report.left) - MOST} more")
    return [*lines, "", "</details>", ""]


def _code(text: str) -> str:
    """A code span in a cell of a table, whatever the text holds."""
    text = " ".join(printable(line) for line in text.splitlines())
    text = text if len(text) <= _CELL else f"{text[: _CELL - 3]}..."
    text = text.replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}" if text else ""
