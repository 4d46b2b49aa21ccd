"""The JSON documents that the verbs print: the shapes that scripts rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.function.contract import FailingTest, Finding
from refute.function.show import call_source, describe, expected_source, status_of
from refute.function.verbs import Fix, Hunt

__all__ = ["debug_document", "hunt_document"]

Document = dict[str, Any]


def hunt_document(hunts: Sequence[Hunt]) -> Document:
    """One function: `{"function", "tests", "found"}`; several: `{"functions": [...], "found"}`."""
    documents = [
        {
            "function": hunt.function,
            "tests": _tests(hunt),
            "found": hunt.found,
        }
        for hunt in hunts
    ]
    if len(documents) == 1:
        return documents[0]
    return {"functions": documents, "found": any(hunt.found for hunt in hunts)}


def debug_document(fixes: Sequence[Fix], name: str) -> Document:
    """One function: `{"function", "fixed", "code", "diff", "tests", "rounds", "alternatives",
    "question"}`; several: `{"functions": [...], "fixed", "code", "diff"}`, `code` with all fixes.

    `code` is the whole module, `name` the file's name in the diff.
    """
    documents = [_fix(fix, name) for fix in fixes]
    if len(documents) == 1:
        return documents[0]
    whole = Fix(fixes[-1].hunt, fixes[0].before, fixes[-1].code, fixes[-1].result, 0)
    return {
        "functions": documents,
        "fixed": any(fix.fixed for fix in fixes),
        "code": whole.code,
        "diff": whole.diff(name),
    }


def _fix(fix: Fix, name: str) -> Document:
    alternatives = [
        {"code": candidate.code, "score": candidate.score, "edits": list(candidate.edits)}
        for candidate in fix.result.candidates[1:]
    ]
    question = fix.result.question
    return {
        "function": fix.hunt.function,
        "fixed": fix.fixed,
        "code": fix.code,
        "diff": fix.diff(name),
        "tests": _tests(fix.hunt),
        "rounds": fix.rounds,
        "alternatives": alternatives,
        "question": None
        if question is None
        else {
            "call": call_source(question.call, fix.hunt.function),
            "outputs": [describe(outcome) for outcome in question.outputs],
        },
    }


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
