"""Verdicts on tests: those of a patch that fail now and pass once the issue is fixed (SWT-Bench,
section 3.2).

Pure functions of test reports: nothing runs here. Six states of a repository take part: the
original and the fixed code, each with its own tests only (base), with the golden tests, and with
the predicted tests. `docs/swtbench.md` holds the rules as a table.

Whose fault is it that something could not be graded: the prediction's, or this machine's?

What cannot be graded for a reason that is not the prediction's is an error, and not counted. So a
prediction that makes itself an error would leave the count instead of failing. Whether it did is
tried, not guessed from the kind of the exception: where the instance's own golden tests run in a
workspace as fresh as the prediction's, and the prediction ends in an error twice, it is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from refute.core.methods import Spawn
from refute.core.problems import IssueKey
from refute.workspace.contract import TestReport
from refute.workspace.patches import added_lines, removed_lines, test_files
from refute.workspace.running import Statuses, TestStatus, statuses
from refute_lab.swt.states import PatchedState, run_state

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
"""Why a prediction succeeded or not, in the order of precedence (`success` needs none of the rest
up to `crashed`). Infrastructure trouble has no status: it is an exception, and an error record."""


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
    """Whether anything of the patch fails on the original code: a test, a file that cannot be
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
"""How the executable lines of a golden patch are found; see above."""

Line = tuple[str, int]
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
    `refute_lab.swt.reference`.)
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
