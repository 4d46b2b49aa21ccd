"""The JSON documents that the verbs print: the shapes that scripts rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from refute.function.contract import FailingTest, Finding, State, overall
from refute.function.formatting import call_source, describe, expected_source, status_of
from refute.function.source import unified_diff
from refute.function.target import Skipped
from refute.function.verbs import Fix, Hunt, fixed_code

Document = dict[str, Any]


def hunt_document(hunts: Sequence[Hunt]) -> Document:
    """One function: `{"function", "state", "tests", "found"}`; several: `{"functions": [...],
    "state", "found"}`.
    """
    documents = [
        {
            "function": hunt.function,
            "state": str(hunt.state),
            "tests": _tests(hunt),
            "found": hunt.found,
        }
        for hunt in hunts
    ]
    if len(documents) == 1:
        return documents[0]
    return {
        "functions": documents,
        "state": str(overall(hunt.state for hunt in hunts)),
        "found": any(hunt.found for hunt in hunts),
    }


def debug_document(fixes: Sequence[Fix], name: str, *, proposed: bool = False) -> Document:
    """One function: `{"function", "state", "fixed", "edits", "confidence", "code", "diff",
    "tests", "rounds", "alternatives", "question", "reservations"}`; several: `{"functions": [...],
    "state", "fixed", "code", "diff"}`.

    `code` is the whole module, once: with the function's fix or proposal; of several functions with
    all fixes, and with what is only proposed where `proposed` is set. `name` is the file's name in
    the diffs.
    """
    documents = [_fix(fix, name) for fix in fixes]
    if len(documents) == 1:
        return {**documents[0], "code": fixes[0].code}
    code = fixed_code(fixes, proposed=proposed)
    return {
        "functions": documents,
        "state": str(overall(fix.state for fix in fixes)),
        "fixed": any(fix.fixed for fix in fixes),
        "code": code,
        "diff": unified_diff(fixes[0].before, code, name),
    }


def broad_document(files: Mapping[str, Document], skipped: Sequence[Skipped]) -> Document:
    """Of folders and several targets: `{"files": [{"file", "functions", "state", ...}], "state",
    "states", "skipped": [{"where", "kind", "reason"}]}`.

    `files`: file's path -> its document, as `hunt_document` and `debug_document` make it; `states`
    counts the functions by their state.
    """
    rows = [{"file": file, **_of_file(document)} for file, document in files.items()]
    states = [State(one["state"]) for row in rows for one in row["functions"]]
    return {
        "files": rows,
        "state": str(overall(states)),
        "states": {str(state): count for state, count in Counter(states).most_common()},
        "skipped": [asdict(one) for one in skipped],
    }


def _of_file(document: Document) -> Document:
    """The document of one function in the form that those of several have."""
    if "functions" in document:
        return document
    whole = ("state", "found", "fixed", "code", "diff")
    function = {key: value for key, value in document.items() if key != "code"}
    return {"functions": [function], **{key: document[key] for key in whole if key in document}}


def _fix(fix: Fix, name: str) -> Document:
    alternatives = [
        {
            "score": candidate.score,
            "confidence": _rounded(candidate.confidence),
            "edits": list(candidate.edits),
            "diff": unified_diff(fix.before, candidate.code, name),
        }
        for candidate in fix.result.candidates[1:]
    ]
    question = fix.result.question
    return {
        "function": fix.hunt.function,
        "state": str(fix.state),
        "fixed": fix.fixed,
        "edits": [edit for one in fix.result.candidates[:1] for edit in one.edits],
        "confidence": next((_rounded(one.confidence) for one in fix.result.candidates), None),
        "diff": fix.diff(name),
        "tests": _tests(fix.hunt),
        "rounds": fix.rounds,
        "alternatives": alternatives,
        "reservations": list(fix.result.reservations),
        "question": None
        if question is None
        else {
            "call": call_source(question.call, fix.hunt.function),
            "outputs": [describe(outcome) for outcome in question.outputs],
        },
    }


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def _tests(hunt: Hunt) -> list[Document]:
    items: list[FailingTest | Finding] = [*hunt.failing, *hunt.findings]
    return [_test(hunt.function, item) for item in items]


def _test(function: str, item: FailingTest | Finding) -> Document:
    if isinstance(item, Finding):
        return {
            "call": call_source(item.call, function),
            "expected": None,
            "actual": describe(item.actual),
            "status": item.kind,
            "source": f"no oracle: {item.reason}",
            "confidence": None,
        }
    return {
        "call": call_source(item.test.call, function),
        "expected": expected_source(item.test),
        "actual": describe(item.actual, item.test.call),
        "status": status_of(item.actual),
        "source": item.test.source,
        "confidence": round(item.test.confidence, 4),
    }
