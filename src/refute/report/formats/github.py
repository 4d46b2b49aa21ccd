"""Workflow commands of GitHub Actions: each problem as an annotation on its line.

    ::warning file=src/cart.py,line=12,title=behaviour-changed%3A Cart.total::...

Whatever comes from the code is escaped, so that it cannot begin a command of its own.
"""

from __future__ import annotations

from refute.report.formats.contract import Case, Problem, Report
from refute.sandbox.values import printable

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github_text(report: Report) -> str:
    """A line for each problem, and one for each target that was not looked at."""
    lines = [line for case in report.cases for line in commands(case)]
    return "".join(f"{line}\n" for line in [*lines, *notices(report)])


def commands(case: Case) -> list[str]:
    """The commands for one case."""
    return [_command(case, problem) for problem in case.problems]


def notices(report: Report) -> list[str]:
    """The commands for what was not looked at."""
    left = (f"{one.where}: {one.reason}" for one in report.left)
    return [f"::notice title=not looked at::{_data(text)}" for text in left]


def _command(case: Case, problem: Problem) -> str:
    properties = {"title": f"{problem.rule}: {problem.function}".rstrip(": ")}
    if problem.file:
        properties = {"file": problem.file, "line": str(problem.line), **properties}
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = problem.message
    if problem.others:
        message += f"\nand {problem.others} more"
    if case.proposal is not None:
        message += f"\n{case.proposal.text}"
    return f"::{_COMMANDS[problem.level]} {told}::{_data(message)}"


def _data(text: str) -> str:
    text = "\n".join(printable(line) for line in text.splitlines())
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
