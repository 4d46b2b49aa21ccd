"""Run tests with patches applied, in a workspace that is at its commit again afterwards.

Also here: the statuses of tests (the paper's P and F), the cache of reports, and one
warm process for many runs (`inside.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import ValidationError, convert, to_builtins

from refute.core.storage import parse_json, write_atomically
from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestReport, TestResult, TestSelection, Workspace

TestStatus = Literal["pass", "fail", "none", "unknown"]
"""`none`: skipped, expected to fail, or not there; `unknown`: the run ended before it."""

_STANDING: Mapping[str, TestStatus] = {
    "passed": "pass",
    "failed": "fail",
    "error": "fail",
    "skipped": "none",
    "xfailed": "none",
    "xpassed": "none",
}
_WEIGHT: Mapping[TestStatus, int] = {"none": 0, "pass": 1, "unknown": 2, "fail": 3}

FAILING = ("failed", "error")
"""Outcomes of a test that fails."""
NO_TESTS = TestReport(results=(), status="finished")
"""The report of a state in which there is nothing to run."""


@dataclass(frozen=True, slots=True)
class Statuses:
    """Status of each test in one state."""

    tests: Mapping[str, TestStatus]
    files: Mapping[str, str]
    """Test id -> its file, "" where the runner does not say."""
    broken: frozenset[str]
    """Files that could not be imported."""
    finished: bool = True

    def of(self, test: str, file: str = "") -> TestStatus:
        """A test that is missing because its file could not be imported fails."""
        known = self.tests.get(test)
        if known is not None:
            return known
        if (file or self.files.get(test, "")) in self.broken:
            return "fail"
        return "none" if self.finished else "unknown"


def statuses(report: TestReport) -> Statuses:
    """Return the status of each test of a report; of results with one id the worst counts.

    The test that was running when the run crashed or ran out of time has failed; what was to come
    after it is unknown.
    """
    tests: dict[str, TestStatus] = {}
    files: dict[str, str] = {}
    broken = set()
    for result in report.results:
        if _is_broken_file(result):
            broken.add(result.file or result.id)
            continue
        standing = _STANDING[result.outcome]
        if _WEIGHT[standing] >= _WEIGHT[tests.get(result.id, "none")]:
            tests[result.id] = standing
        files.setdefault(result.id, result.file)
    finished = report.status == "finished"
    if report.running and not finished:
        tests[report.running] = "fail"
    return Statuses(tests, files, frozenset(broken), finished)


def newly_failing(before: TestReport, after: TestReport) -> tuple[TestResult, ...]:
    """Results of `after`: tests that pass before and fail after, those of a file that cannot be
    imported any more included (its one result stands for each of them)."""
    was, now = statuses(before), statuses(after)
    results = {result.id: result for result in after.results}
    return tuple(
        results.get(result.id) or results.get(result.file) or result
        for result in before.results
        if was.of(result.id, result.file) == "pass" and now.of(result.id, result.file) == "fail"
    )


def _is_broken_file(result: TestResult) -> bool:
    return result.phase == "collect" and result.outcome == "error"


_TESTS = re.compile(r"^\s*(?:async\s+)?def\s+test|^\s*class\s+\w*.*[Tt]est", re.MULTILINE)


@contextmanager
def applied(workspace: Workspace, *patches: str) -> Iterator[Workspace]:
    """The workspace with the patches applied to the commit, one after another, blank ones left out;
    at the commit again afterwards. Raises `PatchRejected` where one does not apply."""
    workspace.reset()
    try:
        for patch in filter(str.strip, patches):
            workspace.apply(patch)
        yield workspace
    finally:
        workspace.reset()


def rejection(workspace: Workspace, *patches: str) -> str:
    """Return why the patches do not apply, one after another; "" if they do."""
    if not all(map(str.strip, patches)):
        return "the patch is empty"
    try:
        with applied(workspace, *patches):
            return ""
    except PatchRejected as error:
        return str(error)


def run_on(
    workspace: Workspace,
    patches: Sequence[str],
    selection: TestSelection,
    *,
    timeout: float,
    count_lines: Mapping[str, Sequence[int]] | None = None,
    prepare: Callable[[Workspace], TestSelection | None] | None = None,
    after: Callable[[Workspace], object] | None = None,
) -> TestReport:
    """Run the selected tests on the commit with the patches: of the files those that are there and
    hold tests; none is `NO_TESTS`.

    `prepare`: changes the tree before the run, and may select other tests. `after`: reads the tree
    after it. `timeout`: seconds. Raises `PatchRejected`, `WorkspaceUnavailable`. The workspace is
    clean afterwards.
    """
    with applied(workspace, *patches):
        if prepare is not None:
            selection = prepare(workspace) or selection
        there = files_with_tests(workspace, selection.files)
        tests = tuple(i for i in selection.tests if "::" not in i or i.split("::")[0] in there)
        if (selection.files and not there) or (selection.tests and not tests):
            return NO_TESTS
        chosen = TestSelection(there, tests)
        report = workspace.run_tests(chosen, count_lines=count_lines, timeout=timeout)
        if after is not None:
            after(workspace)
        return report


def holds_tests(source: str) -> bool:
    """Return whether a file defines a test function or a class of tests (helpers and data do
    not)."""
    return _TESTS.search(source) is not None


def files_with_tests(workspace: Workspace, files: Iterable[str]) -> tuple[str, ...]:
    """Those of the files that hold tests as they are in the workspace now."""
    return tuple(path for path in files if _runnable(workspace, path))


def _runnable(workspace: Workspace, path: str) -> bool:
    try:
        return holds_tests(workspace.read(path).decode("utf-8", "replace"))
    except OSError:
        return False


class ReportCache:
    """Reports in memory and, with a directory, on disk: each under a digest of all that it depends
    on. `instance`: what is the same for all of them, as JSON data."""

    def __init__(self, directory: Path | None, *instance: Any) -> None:
        self._directory = directory
        self._instance = instance
        self._known: dict[str, TestReport] = {}

    def get(self, *key: Any) -> TestReport | None:
        """The report kept under `key` (JSON data; tuples are lists), where there is one."""
        name = self._name(key)
        if name not in self._known and self._directory is not None:
            try:
                data = json.loads((self._directory / name).read_text())
                self._known[name] = convert(data, TestReport, str_keys=True)
            except (OSError, ValueError, ValidationError):
                return None  # a damaged file is replaced by the next report
        return self._known.get(name)

    def put(self, report: TestReport, *key: Any) -> None:
        """Keep a report, unless its run was meddled with. Raises `OSError`."""
        if not report.trusted:
            return
        name = self._name(key)
        self._known[name] = report
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
            text = json.dumps(to_builtins(report, str_keys=True), separators=(",", ":"))
            write_atomically(self._directory / name, text, durable=False)

    def _name(self, key: tuple[Any, ...]) -> str:
        text = json.dumps([*self._instance, *key], sort_keys=True, default=list)
        return f"{hashlib.sha256(text.encode()).hexdigest()}.json"


_FOLDER = ".refute-inside"
_RESULTS = f"{_FOLDER}/results.jsonl"
_HERE = Path(__file__).parent
_FILES = {
    "refute_inside.py": _HERE / "inside.py",
    "refute_comparing.py": _HERE / "inside_comparing.py",
    "sources/refute/recording/outlining.py": _HERE.parent / "recording" / "outlining.py",
}
_AFTER = 30.0
"""Seconds for starting pytest and for collecting, besides those that the job allows."""


def run_inside(
    workspace: Workspace,
    operands: Collection[str],
    job: Mapping[str, Any],
    seconds: float,
    env: Mapping[str, str] | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """The records of one run of `inside.py`, and what it printed.

    `env`: variables besides. A project's own options of pytest are left out at first (they may
    count coverage or start workers), and kept where nothing is collected without them. Raises
    `WorkspaceUnavailable` where pytest does not start.
    """
    output = ""
    for name, file in _FILES.items():
        workspace.write(f"{_FOLDER}/{name}", file.read_bytes())
    workspace.write(f"{_FOLDER}/job.json", json.dumps(job).encode())
    files = {one.partition("::")[0] for one in operands}
    tries = ["-o addopts=", ""]
    if len({one.rpartition("/")[2] for one in files}) < len(files):
        tries.reverse()  # an option tells files of one name apart
    for options in tries:
        workspace.write(_RESULTS, b"")  # those of an earlier run are not this one's
        words = [
            f'PYTHONPATH="$PWD/{_FOLDER}${{PYTHONPATH:+:$PYTHONPATH}}"',
            "exec python -m pytest -p refute_inside -q --color=no",
            "--continue-on-collection-errors",
            '-o cache_dir="$TMPDIR/pytest-cache"',
            options,
            *map(shlex.quote, operands),
        ]
        done = workspace.run(" ".join(words), timeout=seconds + _AFTER, env=env)
        output = done.output
        records = list(_read(workspace))
        if any(record.get("collected") for record in records):
            return records, output
    if not records:  # not even none collected: says why, in the words of every verb
        workspace.run_tests(TestSelection(tuple(operands)), timeout=seconds)
        raise WorkspaceUnavailable(f"pytest does not run here: {reason_of(output)}")
    return [], output


def _read(workspace: Workspace) -> Iterator[dict[str, Any]]:
    try:
        lines = workspace.read(_RESULTS).splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise WorkspaceUnavailable(f"the results cannot be read: {error}") from None
    for line in lines:
        try:
            record = parse_json(line)
        except ValueError:  # torn: who wrote it was ended
            continue
        if isinstance(record, dict):
            yield record


def reason_of(output: str) -> str:
    """Return the line in which pytest says why it does not run."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error:" in line.lower()]
    return (telling or lines or ["pytest printed nothing"])[-1][:200]
