"""What the runs of a pull request's tests found out: as it is journalled, and as it is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refute.workspace.contract import TestReport
from refute.workspace.statuses import statuses
from refute_lab.runs.records import Number, Schema
from refute_lab.swt.grading.verdict import Transition, transitions

ByKind = dict[str, list[str]]
"""Ids of tests by what becomes of them: f2p, p2p, f2f, p2f (x: skipped, or not there)."""
_KINDS = ("f2p", "f2f", "p2p", "p2f")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """What a run of stage 3 found out: the golden tests, or why the pull request is dropped."""

    id: str
    dropped: str | None = None
    """Why it is not part of the benchmark (one of `build.REASONS`)."""
    golden: ByKind | None = None
    """The golden tests."""
    existing: ByKind | None = None
    """In its first run: what these files held before."""
    environment: dict[str, Any] | None = None
    """What it ran in, as the row names it."""
    timeout: Number = 0.0
    """Seconds that it was given."""
    seconds: Number = 0.0
    """... and that it took."""


def _flaw(record: PullRecord) -> str:
    if (record.dropped is None) == (record.golden is None):
        return "not one of dropped and golden"
    for tests in (record.golden, record.existing):
        if tests is not None and not tests.keys() >= set(_KINDS):
            return "tests of a kind are missing"
    return ""


RECORDS = Schema("pull request", PullRecord, version=2, flaw=_flaw)


def kinds_of(before: TestReport, after: TestReport) -> ByKind:
    return _by_kind(transitions(statuses(before), statuses(after)))


_LETTERS = {"pass": "p", "fail": "f", "none": "x", "unknown": "x"}


def _by_kind(rows: Mapping[str, Transition]) -> ByKind:
    found: ByKind = {kind: [] for kind in _KINDS}
    for test, row in rows.items():
        kind = f"{_LETTERS[row.before]}2{_LETTERS[row.after]}"
        found.setdefault(kind, []).append(test)
    return found


def measured(existing: ByKind, golden: ByKind, runs: int) -> dict[str, Any]:
    """Figures of Table 1, of the first run: tests by kind without the golden tests, the golden
    tests by kind, how many they add and take away.

    A golden test is one that is new or stands differently with the golden tests, as in grading
    (`verdict.own_tests`): a parametrised test with another body keeps its name.
    """
    was = {test: kind for kind, tests in existing.items() for test in tests}
    new = {test for tests in golden.values() for test in tests}

    def own(test: str, kind: str) -> bool:
        before = was.get(test)
        return before is None or (kind != before and not kind[-1] == before[-1] == "f")

    return {
        "runs": runs,
        "existing": {kind: len(tests) for kind, tests in existing.items()},
        "golden": {k: sum(own(test, k) for test in tests) for k, tests in golden.items()},
        "added": len(new - was.keys()),
        "removed": len(was.keys() - new),
    }
