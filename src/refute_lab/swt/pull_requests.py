"""Merged pull requests and their issues, from GitHub's API form and a local clone; or commits whose
issue is given.

``pulls`` holds the objects of ``/repos/OWNER/NAME/pulls`` (a JSON list or JSON lines), ``issues``
those of ``/repos/OWNER/NAME/issues``; ``commits`` objects with ``commit`` and ``issue`` (its text).
No network: commits come from the clone. `docs/swtbench.md` names the fields that are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.errors import InputError
from refute.workspace.contract import TestReport
from refute.workspace.repositories import Clone, GitFailed
from refute.workspace.running import statuses
from refute_lab.datasets.rows import Row, read_rows
from refute_lab.runs.journal import Number, Schema
from refute_lab.swt.verdict import Transition, transitions

# -- pull records ----------------------------------------------------------------------------------


ByKind = dict[str, list[str]]
"""Ids of tests by what becomes of them: f2p, p2p, f2f, p2f (x: skipped, or not there)."""
_KINDS = ("f2p", "f2f", "p2p", "p2f")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """Findings of stage 3: the golden tests, or the reason for dropping the pull request."""

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
