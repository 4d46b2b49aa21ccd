"""Grade one predicted test patch against an answer key (SWT-Bench, section 3).

Two lanes run side by side, one on the original and one on the fixed code, each in its own
workspace: first what the store does not know yet of the base and golden states, then with the
predicted tests. The verdict is computed here from structured reports; nothing printed is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

from refute.core.problems import IssueKey, IssuePrediction
from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestReport, Workspace
from refute.workspace.patches import file_patches, is_test_file, test_files, touched_files
from refute.workspace.running import NO_TESTS, ReportCache, files_with_tests
from refute_lab.swt.states import PatchedState, run_lane
from refute_lab.swt.verdict import (
    ChangeCoverage,
    Executable,
    ExecutableLines,
    Status,
    Verdict,
    change_coverage,
    counted_lines,
    fails_before,
    judge,
    with_counts,
)

Mode = Literal["tests", "reproduction"]
"""`reproduction`: the patch adds a script, and its exit status decides."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of grading predictions."""

    timeout: float = 1800.0
    """Wall-clock seconds for one run of tests (the reference's)."""
    repeat: int = 1
    """Runs of each state with predicted tests; more than one finds flaky tests."""
    tests_only: bool = False
    """Drop what a patch does to files that are no tests."""
    mode: Mode = "tests"
    script: str | None = None
    """The script of `reproduction`; None: the one Python file that the patch adds."""
    executable: Executable = "own"
    """Which lines of the golden patch ΔC counts (`refute_lab.swt.verdict`)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Reports of the executed states. Pairs are (original code, fixed code)."""

    predicted: tuple[tuple[TestReport, ...], tuple[TestReport, ...]]
    """One report for each repetition."""
    base: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS)
    golden: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS)


@dataclass(frozen=True, slots=True)
class IssueGrade:
    """The grade of one prediction, with what it rests on."""

    id: str
    verdict: Verdict
    coverage: ChangeCoverage | None = None
    """Of the predicted tests; None where nothing was counted."""
    golden_coverage: ChangeCoverage | None = None
    others: tuple[str, ...] = ()
    """Files that the patch touches and that are no tests."""
    evidence: Evidence | None = None
    """None where no test was run."""

    @property
    def applicable(self) -> bool:
        """A: the prediction is a valid patch that applies to the original code."""
        return self.verdict.status not in ("empty", "not_applicable")


def grade_prediction(
    prediction: IssuePrediction,
    key: IssueKey,
    spawn: Callable[[], Workspace],
    *,
    store: ReportCache,
    terms: Terms | None = None,
    slot: AbstractContextManager[Any] | None = None,
) -> IssueGrade:
    """Grade a prediction. `spawn` opens a workspace at the instance's base commit.

    `slot` is held while tests run. Raises `WorkspaceUnavailable` when the prediction cannot be
    graded for a reason that is not its own.
    """
    terms = terms or Terms()
    patch, others = _prepared(prediction.patch, terms)
    if not patch.strip():
        why = () if prediction.patch.strip() == "" else ("the patch touches no test file",)
        return _without_run(key, "no_test" if why else "empty", others, *why)
    if not file_patches(patch):
        return _without_run(key, "not_applicable", others, "it is not a unified diff")
    script = _script(patch, terms) if terms.mode == "reproduction" else None
    if script == "":
        told = (
            "a reproduction script is one new Python file; --set script=PATH names it among several"
        )
        return _without_run(key, "no_test", others, told)
    files = () if script is not None else test_files(patch)
    try:
        runnable = script is not None or _applied(patch, files, spawn)
    except PatchRejected as error:
        return _without_run(key, "not_applicable", others, str(error))
    if not runnable:
        return _without_run(key, "no_test", others, "no touched file holds a test")
    evidence = run_states(patch, key, spawn, store, terms, slot, files, script)
    if isinstance(evidence, Conflict):
        verdict = Verdict("conflict", remarks=(evidence.why,), fails_before=evidence.fails_before)
        return IssueGrade(key.id, verdict, others=others)
    return grade_evidence(evidence, key, others=others, counted=script is None)


def grade_evidence(
    evidence: Evidence, key: IssueKey, *, others: Sequence[str] = (), counted: bool = True
) -> IssueGrade:
    """The grade that the reports amount to. `counted`: they hold executions of lines.

    Raises `WorkspaceUnavailable` when the golden tests cannot be run on the fixed code, or the
    original tests did not finish without the patch, nor did the golden ones: where only the files
    that the patch chose do not, the choice is its own.
    """
    if why := unrunnable(evidence.golden[1]):
        raise WorkspaceUnavailable(f"the golden tests cannot be run here: {why}")
    for report in evidence.base:
        if report.status != "finished":
            why = f"the repository's own tests do not finish: {report.remark or report.status}"
            if any(not one.results or one.status != "finished" for one in evidence.golden):
                raise WorkspaceUnavailable(why)
            status: Status = "timeout" if report.status == "timeout" else "crashed"
            verdict = Verdict(status, remarks=(why,))
            return IssueGrade(key.id, verdict, others=tuple(others), evidence=evidence)
    verdict = judge(*evidence.predicted, *evidence.base)
    coverage = golden = None
    if counted:
        coverage = covered_by(key, evidence)
        first, last = evidence.golden
        golden = covered_by(key, replace(evidence, predicted=((first,), (last,))))
    return IssueGrade(key.id, verdict, coverage, golden, tuple(others), evidence)


def covered_by(
    key: IssueKey, evidence: Evidence, executable: ExecutableLines | None = None
) -> ChangeCoverage:
    """ΔC of the predicted tests in the evidence; see `change_coverage`."""
    before, after = (reports[0] for reports in evidence.predicted)
    return change_coverage(
        key.patch,
        before=before,
        after=after,
        base=evidence.base,
        golden=evidence.golden,
        executable=executable,
    )


def _prepared(patch: str, terms: Terms) -> tuple[str, tuple[str, ...]]:
    """The patch as it is applied, and the files in it that are no tests.

    A binary file without its data (`Binary files a and b differ`) is left out, as the reference
    leaves it out.
    """
    parts = [part for part in file_patches(patch) if not _is_hollow(part.text)]
    if not parts:
        return patch, ()
    others = tuple(sorted({part.path for part in parts if not is_test_file(part.path)}))
    if terms.tests_only:
        parts = [part for part in parts if part.path not in others]
    return "".join(part.text for part in parts), others


def _is_hollow(text: str) -> bool:
    return any(line.startswith("Binary files ") for line in text.splitlines())


def _script(patch: str, terms: Terms) -> str:
    """Path of the script that the patch adds; "" where that is not one file."""
    if terms.script is not None:
        return terms.script
    new = [p.new for p in file_patches(patch) if p.old is None and p.new and p.new.endswith(".py")]
    return new[0] if len(new) == 1 else ""


def _applied(patch: str, files: Sequence[str], spawn: Callable[[], Workspace]) -> bool:
    """Apply the patch to the original code; say whether any of the files holds a test."""
    with spawn() as workspace:
        workspace.apply(patch)
        return bool(files_with_tests(workspace, files))


def _states(
    patch: str, key: IssueKey, files: tuple[str, ...], script: str | None, terms: Terms
) -> tuple[list[PatchedState], list[PatchedState]]:
    """The states on the original and on the fixed code: predicted ones, then base and golden, and
    the import of the golden tests' files that the base state does not run: what they and their
    conftest import, the suite has executed before any prediction does."""
    golden_files = test_files(key.test_patch)
    there = {part.new for part in file_patches(patch) if part.old is not None}
    unrun = tuple(file for file in golden_files if file not in files or file not in there)
    lines, touched = counted_lines(key.patch), touched_files(key.patch)
    lanes = []
    for fix in ("", key.patch):
        golden = PatchedState(fix, key.test_patch, golden_files, lines, touched)
        predicted = PatchedState(fix, patch, files, lines, touched, script=script)
        kept = predicted == golden and terms.repeat == 1
        states = [replace(predicted, kept=kept)] * terms.repeat
        if script is None:
            base = PatchedState(fix, "", files, lines, touched)
            suite = replace(base, files=unrun if lines else (), import_only=True)
            states += [base, golden, suite]
        lanes.append(states)
    return lanes[0], lanes[1]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The patch applies to the original code alone."""

    why: str
    fails_before: bool


def run_states(
    patch: str,
    key: IssueKey,
    spawn: Callable[[], Workspace],
    store: ReportCache,
    terms: Terms,
    slot: AbstractContextManager[Any] | None,
    files: tuple[str, ...],
    script: str | None = None,
) -> Evidence | Conflict:
    """Run all states that the grade of a patch with these test files rests on. Raises
    `WorkspaceUnavailable`."""
    before, after = _states(patch, key, files, script, terms)
    with ThreadPoolExecutor(2) as lanes:
        futures = [
            lanes.submit(run_lane, states, spawn, store, timeout=terms.timeout, slot=slot)
            for states in (before, after)
        ]
    n = terms.repeat
    first = futures[0].result()
    try:
        last = futures[1].result()
    except PatchRejected as error:
        without = first[n] if len(first) > n else NO_TESTS
        return Conflict(str(error), fails_before(first[:n], without))
    predicted = tuple(first[:n]), tuple(last[:n])
    if len(first) == n:
        return Evidence(predicted)
    base = with_counts(first[n], first[n + 2]), with_counts(last[n], last[n + 2])
    return Evidence(predicted, base, (first[n + 1], last[n + 1]))


def _without_run(key: IssueKey, status: Status, others: Sequence[str], *remarks: str) -> IssueGrade:
    return IssueGrade(key.id, Verdict(status, remarks=tuple(remarks)), others=tuple(others))


def unrunnable(report: TestReport) -> str:
    """Return in one line why the tests of a state known to be right cannot run here; "" if some
    test ran, or none exists.

    A runner that does not start, and files none of which can be imported, speak of the
    environment: it lacks a package, or has one that is too new. That does not count.
    """
    if any(result.phase != "collect" for result in report.results):
        return ""
    if not report.results:
        return "" if report.status != "crashed" else report.remark or "the runner did not start"
    failures = (one.failure for one in report.results if one.outcome == "error")
    failure = next((one for one in failures if one is not None), None)
    if failure is None:
        return ""
    file = report.results[0].file or report.results[0].id
    message = (failure.message.strip().splitlines() or [""])[-1]
    return f"{file} cannot be imported: {failure.type}: {message}"[:300]
