"""SARIF 2.1.0, as code hosts and editors read it (OASIS, Static Analysis Results Interchange
Format)."""

from __future__ import annotations

import difflib
import json
from typing import Any
from urllib.parse import quote

from refute.function.contract import Skipped
from refute.report.formats.contract import RULES, Case, Problem, Proposal, Report

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
    more = f"\nand {problem.others} more" if problem.others else ""
    found: dict[str, Any] = {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": problem.message + more},
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
