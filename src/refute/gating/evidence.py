"""What running shows of a change: its tests and those near it, on four states of the repository.

old         the base
red         the base with the change's tests
kept        the base with the change's code, and the tests as they were
new         all of it
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change
from refute.gating.running import Standing, changed_test_files, run_on, selection_of, standings
from refute.issue.context.neighbours import neighbouring_tests
from refute.issue.drafting.original import Original
from refute.methods import Bounds
from refute.workspace.contract import TestReport, TestResult, TestSelection, Workspace
from refute.workspace.control import turned_green
from refute.workspace.patches import is_test_file, touched_files
from refute.workspace.states import holds_tests
from refute.workspace.statuses import NO_TESTS, TestStatus, newly_failing, statuses

__all__ = ["Evidence", "gathered"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The runs, and what follows from them alone."""

    old: TestReport
    red: TestReport
    kept: TestReport
    new: TestReport
    changed: tuple[str, ...]
    """Test files that the change adds or changes."""
    near: tuple[str, ...]
    """Other test files that were run."""
    tests: tuple[Standing, ...]
    """Of the changed files, and of the others those that turned."""
    turned: tuple[Standing, ...] = ()
    """Red before and green now, in every run."""
    flaky: tuple[str, ...] = ()
    """Ids of tests that seemed to have turned, or to be broken, and stood otherwise when asked
    again."""
    fell: tuple[TestResult, ...] = ()
    """Tests as they were that pass on the old code and fail on the new, in every run."""
    meddled: str = ""
    """Why that a test passes says nothing."""
    executed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """File -> changed lines that the turned tests execute on the new code."""


def gathered(
    change: Change,
    workspace: Workspace,
    *,
    also: Sequence[str] = (),
    neighbours: int,
    timeout: float,
    lines: Mapping[str, Sequence[int]],
) -> Evidence:
    """Run the states. `also`: test files or ids besides. `lines`: changed lines of code by file.
    Raises `WorkspaceUnavailable`."""
    runs = _Runs(change, workspace, timeout)
    changed = changed_test_files(change)
    former = _former_test_files(change)
    near = _near(change, workspace, neighbours, {*changed, *former}) if change.changes_code else ()
    near = (*near, *(one for one in also if one not in (*changed, *near)))
    old = runs.run("old", (*former, *near))
    kept = runs.run("kept", (*former, *near)) if change.changes_code else old
    new = runs.run("new", (*changed, *near))
    _check_that_tests_run(old, new, changed)
    red = runs.run("red", changed) if change.changes_code else NO_TESTS
    tests = _standings(change, red, new, old, kept, near)
    candidates = [one for one in tests if one.turn == "red to green"]
    turned, flaky, executed = _again(runs, candidates, changed, lines)
    fell, shaky = _fell(runs, old, kept)
    found = Evidence(old, red, kept, new, changed, near, tests, turned, (*flaky, *shaky), fell)
    meddled = _meddled(runs, found) if turned else ""
    return replace(found, meddled=meddled, executed=executed)


def _check_that_tests_run(old: TestReport, new: TestReport, changed: Sequence[str]) -> None:
    """Where no test runs with or without the change, or none of a file that it changes, that is no
    fault of the change: something is missing here. Raises `WorkspaceUnavailable`."""
    broken = statuses(old).broken & statuses(new).broken & {*changed}
    for report in (old, new):
        ran = any(one.phase != "collect" for one in report.results)
        if broken:
            break
        if ran or report == NO_TESTS or (report.status == "finished" and not report.results):
            return
    failed = [one for one in old.results if one.failure is not None]
    told = next((one for one in failed if not broken or one.file in broken), None)
    if told is None or told.failure is None:
        raise WorkspaceUnavailable(f"no test runs here, on the old code either: {old.remark}")
    why = f"{told.failure.type}: {told.failure.message}".partition("\n")[0]
    raise WorkspaceUnavailable(f"{told.id} cannot be imported here, on the old code either: {why}")


@dataclass(frozen=True, slots=True)
class _Runs:
    change: Change
    workspace: Workspace
    timeout: float

    def run(
        self, state: str, tests: Sequence[str], lines: Mapping[str, Sequence[int]] | None = None
    ) -> TestReport:
        """The tests (files and ids) on one of the four states."""
        if not tests:
            return NO_TESTS
        return run_on(
            self.workspace, self.patches(state), selection_of(tests),
            timeout=self.timeout, count_lines=lines,
        )  # fmt: skip

    def patches(self, state: str) -> tuple[str, ...]:
        change = self.change
        return {
            "old": (),
            "red": (change.tests, change.runner),
            "kept": (change.code,),
            "new": (change.patch,),
        }[state]

    def single(self, state: str, results: Iterable[Standing | TestResult]) -> TestReport:
        """Single tests again, alone."""
        chosen = list(results)
        files = tuple(dict.fromkeys(one.file for one in chosen if one.file))
        selection = TestSelection(files, tuple(one.id for one in chosen))
        return run_on(self.workspace, self.patches(state), selection, timeout=self.timeout)


def _former_test_files(change: Change) -> tuple[str, ...]:
    """Changed or deleted test files as they were."""
    paths = [p for p in touched_files(change.tests) if p.endswith(".py") and is_test_file(p)]
    return tuple(path for path in paths if holds_tests(change.before.get(path, "")))


def _near(
    change: Change, workspace: Workspace, most: int, known: Collection[str]
) -> tuple[str, ...]:
    if not most:
        return ()
    sources = Original(workspace, Bounds()).sources()
    found = neighbouring_tests(
        touched_files(change.code), sources, hint=change.code, most=most + len(known)
    )
    return tuple(path for path in found if path not in known)[:most]


def _standings(
    change: Change, red: TestReport, new: TestReport, old: TestReport, kept: TestReport,
    near: Sequence[str],
) -> tuple[Standing, ...]:  # fmt: skip
    """Of the changed files every test; of what was not changed, those that turned."""
    if not change.changes_code:
        return ()
    beside = {one.partition("::")[0] for one in near}
    inside = replace(new, results=tuple(one for one in new.results if one.file not in beside))
    was = statuses(old)
    found = {}
    for one in standings(red, inside):
        if not one.imported and was.of(one.id, one.file) == "pass":
            one = replace(one, before="pass")  # the file asks for a new name; the test was green
        found[one.id] = one
    for one in standings(old, kept):
        if one.turn == "red to green" and statuses(new).of(one.id, one.file) == "pass":
            found.setdefault(one.id, one)
    return tuple(found.values())


def _again(
    runs: _Runs, candidates: Sequence[Standing], changed: Sequence[str],
    lines: Mapping[str, Sequence[int]],
) -> tuple[tuple[Standing, ...], tuple[str, ...], dict[str, frozenset[int]]]:  # fmt: skip
    """Which of the tests turn once more, alone; which do not; what they execute."""
    if not candidates:
        return (), (), {}
    own = [one for one in candidates if one.file in changed or not one.file]
    rest = [one for one in candidates if one not in own]
    before: dict[str, TestStatus] = {}
    for state, some in (("red", own), ("old", rest)):
        if some:
            found = statuses(runs.single(state, some))
            before |= {one.id: found.of(one.id, one.file) for one in some}
    chosen = TestSelection(
        tuple(dict.fromkeys(one.file for one in candidates if one.file)),
        tuple(one.id for one in candidates),
    )
    report = run_on(
        runs.workspace, runs.patches("new"), chosen, timeout=runs.timeout, count_lines=lines
    )
    after = statuses(report)
    steady = [
        one
        for one in candidates
        if before[one.id] == "fail" and after.of(one.id, one.file) == "pass"
    ]
    flaky = tuple(one.id for one in candidates if one not in steady)
    executed = {
        file: frozenset(line for line, times in counts.items() if times)
        for file, counts in report.lines.items()
    }
    return tuple(steady), flaky, executed


def _fell(
    runs: _Runs, old: TestReport, kept: TestReport
) -> tuple[tuple[TestResult, ...], tuple[str, ...]]:
    """Tests as they were that pass on the old code and fail on the new, when asked again too."""
    fallen = newly_failing(old, kept)
    if not fallen:
        return (), ()
    was = statuses(old)
    ids = [one for one in old.results if was.of(one.id, one.file) == "pass"]
    now = statuses(kept)
    ids = [one for one in ids if now.of(one.id, one.file) == "fail"]
    again = runs.single("old", ids), runs.single("kept", ids)
    before, after = map(statuses, again)
    failures = {one.id: one for one in (*kept.results, *again[1].results)}
    steady = [
        one
        for one in ids
        if before.of(one.id, one.file) == "pass" and after.of(one.id, one.file) == "fail"
    ]
    found = []
    for one in steady:
        told = failures.get(one.id)
        if told is None or told.failure is None:
            told = failures.get(one.file)
        found.append(replace(one, outcome="failed", failure=told.failure if told else None))
    return tuple(found), tuple(one.id for one in ids if one not in steady)


def _meddled(runs: _Runs, found: Evidence) -> str:
    """Whether failures that are planted in the tests that turned are seen."""
    ids = {one.id for one in found.turned}
    passing = [one for one in found.new.results if one.id in ids and one.outcome == "passed"]
    files = tuple(dict.fromkeys(one.file for one in passing if one.file)) or found.changed
    patches = tuple(filter(str.strip, runs.patches("new")))
    return turned_green(runs.workspace, patches, files, passing, timeout=runs.timeout)
