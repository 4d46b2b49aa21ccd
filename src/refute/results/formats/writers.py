"""A report in the formats of other programs: GitHub's commands, an HTML page, JUnit XML, JSON
lines, Markdown, SARIF 2.1.0, a badge.

GitHub: each problem is an annotation on its line (`::warning file=src/cart.py,line=12,...`);
whatever comes from the code is escaped, so that it cannot begin a command of its own. Markdown, for
a comment on a change: what comes from the code stands in code spans, where it is neither markup nor
a mention.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from msgspec import convert

from refute.function.source import unified_diff
from refute.results import as_json
from refute.results.baselines import FunctionLine, LastLine, ShownProblem, SkippedLine
from refute.results.formats import RULES, Case, Problem, Proposal, Report
from refute.sandbox.values import printable

if TYPE_CHECKING:
    from refute.function.contract import Skipped

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
    message = f"{problem.message}{_and_more(problem)}"
    if case.proposal is not None:
        message += f"\n{case.proposal.text}"
    return f"::{_COMMANDS[problem.level]} {told}::{_data(message)}"


def _data(text: str) -> str:
    text = "\n".join(printable(line) for line in text.splitlines())
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_NOTHING_SAID = frozenset({"cannot tell"})


def junit_text(report: Report) -> str:
    """One document. A function of which nothing can be said, and what was not looked at, is a
    skipped case."""
    root = ElementTree.Element("testsuites", name=f"refute {report.verb}")
    files: dict[str, list[Case]] = {}
    for case in report.cases:
        files.setdefault(case.file, []).append(case)
    for file, cases in files.items():
        root.append(_suite(file or report.verb, [_case(case) for case in cases]))
    if report.left:
        left = []
        for one in report.left:
            item = ElementTree.Element("testcase", classname=one.kind, name=one.where)
            ElementTree.SubElement(item, "skipped", message=one.reason)
            left.append(item)
        root.append(_suite("not looked at", left))
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("errors", "0")
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, printable(value))
        element.text = element.text and printable(element.text)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(name: str, cases: list[ElementTree.Element]) -> ElementTree.Element:
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": 0,
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    told = {key: str(value) for key, value in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": name, **told})
    suite.extend(cases)
    return suite


def _case(case: Case) -> ElementTree.Element:
    module = case.file.removesuffix(".py").replace("/", ".")
    place = {"file": case.file, "line": str(case.line)} if case.file else {}
    named = {"classname": module, "name": case.function or case.state}
    item = ElementTree.Element("testcase", {**named, **place})
    grave = [one for one in case.problems if one.level != "note"]
    if grave:
        lines = [f"{one.message}{_and_more(one)}" for one in grave]
        if case.proposal is not None:
            lines.append(case.proposal.text)
        first = grave[0]
        failure = ElementTree.SubElement(item, "failure", type=first.rule, message=first.message)
        failure.text = "\n".join(lines)
    elif case.state in _NOTHING_SAID:
        ElementTree.SubElement(item, "skipped", message=case.reason or case.state)
    notes = [one.message for one in case.problems if one.level == "note"]
    if notes:
        ElementTree.SubElement(item, "system-out").text = "\n".join(notes)
    return item


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
    """Yield the lines after the functions: the skipped ones, and the summary."""
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
    what = _code(problem.message) + _and_more(problem)
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


def html_text(report: Report) -> str:
    """One self-contained page, without scripts: what was found, then the rest in lists."""
    title = f"refute {report.verb}"
    shown = [case for case in report.cases if case.problems or case.proposal]
    rest = [case for case in report.cases if case not in shown]
    others = [": ".join(filter(None, (one.function, one.state, one.reason))) for one in rest]
    left = [f"{one.where}: {one.reason}" for one in report.left]
    body = [f"<h1>{title}</h1>", f"<p>{_html(report.summary or 'nothing found')}</p>"]
    body += map(_section, shown)
    for head, lines in (("Also looked at", others), ("Not looked at", left)):
        if lines:
            body += [f"<details><summary>{head}: {len(lines)}</summary>", _listed(lines)]
            body.append("</details>")
    if report.known:
        body.append(f"<p>{report.known} known problems are not shown (baseline).</p>")
    page = Template(Path(__file__).with_name("page.html").read_text("utf-8"))
    return page.substitute(title=title, body="\n".join(body))


def _section(case: Case) -> str:
    place = f' <span class="dim">{_html(case.file)}:{case.line}</span>' * bool(case.file)
    level = min((one.level for one in case.problems), key=_ORDER.index, default="note")
    level = "good" if case.state == "fixed" else level
    parts = [f'<h2><span class="{level}">{_html(case.state)}</span> {_html(case.function)}']
    parts[0] += f"{place}</h2>"
    parts.append(_listed(f"{one.message}{_and_more(one)}" for one in case.problems))
    if case.proposal is not None:
        parts.append(f"<p>{_html(case.proposal.text)}</p>")
        diff = unified_diff(case.proposal.before, case.proposal.after, case.file)
        kinds = {"+": "add", "-": "del", "@": "at"}
        lines = ((kinds.get(line[:1], "same"), _html(line)) for line in diff.splitlines())
        spans = "".join(f'<span class="{kind}">{line}</span>' for kind, line in lines)
        parts.append(f'<pre tabindex="0">{spans}</pre>')
    return "\n".join(parts)


def _listed(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li><code>{_html(line)}</code></li>" for line in lines) + "</ul>"


def _html(text: str) -> str:
    return escape("\n".join(printable(line) for line in text.splitlines()))


def _and_more(problem: Problem) -> str:
    return f" and {problem.others} more" if problem.others else ""


def badge_text(report: Report) -> str:
    """The JSON of a badge, as the endpoint of shields.io reads it."""
    colour = "red" if any(case.failed for case in report.cases) else "green"
    said = {"label": f"refute {report.verb}", "message": report.summary or "nothing found"}
    return json.dumps({"schemaVersion": 1, **said, "color": colour}) + "\n"


_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif_text(report: Report) -> str:
    """The document as text."""
    return json.dumps(sarif_document(report), indent=2) + "\n"


def sarif_document(report: Report) -> dict[str, Any]:
    """One run: a result for each problem, a notification for what was not looked at."""
    from importlib.metadata import version

    used = list(dict.fromkeys(problem.rule for problem in report.problems))
    driver = {
        "name": "refute",
        "semanticVersion": version("refute"),
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": RULES[rule].text},
                "defaultConfiguration": {"level": RULES[rule].level},
            }
            for rule in used
        ],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"refute/{report.verb}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.interrupted,
                "toolExecutionNotifications": [_notification(one) for one in report.left],
            }
        ],
        "results": [
            _result(case, problem, used.index(problem.rule))
            for case in report.cases
            for problem in case.problems
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(case: Case, problem: Problem, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": f"{problem.message}{_and_more(problem)}"},
        "partialFingerprints": {
            "refute/v1": problem.fingerprint,
            "primaryLocationLineHash": f"{problem.fingerprint}:1",
        },
    }
    location: dict[str, Any] = {}
    if problem.file:
        location["physicalLocation"] = {
            "artifactLocation": _artifact(problem.file),
            "region": {"startLine": problem.line},
        }
    if problem.function:
        name = {"fullyQualifiedName": problem.function, "kind": "function"}
        location["logicalLocations"] = [name]
    if location:
        found["locations"] = [location]
    if case.proposal is not None:
        found["fixes"] = [_fix(problem.file, case.proposal)]
    return found


def _artifact(file: str) -> dict[str, str]:
    """Of the repository's root where it is in one, as code hosts want it."""
    if file.startswith("/"):
        return {"uri": f"file://{quote(file)}"}
    return {"uri": quote(file)}


def _fix(file: str, proposal: Proposal) -> dict[str, Any]:
    before = proposal.before.splitlines(keepends=True)
    after = proposal.after.splitlines(keepends=True)
    replacements = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, stop, new_start, new_stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        region = {"startLine": start + 1, "startColumn": 1, "endLine": stop + 1, "endColumn": 1}
        replacement: dict[str, Any] = {"deletedRegion": region}
        if new_stop > new_start:
            replacement["insertedContent"] = {"text": "".join(after[new_start:new_stop])}
        replacements.append(replacement)
    change = {"artifactLocation": _artifact(file), "replacements": replacements}
    return {"description": {"text": proposal.text}, "artifactChanges": [change]}


def _notification(one: Skipped) -> dict[str, Any]:
    return {
        "level": "note",
        "message": {"text": f"not looked at: {one.where}: {one.reason}"},
        "descriptor": {"id": one.kind.replace(" ", "-").replace("'", "")},
    }


WRITERS: Mapping[str, Callable[[Report], str]] = {
    "sarif": sarif_text,
    "junit": junit_text,
    "github": github_text,
    "html": html_text,
    "badge": badge_text,
    "markdown": markdown_text,
    "jsonl": jsonl_text,
}
