"""A benchmark out of a repository's pull requests, in SWT-Bench's three stages (section 3.2).

1. Merged pull requests that resolve an issue and touch tests.
2. Their diffs split: the golden patch, and the golden tests.
3. Those kept of which at least one golden test fails before and passes after the golden patch, the
   same in each of N runs.

What each stage found out about a pull request is journalled, so a run that was stopped goes on
where it was. Infrastructure trouble is no reason to drop a pull request: it is tried again by the
next call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.issue.benchmark.pull_requests import Issue, Pull, change_of, resolved_issues, texts_of
from refute.issue.grading.states import PatchedState, run_state, test_files
from refute.issue.grading.statuses import Statuses, statuses
from refute.issue.grading.verdict import Transition, transitions
from refute.issue.patches import file_patches, split_tests
from refute.problems import IssueProblem
from refute.runs.journal import Journal
from refute.runs.records import ErrorRecord, Schema
from refute.workspace.contract import Workspace
from refute.workspace.repositories import Clone

__all__ = ["REASONS", "RECORDS", "BuildSettings", "BuiltBenchmark", "Opener", "PullRecord", "build"]

REASONS = {
    "not merged": 1,
    "resolves no issue": 1,
    "its issues are unknown": 1,
    "its commits are not in the clone": 1,
    "touches no test": 1,
    "touches tests only": 2,
    "binary or undecodable": 2,
    "no Python test file": 2,
    "does not apply": 3,
    "does not finish": 3,
    "no test fails before and passes after": 3,
    "not in every run": 3,
}
"""Why a pull request is dropped, and the stage that drops it."""

Opener = Callable[[IssueProblem], Workspace]
"""Opens a workspace at a problem's base commit. Raises `WorkspaceUnavailable`."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How the third stage runs tests."""

    runs: int = 5
    """N: the paper's authors ran five times."""
    timeout: float = 1800.0
    """Seconds for one run of the golden test files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """The row of a pull request before its tests were run: SWE-bench's fields."""

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    hints_text: str = ""
    created_at: str = ""
    patch: str
    test_patch: str
    version: str = ""
    environment_setup_commit: str = ""


ByKind = dict[str, list[str]]
"""Ids of tests by what becomes of them: f2p, p2p, f2f, p2f (x: skipped, or not there)."""
_KINDS = ("f2p", "f2f", "p2p", "p2f")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """What a stage found out about a pull request: one of the three."""

    id: str
    dropped: str | None = None
    """Why it is not part of the benchmark (one of `REASONS`)."""
    row: StoredRow | None = None
    """Of the stages 1 and 2."""
    golden: ByKind | None = None
    """Of a run of stage 3: the golden tests."""
    existing: ByKind | None = None
    """... and in its first run what these files held before."""


def _flaw(record: PullRecord) -> str:
    found = [one for one in (record.dropped, record.row, record.golden) if one is not None]
    if len(found) != 1:
        return "not one of dropped, row and golden"
    for tests in (record.golden, record.existing):
        if tests is not None and not tests.keys() >= set(_KINDS):
            return "tests of a kind are missing"
    return ""


RECORDS = Schema("pull request", PullRecord, flaw=_flaw)


@dataclass(frozen=True, slots=True)
class BuiltBenchmark:
    """What came of a set of pull requests."""

    rows: tuple[dict[str, Any], ...]
    """SWE-bench's fields, which SWT-Bench shares, and `measured` (see `_measured`)."""
    dropped: Mapping[str, int]
    """Reason (one of `REASONS`) -> number of pull requests."""
    unavailable: Mapping[str, str]
    """Instance id -> why its tests could not be run, to be tried again."""


class _Dropped(Exception):
    """The pull request is not part of the benchmark; the message is one of `REASONS`."""


def build(
    pulls: Sequence[Pull],
    issues: Mapping[int, Issue],
    clone: Clone,
    opener: Opener,
    journal: Journal[PullRecord],
    settings: BuildSettings,
    *,
    fields: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> BuiltBenchmark:
    """Take pull requests through the three stages.

    `fields`: put into every row, such as `environment`. `progress` gets one line for each pull
    request.
    """
    rows: list[dict[str, Any]] = []
    dropped: Counter[str] = Counter()
    unavailable: dict[str, str] = {}
    for pull in pulls:
        identity = f"{pull.repo.replace('/', '__')}-{pull.number}"
        try:
            row = _candidate(pull, identity, issues, clone, journal, dict(fields or {}))
            rows.append(_validated(row, opener, journal, settings))
            progress(f"{identity}: kept")
        except _Dropped as reason:
            dropped[str(reason)] += 1
            progress(f"{identity}: {reason}")
        except WorkspaceUnavailable as error:
            unavailable[identity] = " ".join(str(error).split())
            progress(f"{identity}: tests cannot be run: {unavailable[identity]}")
    return BuiltBenchmark(tuple(rows), dict(dropped), unavailable)


# -- stages 1 and 2 --------------------------------------------------------------------------------


def _candidate(
    pull: Pull,
    identity: str,
    issues: Mapping[int, Issue],
    clone: Clone,
    journal: Journal[PullRecord],
    fields: dict[str, Any],
) -> dict[str, Any]:
    """The row of a pull request before its tests were run. Raises `_Dropped`."""
    name = f"pull:{identity}"
    known = _known(journal, name)
    if known is None:
        try:
            known = PullRecord(id=name, row=_row(pull, identity, issues, clone))
        except _Dropped as reason:
            known = PullRecord(id=name, dropped=str(reason))
        journal.append(known)
    if known.row is None:
        raise _Dropped(known.dropped)
    return {**asdict(known.row), **fields}


def _known(journal: Journal[PullRecord], name: str) -> PullRecord | None:
    record = journal.records.get(name)
    return None if isinstance(record, ErrorRecord) else record


def _row(pull: Pull, identity: str, issues: Mapping[int, Issue], clone: Clone) -> StoredRow:
    if not pull.merged:
        raise _Dropped("not merged")
    change = change_of(pull, clone)
    numbers = resolved_issues(pull, change.messages if change else "")
    if not numbers:
        raise _Dropped("resolves no issue")
    known = [number for number in numbers if number in issues]
    if not known:
        raise _Dropped("its issues are unknown")
    if change is None:
        raise _Dropped("its commits are not in the clone")
    tests, patch = split_tests(change.diff)
    if not tests:
        raise _Dropped("touches no test")
    if not patch:
        raise _Dropped("touches tests only")
    if any(part.binary for part in file_patches(change.diff)) or "\ufffd" in change.diff:
        raise _Dropped("binary or undecodable")
    if not test_files(tests):
        raise _Dropped("no Python test file")
    return StoredRow(
        instance_id=identity,
        repo=pull.repo,
        base_commit=change.base,
        problem_statement=texts_of(known, issues),
        created_at=pull.created_at,
        patch=patch,
        test_patch=tests,
        environment_setup_commit=change.base,
    )


# -- stage 3 ---------------------------------------------------------------------------------------


def _validated(
    row: dict[str, Any], opener: Opener, journal: Journal[PullRecord], settings: BuildSettings
) -> dict[str, Any]:
    """The row with its lists of tests. Raises `_Dropped`, `WorkspaceUnavailable`."""
    identity = row["instance_id"]
    runs: list[ByKind] = []
    existing: ByKind = {}
    kept: set[str] | None = None
    for number in range(1, settings.runs + 1):
        name = f"run:{identity}:{number}"
        record = _known(journal, name)
        if record is None:
            record = _run(name, row, opener, settings, first=number == 1)
            journal.append(record)
        if record.golden is None:
            raise _Dropped(record.dropped)
        runs.append(record.golden)
        existing = existing or record.existing or {}
        passing = set(record.golden["f2p"])
        kept = passing if kept is None else kept & passing
        if not kept:
            first = "no test fails before and passes after"
            raise _Dropped(first if number == 1 else "not in every run")
    stays = set.intersection(*(set(run["p2p"]) for run in runs))
    return {
        **row,
        "FAIL_TO_PASS": [test for test in runs[0]["f2p"] if test in (kept or ())],
        "PASS_TO_PASS": [test for test in runs[0]["p2p"] if test in stays],
        "measured": _measured(existing, runs[0], settings.runs),
    }


def _run(
    name: str, row: Mapping[str, Any], opener: Opener, settings: BuildSettings, *, first: bool
) -> PullRecord:
    """One run of the golden tests on both codes; the first one runs the existing tests as well."""
    problem = IssueProblem(
        id=row["instance_id"],
        repo=row["repo"],
        base_commit=row["base_commit"],
        text=row["problem_statement"],
    )
    fix, tests = row["patch"], row["test_patch"]
    files = test_files(tests)
    with opener(problem) as workspace:

        def standing(state: PatchedState) -> Statuses:
            workspace.reset()
            report = run_state(workspace, state, timeout=settings.timeout)
            if report.status != "finished" or not report.trusted:
                raise _Dropped("does not finish")
            return statuses(report)

        try:
            before = standing(PatchedState("", tests, files, kept=False))
            after = standing(PatchedState(fix, tests, files, kept=False))
            golden, existing = _by_kind(transitions(before, after)), None
            if first:
                own = tuple(p.old for p in file_patches(tests) if p.old and p.old in files)
                old = standing(PatchedState("", "", own, kept=False))
                new = standing(PatchedState(fix, "", own, kept=False))
                existing = _by_kind(transitions(old, new))
        except PatchRejected:
            return PullRecord(id=name, dropped="does not apply")
        except _Dropped as reason:
            return PullRecord(id=name, dropped=str(reason))
    return PullRecord(id=name, golden=golden, existing=existing)


_LETTERS = {"pass": "p", "fail": "f", "none": "x", "unknown": "x"}


def _by_kind(rows: Mapping[str, Transition]) -> ByKind:
    found: ByKind = {kind: [] for kind in _KINDS}
    for test, row in rows.items():
        kind = f"{_LETTERS[row.before]}2{_LETTERS[row.after]}"
        found.setdefault(kind, []).append(test)
    return found


def _measured(existing: ByKind, golden: ByKind, runs: int) -> dict[str, Any]:
    """Figures of Table 1, of the first run: tests by kind without the golden tests, those by kind
    that the golden tests add, how many they add and take away."""
    old = {test for tests in existing.values() for test in tests}
    new = {test for tests in golden.values() for test in tests}
    return {
        "runs": runs,
        "existing": {kind: len(tests) for kind, tests in existing.items()},
        "golden": {kind: len(set(tests) - old) for kind, tests in golden.items()},
        "added": len(new - old),
        "removed": len(old - new),
    }
