"""A benchmark out of a repository's pull requests, in SWT-Bench's three stages (section 3.2).

1. Merged pull requests that resolve an issue and touch tests.
2. Their diffs split: the golden patch, and the golden tests.
3. Those kept of which at least one golden test fails before and passes after the golden patch, the
   same in each of N runs.

What is run is journalled by what it depends on: the diff, and the environment that was asked for.
So a stopped run resumes where it was, and so does one with more pull requests, or with an
environment that was put right. Infrastructure trouble never drops a pull request: it is
tried again by the next call. The reports of the first run are kept where `refute grade` finds them.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refute.core.problems import IssueProblem, Number
from refute.core.storage import cache_folder, key_of
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.contract import TestReport, Workspace
from refute.workspace.patches import file_patches, split_tests, test_files, touched_files
from refute.workspace.repositories import Clone, GitFailed, version_at
from refute.workspace.running import holds_tests, rejection, statuses
from refute_lab.datasets.rows import Row, read_rows
from refute_lab.runs import ErrorRecord, Journal, Schema
from refute_lab.swt import (
    PatchedState,
    Transition,
    counted_lines,
    run_lane,
    state_reports,
    transitions,
)
from refute_lab.swt.grade import unrunnable
from refute_lab.swt.workspaces import recipe_of_row

# -- pull records ----------------------------------------------------------------------------------


ByKind = dict[str, list[str]]
"""Ids of tests by what becomes of them: f2p, p2p, f2f, p2f (x: skipped, or not there)."""
_KINDS = ("f2p", "f2f", "p2p", "p2f")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """Findings of stage 3: the golden tests, or the reason for dropping the pull request."""

    id: str
    dropped: str | None = None
    """Reason that it is not part of the benchmark (one of `build.REASONS`)."""
    golden: ByKind | None = None
    """The golden tests."""
    existing: ByKind | None = None
    """In its first run: what these files held before."""
    environment: dict[str, Any] | None = None
    """Environment that it ran in, as the row names it."""
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


_KEYWORD = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b\s*:?\s+"
    r"(?:https?://github\.com/(?P<page>[\w.-]+/[\w.-]+)/issues/|(?P<repo>[\w.-]+/[\w.-]+)?#|GH-)"
    r"(?P<number>\d+)\b",
    re.IGNORECASE,
)
_NOT_READ = re.compile(r"<!--.*?(?:-->|\Z)|```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request, as far as building a benchmark needs it."""

    number: int
    title: str
    body: str
    repo: str
    """`owner/name`."""
    base: str
    """Commit it was opened against; "" where unknown."""
    head: str
    merge: str
    """The commit that its merging made."""
    merged: bool
    created_at: str

    @property
    def id(self) -> str:
        """The instance's."""
        return f"{self.repo.replace('/', '__')}-{self.number}"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a fix with its tests, and the issue that it resolves."""

    sha: str
    repo: str
    """`owner/name`."""
    issue: str
    """The issue's text."""

    @property
    def id(self) -> str:
        """The instance's."""
        return f"{self.repo.replace('/', '__')}-{self.sha[:12]}"


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue: what its author wrote, no comments."""

    number: int
    title: str
    body: str

    @property
    def text(self) -> str:
        """Title, a line feed and the body, with plain line ends."""
        return f"{self.title}\n{self.body}".replace("\r\n", "\n").strip()


@dataclass(frozen=True, slots=True)
class PullChange:
    """The change of a pull request."""

    base: str
    """The commit that the diff applies to."""
    head: str
    """The commit that it leads to."""
    diff: str
    messages: str
    """The messages of its commits."""


def read_pulls(path: Path, repo: str = "") -> list[Pull]:
    """The pull requests of a file, by number. `repo`: where the objects do not say it.

    Raises `DatasetError`: file, line, field.
    """
    return sorted((_pull(row, repo) for row in read_rows(path)), key=lambda pull: pull.number)


def read_issues(path: Path) -> dict[int, Issue]:
    """Number -> issue; GitHub lists pull requests among the issues, they are left out."""
    found = {}
    for row in read_rows(path):
        if row.fields.get("pull_request") is None:
            number = _number(row)
            body = row.optional_text("body") or ""
            found[number] = Issue(number, row.optional_text("title") or "", body)
    return found


def resolved_issues(pull: Pull, messages: str = "") -> tuple[int, ...]:
    """Numbers of the issues that a pull request says it resolves, in the order of the text.

    GitHub's grammar: close, fix or resolve in any form, then ``#12``, ``GH-12``, ``owner/name#12``
    or the issue's address, in its title, body or commit messages; not in comments or code.
    """
    text = _NOT_READ.sub(" ", "\n".join((pull.title, pull.body, messages)))
    found = []
    for match in _KEYWORD.finditer(text):
        elsewhere = match["page"] or match["repo"]
        if elsewhere is None or elsewhere.lower() == pull.repo.lower():
            found.append(int(match["number"]))
    return tuple(dict.fromkeys(found))


def change_of(pull: Pull, clone: Clone) -> PullChange | None:
    """Return the pull request's change; None if the clone lacks its commits.

    From the point where its branch left, to its head, where both are there; else what its merge
    commit changed against its first parent. Raises `WorkspaceUnavailable` (no git).
    """
    try:
        if pull.base and pull.head and _there(clone, pull.base) and _there(clone, pull.head):
            base = clone.git("merge-base", pull.base, pull.head).decode().strip()
            return _change(clone, base, pull.head)
        if pull.merge and _there(clone, pull.merge):
            base = clone.git("rev-parse", f"{pull.merge}^1").decode().strip()
            return _change(clone, base, pull.merge)
    except GitFailed:
        pass
    return None


def change_of_commit(commit: Commit, clone: Clone) -> PullChange:
    """Return a commit's change against its first parent. Raises `InputError`."""
    try:
        base = clone.git("rev-parse", "--verify", "--quiet", f"{commit.sha}^1").decode().strip()
        return _change(clone, base, commit.sha)
    except GitFailed:
        raise InputError(f"{commit.sha}: the clone lacks its parent; fetch more history") from None


def read_commits(path: Path, clone: Clone, repo: str) -> list[Commit]:
    """The commits of a file: JSON objects with `commit` and `issue`, in the file's order.

    Raises `DatasetError`: file, line, field; `WorkspaceUnavailable` where the clone lacks one.
    """
    found = []
    for row in read_rows(path):
        sha, issue = row.text("commit"), row.text("issue")
        if not re.fullmatch(r"[0-9a-f]{7,64}", sha):
            raise row.error("commit", f"not a commit: {sha[:50]!r}")
        found.append(Commit(clone.resolve(sha), repo, issue.replace("\r\n", "\n").strip()))
    return found


def _there(clone: Clone, commit: str) -> bool:
    try:
        clone.git("cat-file", "-e", f"{commit}^{{commit}}")
    except GitFailed:
        return False
    return True


def _change(clone: Clone, base: str, head: str) -> PullChange:
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "--no-renames")
    diff = clone.git("diff", *options, base, head)
    messages = clone.git("log", "--format=%B", f"{base}..{head}")
    # Latin-1 files would not survive a JSON row; their diff is not kept.
    texts = (diff.decode("utf-8", "replace"), messages.decode("utf-8", "replace"))
    return PullChange(base, head, *texts)


def _pull(row: Row, repo: str) -> Pull:
    base, head = (_end(row, name) for name in ("base", "head"))
    named = (base.get("repo") or {}).get("full_name") or repo
    if not isinstance(named, str) or not re.fullmatch(r"[\w.-]+/[\w.-]+", named):
        raise row.error("base", "no repository (base.repo.full_name); give --set repo=OWNER/NAME")
    return Pull(
        number=_number(row),
        title=row.optional_text("title") or "",
        body=row.optional_text("body") or "",
        repo=named,
        base=_sha(row, "base", base.get("sha")),
        head=_sha(row, "head", head.get("sha")),
        merge=_sha(row, "merge_commit_sha", row.fields.get("merge_commit_sha")),
        merged=row.optional_text("merged_at") is not None,
        created_at=row.optional_text("created_at") or "",
    )


def _end(row: Row, name: str) -> dict[str, Any]:
    value = row.fields.get(name) or {}
    if not isinstance(value, dict):
        raise row.error(name, "must be an object with sha")
    return value


def _sha(row: Row, field: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{7,64}", value):
        raise row.error(field, f"not a commit: {str(value)[:50]!r}")
    return value


def _number(row: Row) -> int:
    value = row.fields.get("number")
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise row.error("number", "must be a positive integer")
    return value


def texts_of(numbers: Iterable[int], issues: Mapping[int, Issue]) -> str:
    """The texts of several issues, as SWE-bench joins them."""
    return "\n".join(issues[number].text for number in numbers)


# -- build -----------------------------------------------------------------------------------------


REASONS = {
    "not merged": 1,
    "resolves no issue": 1,
    "its issues are unknown": 1,
    "its commits are not in the clone": 1,
    "touches no test": 1,
    "touches tests only": 2,
    "binary or undecodable": 2,
    "touches only test data": 2,
    "does not apply": 3,
    "does not finish": 3,
    "no test fails before and passes after": 3,
    "not in every run": 3,
}
"""Reason that a pull request is dropped -> the stage that drops it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place to run a pull request's tests."""

    environment: Mapping[str, Any]
    """As the row names it: what was inferred is in it."""
    spawn: Callable[[], Workspace]


Preparer = Callable[[IssueProblem], Place]
"""Makes the environment of a problem. Raises `WorkspaceUnavailable`."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """Settings of the third stage's test runs."""

    runs: int = 5
    """N: the paper's authors ran five times."""
    timeout: float = 1800.0
    """Seconds for one run of the golden test files."""


@dataclass(frozen=True, slots=True)
class BuiltBenchmark:
    """The benchmark made of a set of pull requests."""

    rows: tuple[dict[str, Any], ...]
    """SWE-bench's fields, which SWT-Bench shares, and `measured` (see `pull_records.measured`)."""
    dropped: Mapping[str, int]
    """Reason (one of `REASONS`) -> number of pull requests."""
    unavailable: Mapping[str, str]
    """Instance id -> why its tests could not be run, to be tried again."""


class _Dropped(Exception):
    """The pull request is not part of the benchmark; the message is one of `REASONS`."""


def build(
    candidates: Sequence[Pull | Commit],
    issues: Mapping[int, Issue],
    clone: Clone,
    prepare: Preparer,
    journal: Journal[PullRecord],
    settings: BuildSettings,
    *,
    environment: Any = None,
    progress: Callable[[str], None] = lambda line: None,
    kept: Callable[[Sequence[dict[str, Any]]], None] = lambda rows: None,
) -> BuiltBenchmark:
    """Take pull requests, or commits whose issue is known, through the three stages.

    `environment`: what was asked for (JSON data), which what was run is kept under. `progress` gets
    a line for each step; `kept` all rows so far, whenever there is one more.
    """
    rows: list[dict[str, Any]] = []
    dropped: Counter[str] = Counter()
    unavailable: dict[str, str] = {}
    for one in candidates:
        try:
            row = _row(one, issues, clone)
            stage = _Stage(row, prepare, journal, settings, environment, progress)
            rows.append(stage.validated())
            progress(f"{one.id}: kept{stage.told()}")
            kept(rows)
        except _Dropped as reason:
            dropped[str(reason)] += 1
            progress(f"{one.id}: {reason}")
        except WorkspaceUnavailable as error:
            unavailable[one.id] = " ".join(str(error).split())
            progress(f"{one.id}: tests cannot be run: {unavailable[one.id]}")
    return BuiltBenchmark(tuple(rows), dict(dropped), unavailable)


# -- stages 1 and 2 --------------------------------------------------------------------------------


def _row(one: Pull | Commit, issues: Mapping[int, Issue], clone: Clone) -> dict[str, Any]:
    """SWE-bench's fields, before any test was run. Raises `_Dropped`."""
    if isinstance(one, Commit):
        change, text, created = change_of_commit(one, clone), one.issue, ""
    else:
        change, text, created = *_resolving(one, issues, clone), one.created_at
    tests, patch = split_tests(change.diff)
    if not tests:
        raise _Dropped("touches no test")
    if not patch:
        raise _Dropped("touches tests only")
    if any(part.binary for part in file_patches(change.diff)) or "\ufffd" in change.diff:
        raise _Dropped("binary or undecodable")
    if not any(holds_tests(_source(clone, change.head, path)) for path in test_files(tests)):
        raise _Dropped("touches only test data")
    return {
        "instance_id": one.id,
        "repo": one.repo,
        "base_commit": change.base,
        "problem_statement": text,
        "hints_text": "",
        "created_at": created or _date(clone, change.head),
        "patch": patch,
        "test_patch": tests,
        "version": version_at(clone, change.base),
        "environment_setup_commit": change.base,
    }


def _resolving(pull: Pull, issues: Mapping[int, Issue], clone: Clone) -> tuple[PullChange, str]:
    """Return a pull request's change and the text of its issues. Raises `_Dropped`."""
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
    return change, texts_of(known, issues)


def _source(clone: Clone, commit: str, path: str) -> str:
    try:
        return clone.git("show", f"{commit}:{path}").decode("utf-8", "replace")
    except GitFailed:
        return ""  # the change takes it away


def _date(clone: Clone, commit: str) -> str:
    return clone.git("show", "-s", "--format=%cI", commit).decode().strip()


# -- stage 3 ---------------------------------------------------------------------------------------


class _Stage:
    """The runs of one pull request's golden tests."""

    def __init__(
        self,
        row: dict[str, Any],
        prepare: Preparer,
        journal: Journal[PullRecord],
        settings: BuildSettings,
        environment: Any,
        progress: Callable[[str], None],
    ) -> None:
        self._row, self._prepare, self._progress = row, prepare, progress
        self._journal, self._settings = journal, settings
        self._place: Place | None = None
        self._runs: list[PullRecord] = []
        depends = (row["base_commit"], row["patch"], row["test_patch"], environment)
        self._key = key_of("build", 1, *depends)

    def validated(self) -> dict[str, Any]:
        """The row with its environment and lists of tests. Raises `_Dropped`,
        `WorkspaceUnavailable`."""
        found: list[ByKind] = []
        kept: set[str] | None = None
        for number in range(1, self._settings.runs + 1):
            record = self._record(number)
            if record.golden is None:
                raise _Dropped(record.dropped)
            self._runs.append(record)
            found.append(record.golden)
            passing = set(record.golden["f2p"])
            kept = passing if kept is None else kept & passing
            if not kept:
                first = "no test fails before and passes after"
                raise _Dropped(first if number == 1 else "not in every run")
        stays = set.intersection(*(set(run["p2p"]) for run in found))
        first_run = self._runs[0]
        return {
            **self._row,
            **({"environment": first_run.environment} if first_run.environment else {}),
            "FAIL_TO_PASS": [test for test in found[0]["f2p"] if test in (kept or ())],
            "PASS_TO_PASS": [test for test in found[0]["p2p"] if test in stays],
            "measured": {
                **measured(first_run.existing or {}, found[0], self._settings.runs),
                "seconds": first_run.seconds,
            },
        }

    def told(self) -> str:
        """Describe the findings of the runs."""
        golden = self._runs[0].golden or {}
        seconds = sum(run.seconds for run in self._runs)
        return f": {len(golden['f2p'])} F→P, {len(golden['p2p'])} P→P, {seconds:.0f} s"

    def _record(self, number: int) -> PullRecord:
        identity = self._row["instance_id"]
        name = f"run:{identity}:{self._key}:{number}"
        known = self._journal.records.get(name)
        if known is not None and not isinstance(known, ErrorRecord):
            late = known.dropped == "does not finish" and known.timeout < self._settings.timeout
            if not late:
                return known
        if self._place is None:
            self._progress(f"{identity}: making its environment")
            self._place = self._prepare(_problem(self._row))
        self._progress(f"{identity}: run {number}/{self._settings.runs}")
        start = time.monotonic()
        record = replace(
            self._run(self._place, first=number == 1),
            id=name,
            environment=dict(self._place.environment),
            timeout=self._settings.timeout,
            seconds=round(time.monotonic() - start, 1),
        )
        self._journal.append(record)
        return record

    def _run(self, place: Place, *, first: bool) -> PullRecord:
        """One run of the golden tests on both codes; the first one runs the existing tests as well,
        in the states that `refute grade` runs. Raises `WorkspaceUnavailable`."""
        row = {**self._row, "environment": place.environment}
        fix, tests = row["patch"], row["test_patch"]
        if not _applies(place, fix, tests):
            return PullRecord(id="", dropped="does not apply")
        files, lines, touched = test_files(tests), counted_lines(fix), touched_files(fix)
        states = [
            PatchedState(code, patch, files, lines, touched, kept=first)
            for patch in ((tests, "") if first else (tests,))
            for code in ("", fix)
        ]
        problem = replace(_problem(row), recipe=recipe_of_row(row))
        store = state_reports(cache_folder() / "states" if first else None, problem, "local")
        reports = run_lane(states, place.spawn, store, timeout=self._settings.timeout)
        if why := unrunnable(reports[1]):
            raise WorkspaceUnavailable(f"the golden tests do not run with the golden patch: {why}")
        if not all(report.status == "finished" and report.trusted for report in reports):
            return PullRecord(id="", dropped="does not finish")
        existing = kinds_of(*reports[2:]) if first else None
        return PullRecord(id="", golden=kinds_of(*reports[:2]), existing=existing)


def _problem(row: Mapping[str, Any]) -> IssueProblem:
    return IssueProblem(
        id=row["instance_id"],
        repo=row["repo"],
        base_commit=row["base_commit"],
        text=row["problem_statement"],
        created_at=row["created_at"],
    )


def _applies(place: Place, fix: str, tests: str) -> bool:
    """Return whether the golden tests apply to the original and to the fixed code."""
    with place.spawn() as workspace:
        return not (rejection(workspace, tests) or rejection(workspace, fix, tests))
