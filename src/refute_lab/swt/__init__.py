"""SWT-Bench: its rules of grading, its tables, and benchmarks built as it was."""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from refute.core.methods import Spawn
from refute.core.problems import Count, IssueKey, IssueProblem
from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.patches import added_lines, removed_lines, test_files
from refute.workspace.running import (
    NO_TESTS,
    ReportCache,
    Statuses,
    TestStatus,
    files_with_tests,
    statuses,
)

_FORMAT = 1
_AT_ONCE = 200
_ALIKE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class PatchedState:
    """Patches on the base commit, and the tests that are then run."""

    fix: str = ""
    """The golden patch, or "" for the original code."""
    tests: str = ""
    """The patch with tests, or ""; applied after the fix."""
    files: tuple[str, ...] = ()
    """Test files to run, those of them that are there and hold tests."""
    counted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    touched: tuple[str, ...] = ()
    """Files that the fix changes, here or in the state that this one is compared with."""
    import_only: bool = False
    """Import the files, with what their runner loads for them, and run no test."""
    kept: bool = True
    """Base and golden states: the report is looked up in the store and kept there, and a patch
    that does not apply is a fault of the data, not of a prediction."""


def state_reports(directory: Path | None, problem: IssueProblem, backend: str) -> ReportCache:
    """Reports of states of one instance, each under its `PatchedState`."""
    recipe = None if problem.recipe is None else asdict(problem.recipe)
    instance = [problem.repo, problem.base_commit, recipe, backend]
    return ReportCache(directory, _FORMAT, _probe_version(), *instance)


def run_lane(
    states: Sequence[PatchedState],
    spawn: Callable[[], Workspace],
    store: ReportCache,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> list[TestReport]:
    """The reports of the states, run one after another in one workspace (none where all are known),
    those that are kept first.

    `slot` is held while tests run. Raises `PatchRejected` when predicted tests do not apply, and
    `WorkspaceUnavailable`.
    """
    reports: dict[int, TestReport] = {}
    workspace: Workspace | None = None
    # what is kept runs before any predicted test has run in there
    order = sorted(range(len(states)), key=lambda number: not states[number].kept)
    with ExitStack() as stack:
        for number in order:
            state = states[number]
            report = NO_TESTS if not state.files else None
            if report is None and state.kept:
                report = store.get(asdict(state))
            if report is None:
                with slot or nullcontext():
                    if workspace is None:
                        workspace = stack.enter_context(spawn())
                    else:
                        workspace.reset()
                    report = run_state(workspace, state, timeout=timeout)
                if state.kept and report.status == "finished":
                    store.put(report, asdict(state))
            reports[number] = report
    return [reports[number] for number in range(len(states))]


def run_state(workspace: Workspace, state: PatchedState, *, timeout: float) -> TestReport:
    """Apply the state's patches to a clean workspace and run what it says.

    Raises `PatchRejected` for predicted tests; a golden patch that does not apply is
    `WorkspaceUnavailable`.
    """
    if state.fix:
        _apply_golden(workspace, state.fix, "patch")
    _make_alike(workspace, state.touched)
    if state.tests and state.kept:
        _apply_golden(workspace, state.tests, "tests")
    elif state.tests:
        workspace.apply(state.tests)
    files = files_with_tests(workspace, state.files)
    if not files and state.import_only and state.files:
        # what a runner loads for a folder (conftest.py, Django's settings) it loads for this one
        files = state.files[:1]
        workspace.write(files[0], b"")
    if not files:
        return NO_TESTS
    selection = TestSelection(files, import_only=state.import_only)
    return workspace.run_tests(selection, count_lines=state.counted, timeout=timeout)


_NOISE = 200
_ALIKE = """rm -rf .git
number={noise}
while [ $number -gt 0 ]; do (:); : > ".refute~$number"; number=$((number - 1)); done
rm -f .refute~*
for path do
  folder=$(dirname "$path"); name=${path##*/}
  rm -f "$folder/__pycache__/${name%.py}".*.pyc "${path}c"
  while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
  : > "$folder/.refute~" && rm "$folder/.refute~"
  if [ -L "$path" ]; then
    target=$(readlink "$path"); rm "$path"; ln -s "$target" "$path"
  elif [ -f "$path" ]; then
    cp -p "$path" "$path.refute~" && touch "$path.refute~" && mv -f "$path.refute~" "$path"
  fi
done"""


def _make_alike(workspace: Workspace, touched: Sequence[str]) -> None:
    """Leave a test no way to see that something was changed without reading what: no git to ask,
    and the files that the fix changes as new on the original code as on the fixed. Numbers of
    processes and inodes, which count what was done before, are no more than chance."""
    for start in range(0, max(1, len(touched)), _AT_ONCE):
        paths = [shlex.quote(f"./{path}") for path in touched[start : start + _AT_ONCE]]
        script = _ALIKE.replace("{noise}", str(secrets.randbelow(_NOISE)))
        command = f"set -- {' '.join(paths)}\n{script}"
        ran = workspace.run(command, timeout=_ALIKE_SECONDS)
        if ran.status:
            raise WorkspaceUnavailable(f"the tree cannot be made ready: {ran.output[-300:]}")


def _apply_golden(workspace: Workspace, patch: str, what: str) -> None:
    try:
        workspace.apply(patch)
    except PatchRejected as error:
        raise WorkspaceUnavailable(f"the golden {what} cannot be applied: {error}") from None


@cache
def _probe_version() -> str:
    """A digest of the code that counts and reports: its results are kept for as long as it is."""
    import refute.probe

    digest = hashlib.sha256()
    for folder in sorted(refute.probe.__path__):
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


# -- verdict ---------------------------------------------------------------------------------------


# -- attribution -----------------------------------------------------------------------------------


Grade = TypeVar("Grade")


def attributed(
    grade: Callable[[], Grade], works: Callable[[], bool], own: Callable[[str], Grade]
) -> Grade:
    """Return the result of `grade`; if it raises because of the prediction, `own(reason)`.

    `works`: whether the same can be done here without the prediction. Raises what `grade` raised
    where it cannot.
    """
    try:
        return grade()
    except Exception:
        if not works():
            raise
    try:
        return grade()
    except Exception as error:
        return own(_line(error))


def golden_runs(key: IssueKey, spawn: Spawn, *, timeout: float) -> bool:
    """Return whether golden tests run here, and go from fail to pass with the golden patch."""
    files = test_files(key.test_patch)
    try:
        with spawn() as workspace:
            before = run_state(workspace, PatchedState("", key.test_patch, files), timeout=timeout)
            workspace.reset()
            after = run_state(
                workspace, PatchedState(key.patch, key.test_patch, files), timeout=timeout
            )
    except Exception:
        return False
    return after.status == "finished" and after.trusted and works((before, after))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def works(golden: tuple[TestReport, TestReport]) -> bool:
    """Return whether any golden test fails on the original and passes on the fixed code."""
    found = transitions(*(statuses(report) for report in golden))
    return any((one.before, one.after) == ("fail", "pass") for one in found.values())


def missing_fail_to_pass(golden: tuple[TestReport, TestReport], key: IssueKey) -> tuple[str, ...]:
    """Names in the dataset's FAIL_TO_PASS list that are not F→P in our runs.

    The list holds what the dataset's authors read from logs: a test's id (cut at its first
    blank), its printed form, or the first line of its docstring.
    """
    found = transitions(*(statuses(report) for report in golden))
    names: set[str] = set()
    for report in golden:
        for result in report.results:
            one = found.get(result.id)
            if one is not None and (one.before, one.after) == ("fail", "pass"):
                names.update((result.id, *result.id.split()[:1], *result.names))
                names.add(result.id.rsplit("::", 1)[-1])
    return tuple(name for name in key.fail_to_pass if name not in names)


Status = Literal[
    "success",
    "empty",
    "not_applicable",
    "no_test",
    "conflict",
    "not_trusted",
    "timeout",
    "crashed",
    "collection_error",
    "fails_after",
    "no_test_ran",
    "passes_before",
]
"""Result of a prediction, in the order of precedence (`success` needs none of the rest up to
`crashed`). Infrastructure trouble has no status: it is an exception, and an error record."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One test on the original and on the fixed code."""

    test: str
    before: TestStatus
    after: TestStatus
    flaky: bool = False
    """It stood differently in repeated runs of one state."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Results of the predicted tests. All tuples hold transitions of the patch's own tests only."""

    status: Status
    own: tuple[Transition, ...] = ()
    broken: tuple[str, ...] = ()
    """Files that cannot be imported on the fixed code, because of the patch."""
    remarks: tuple[str, ...] = ()
    fails_before: bool = False
    """True: anything of the patch fails on the original code: a test, a file that cannot be
    imported there (nor on the fixed code, so that no test of it is known), a run that does not end.
    The first version of the paper takes any such error for F (section 3.1)."""

    @property
    def success(self) -> bool:
        """S: at least one F→P, and nothing that fails after the golden patch."""
        return self.status == "success"

    @property
    def fail_to_pass(self) -> tuple[str, ...]:
        return self._between("fail", "pass")

    @property
    def fail_to_any(self) -> tuple[str, ...]:
        """F→×: fails on the original code, whatever it does after."""
        return tuple(one.test for one in self.own if one.before == "fail")

    @property
    def pass_to_pass(self) -> tuple[str, ...]:
        return self._between("pass", "pass")

    @property
    def failing_after(self) -> tuple[str, ...]:
        """×→F: fails on the fixed code, whatever it did before."""
        return tuple(one.test for one in self.own if one.after == "fail")

    def _between(self, before: TestStatus, after: TestStatus) -> tuple[str, ...]:
        return tuple(o.test for o in self.own if (o.before, o.after) == (before, after))


def transitions(before: Statuses, after: Statuses) -> dict[str, Transition]:
    """Every test that either state knows, by id, in the order of the states' reports."""
    ids = dict.fromkeys((*before.tests, *after.tests))
    rows = {}
    for test in ids:
        file = before.files.get(test) or after.files.get(test, "")
        rows[test] = Transition(test, before.of(test, file), after.of(test, file))
    return rows


def own_tests(
    predicted: Mapping[str, Transition], base: Mapping[str, Transition]
) -> tuple[Transition, ...]:
    """The tests whose behaviour the patch made: new ones, and those that stand differently.

    A test that fails on the fixed code without the patch as well is not the patch's failure.
    """
    rows = []
    for test, now in predicted.items():
        was = base.get(test)
        if was is not None and (now.before, now.after) == (was.before, was.after):
            continue
        if was is not None and now.after == "fail" == was.after:
            continue
        rows.append(now)
    return tuple(rows)


def judge(
    before: Sequence[TestReport],
    after: Sequence[TestReport],
    base_before: TestReport,
    base_after: TestReport,
) -> Verdict:
    """The verdict on a patch that applies to both codes and touches tests.

    `before` and `after` hold one report for each repetition on the original and on the fixed code.
    """
    first, last = combined(before, best=True), combined(after, best=False)
    base_last = statuses(base_after)
    found = transitions(first.statuses, last.statuses)
    base = transitions(statuses(base_before), base_last)
    flaky = first.flaky | last.flaky
    own = tuple(
        Transition(one.test, one.before, one.after, one.test in flaky)
        for one in own_tests(found, base)
    )
    broken = tuple(sorted(last.statuses.broken - base_last.broken))
    verdict = Verdict("passes_before", own, broken, _remarks((*before, *after)))
    status = _status(verdict, before, after)
    failed = bool(verdict.fail_to_any) or fails_before(before, base_before)
    return Verdict(status, own, broken, verdict.remarks, failed)


def fails_before(before: Sequence[TestReport], base_before: TestReport) -> bool:
    """Return whether something fails on the original code that does not fail there without the
    patch."""
    first, base = combined(before, best=True).statuses, statuses(base_before)
    failing = (
        status == "fail" and base.of(test, first.files.get(test, "")) != "fail"
        for test, status in first.tests.items()
    )
    return not first.finished or bool(first.broken - base.broken) or any(failing)


def _status(verdict: Verdict, before: Sequence[TestReport], after: Sequence[TestReport]) -> Status:
    if not all(report.trusted for report in (*before, *after)):
        return "not_trusted"
    if (ended := _unfinished(after)) is not None:
        return ended
    if verdict.broken:
        return "collection_error"
    if verdict.failing_after:
        return "fails_after"
    if verdict.fail_to_pass:
        return "success"
    if (ended := _unfinished(before)) is not None:
        return ended
    if all(one.before == one.after == "none" for one in verdict.own):
        return "no_test_ran"
    return "passes_before"


def _unfinished(reports: Iterable[TestReport]) -> Literal["timeout", "crashed"] | None:
    ends = {report.status for report in reports}
    if "timeout" in ends:
        return "timeout"
    return None if ends <= {"finished"} else "crashed"


def _remarks(reports: Iterable[TestReport]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(report.remark for report in reports if report.remark))


# -- repeated runs of one state -------------------------------------------------------------------


_ORDER: tuple[TestStatus, ...] = ("fail", "unknown", "none", "pass")
"""Worst first."""


@dataclass(frozen=True, slots=True)
class Combined:
    """Several runs of one state as one."""

    statuses: Statuses
    flaky: frozenset[str]
    """Tests that stood differently from run to run."""


def combined(reports: Sequence[TestReport], *, best: bool) -> Combined:
    """The runs as one: each test as in its best run (`best`), or as in its worst.

    The rule is against the prediction: a test fails on the original code only if it failed in every
    run, and passes on the fixed code only if it passed in every run. So a flaky one is never F→P.

    Raises `ValueError` without any report.
    """
    if not reports:
        raise ValueError("no report")
    runs = [statuses(report) for report in reports]
    files = {test: file for run in reversed(runs) for test, file in run.files.items()}
    tests: dict[str, TestStatus] = {}
    flaky = set()
    for test in dict.fromkeys(test for run in runs for test in run.tests):
        seen = sorted((run.of(test, files.get(test, "")) for run in runs), key=_ORDER.index)
        tests[test] = seen[-1] if best else seen[0]
        if len(set(seen)) > 1:
            flaky.add(test)
    broken = [run.broken for run in runs]
    together = frozenset.intersection(*broken) if best else frozenset.union(*broken)
    finished = all(run.finished for run in runs)
    return Combined(Statuses(tests, files, together, finished), frozenset(flaky))


# -- coverage --------------------------------------------------------------------------------------


Executable = Literal["own", "golden", "printed"]
"""Way to find the executable lines of a golden patch; see above."""

Line = tuple[str, Count]
"""A file and a 1-based line number."""
Counts = Mapping[str, Mapping[int, int]]
"""File -> line -> number of executions."""


@dataclass(frozen=True, slots=True)
class ExecutableLines:
    """X*: lines of a golden patch that count."""

    removed: tuple[Line, ...]
    added: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class ChangeCoverage:
    """The executable lines of a golden patch, and those that a suite executes more often."""

    removed: tuple[Line, ...]
    """X*_r."""
    added: tuple[Line, ...]
    """X*_a."""
    covered_removed: tuple[Line, ...]
    covered_added: tuple[Line, ...]

    @property
    def value(self) -> float | None:
        """ΔC in [0, 1]; None where the golden patch has no executable line (excluded)."""
        total = len(self.removed) + len(self.added)
        if not total:
            return None
        return (len(self.covered_removed) + len(self.covered_added)) / total


def counted_lines(patch: str) -> dict[str, Sequence[int]]:
    """Lines of Python files to be counted, on the original and on the fixed code alike: those that
    the patch removes there, and those that it adds here.

    A test can find out what is counted; so that must not tell it which code it runs on. (The
    reference, too, takes base counts of removed lines from the fixed code:
    `refute_lab.swt.grade`.)
    """
    removed, added = removed_lines(patch), added_lines(patch)
    return {
        file: tuple(sorted({*removed.get(file, ()), *added.get(file, ())}))
        for file in {**removed, **added}
        if file.endswith(".py")
    }


def change_coverage(
    patch: str,
    *,
    before: TestReport,
    after: TestReport,
    base: tuple[TestReport, TestReport],
    golden: tuple[TestReport, TestReport],
    executable: ExecutableLines | None = None,
) -> ChangeCoverage:
    """ΔC of the tests that were run in `before` (original code) and `after` (fixed code).

    `patch` is the golden patch; `base` and `golden` are reports on the original and fixed code.
    `executable`: the lines that count; None: those that `base` or `golden` execute.
    """
    lines = executable or executable_lines(patch, base=base, golden=golden)
    return ChangeCoverage(
        lines.removed,
        lines.added,
        _more_often(lines.removed, before.lines, base[0].lines),
        _more_often(lines.added, after.lines, base[1].lines),
    )


def executable_lines(
    patch: str,
    *,
    base: tuple[TestReport, TestReport],
    golden: tuple[TestReport, TestReport],
    rule: Executable = "own",
) -> ExecutableLines:
    """X* of a golden patch, from reports on the original and fixed code. Where they are of the
    golden tests' files, `own` is `golden`."""
    least = 2 if rule == "printed" else 1
    return ExecutableLines(
        _executed(removed_lines(patch), least, base[0].lines, golden[0].lines),
        _executed(added_lines(patch), least, base[1].lines, golden[1].lines),
    )


def with_counts(report: TestReport, other: TestReport) -> TestReport:
    """The report with the larger count of each line in it and in `other`: the base of ΔC where the
    suite is more than the files that were run."""
    lines = {
        file: {line: max(_count(report.lines, (file, line)), n) for line, n in counts.items()}
        for file, counts in other.lines.items()
    }
    return replace(report, lines={**report.lines, **lines})


def _executed(lines: Mapping[str, Sequence[int]], least: int, *counts: Counts) -> tuple[Line, ...]:
    return tuple(
        (file, line)
        for file, numbers in lines.items()
        for line in numbers
        if sum(_count(one, (file, line)) for one in counts) >= least
    )


def _more_often(lines: Sequence[Line], counts: Counts, base: Counts) -> tuple[Line, ...]:
    return tuple(line for line in lines if _count(counts, line) > _count(base, line))


def _count(counts: Counts, line: Line) -> int:
    return counts.get(line[0], {}).get(line[1], 0)


# -- swt -------------------------------------------------------------------------------------------
