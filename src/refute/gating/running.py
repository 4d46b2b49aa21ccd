"""Tests on the old code and on the new: which were red and are green?

Each state is the base with parts of the change applied, in one workspace, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.errors import PatchRejected
from refute.gating.change import Change
from refute.gating.findings import Turn
from refute.issue.observed_calls import rows_of
from refute.workspace.applying import applied
from refute.workspace.contract import Failure, TestReport, TestResult, TestSelection, Workspace
from refute.workspace.states import files_with_tests, test_files
from refute.workspace.statuses import NO_TESTS, Statuses, TestStatus, statuses


@dataclass(frozen=True, slots=True)
class Standing:
    """One test on the code before the change and on the code after it."""

    id: str
    file: str
    before: TestStatus
    """On the old code with the tests of the change applied."""
    after: TestStatus
    failure_before: Failure | None = None
    failure_after: Failure | None = None
    imported: bool = True
    """Whether the file could be imported on the old code; else that is why it failed there."""

    @property
    def turn(self) -> Turn:
        """What became of it."""
        match self.before, self.after:
            case "fail", "pass":
                return "red to green"
            case "pass", "pass":
                return "green before"
            case "fail", "fail":
                return "red now"
            case _, "fail":
                return "broken" if self.before == "pass" else "red now"
        return "not run"


def changed_test_files(change: Change) -> tuple[str, ...]:
    """The Python files of tests that the change adds or changes, sorted."""
    return test_files(change.tests)


def selection_of(tests: Sequence[str]) -> TestSelection:
    """What to run of test files and ids, as people name them (`tests/test_x.py::test_a`)."""
    files = dict.fromkeys(one.partition("::")[0] for one in tests)
    ids = [one for one in tests if "::" in one]
    if not ids:
        return TestSelection(tuple(files))
    whole = [one for one in tests if "::" not in one]
    return TestSelection(tuple(files), (*ids, *whole))


def alone(tests: Iterable[Standing | TestResult]) -> TestSelection:
    """These tests, and none beside them."""
    chosen = list(tests)
    files = tuple(dict.fromkeys(one.file for one in chosen if one.file))
    return TestSelection(files, tuple(one.id for one in chosen))


def run_on(
    workspace: Workspace,
    patches: Sequence[str],
    selection: TestSelection,
    *,
    timeout: float,
    prepare: Callable[[Workspace], object] | None = None,
    calls: list[dict[str, Any]] | None = None,
) -> TestReport:
    """The selected tests on the base with the patches; of files those that are there and hold
    tests. Patches that do not go together hold no test. `prepare`: what else is done to the tree.
    `calls`: is given what was watched. Raises `WorkspaceUnavailable`."""
    try:
        with applied(workspace, *filter(str.strip, patches)):
            if prepare is not None:
                prepare(workspace)
            there = files_with_tests(workspace, selection.files)
            if not there:
                return NO_TESTS
            known = tuple(i for i in selection.tests if "::" not in i or i.split("::")[0] in there)
            if selection.tests and not known:
                return NO_TESTS
            report = workspace.run_tests(TestSelection(there, known), timeout=timeout)
            if calls is not None:
                calls += rows_of(workspace)
            return report
    except PatchRejected:
        return NO_TESTS


def standings(before: TestReport, after: TestReport) -> tuple[Standing, ...]:
    """Every test that either report knows, in the order of the report after the change."""
    was, now = statuses(before), statuses(after)
    files = {**was.files, **now.files}
    failures = _failures(before), _failures(after)
    found = []
    for id in dict.fromkeys((*now.tests, *was.tests)):
        file = files.get(id, "")
        one = Standing(
            id,
            file,
            was.of(id, file),
            now.of(id, file),
            failures[0].get(id) or _of_file(failures[0], was, file),
            failures[1].get(id) or _of_file(failures[1], now, file),
            file not in was.broken,
        )
        found.append(one)
    return tuple(found)


def _failures(report: TestReport) -> dict[str, Failure]:
    return {one.id: one.failure for one in report.results if one.failure is not None}


def _of_file(failures: Mapping[str, Failure], known: Statuses, file: str) -> Failure | None:
    """Why a file could not be imported."""
    return failures.get(file) if file in known.broken else None
