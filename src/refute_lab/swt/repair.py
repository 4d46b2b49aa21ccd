"""Does a fix resolve its issue? By the golden tests, as SWE-bench does.

The fix takes the golden patch's place, the golden tests are applied after it, and every one of them
that goes from fail to pass, or stays at pass, with the golden patch has to pass with the fix. Which
these are is measured here; the dataset's FAIL_TO_PASS and PASS_TO_PASS, which are wrong in places
(docs/swtbench.md), give a second verdict (`by_lists`).

What a fix does to tests and to their runner's files is left out, so it cannot pass that way; nor
does it pass where failures planted in the tests are not seen (`refute.workspace.control`).

`refute grade --task repair`: fixes over a dataset in worker processes, journalled one by one.

An instance that cannot be graded for a reason that is not the fix's own has an error record; it
stops no other, and is tried again when the run resumes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Spawn
from refute.core.problems import Count, IssueKey, Number
from refute.core.storage import cache_folder, write_atomically
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.contract import TestReport
from refute.workspace.control import turned_green
from refute.workspace.factory import Backend
from refute.workspace.patches import file_patches, split_fix, test_files, touched_files
from refute.workspace.running import ReportCache, TestStatus, rejection, statuses
from refute_lab.datasets.swe import IssueItem
from refute_lab.figures import Figure, Interval, mean, wilson
from refute_lab.runs import ErrorRecord, Schema, read_header, read_run
from refute_lab.swt import (
    PatchedState,
    Status,
    attributed,
    counted_lines,
    golden_runs,
    judge,
    run_lane,
    state_reports,
    transitions,
)
from refute_lab.swt.tasks import (
    GradingTask,
    Prediction,
    content_of,
    digest_of,
    grown,
    write_predictions,
)
from refute_lab.swt.workspaces import spawner

FixStatus = Literal[
    "resolved", "empty", "no_code", "not_applicable", "conflict", "not_trusted", "timeout",
    "crashed", "fails", "breaks",
]  # fmt: skip
"""`no_code`: it changes tests alone; `conflict`: the golden tests do not apply after it; `fails`: a
test that the golden patch turns green fails; `breaks`: only such as passed before fail."""

RunStates = Callable[..., list[TestReport]]
"""Of patched states, their reports."""
Meddles = Callable[[str, TestReport, Collection[str]], bool]
"""Of tests, their report with the fix, and ids of those that pass: whether that says nothing."""


@dataclass(frozen=True, slots=True)
class FixGrade:
    """The golden tests' verdict on one fix."""

    status: FixStatus
    wanted: int = 0
    """Golden tests that go from fail to pass with the golden patch."""
    failing: tuple[str, ...] = ()
    """Those of them that do not pass with the fix."""
    kept: int = 0
    """Golden tests that stay at pass with the golden patch."""
    broken: tuple[str, ...] = ()
    """Those of them that do not pass with the fix."""
    by_lists: bool | None = None
    """True: all of the dataset's FAIL_TO_PASS and PASS_TO_PASS that have results here pass; None:
    no golden test was run with the fix, or none is listed."""
    left_out: tuple[str, ...] = ()
    """Files of the fix that are tests or their runner's."""
    remark: str = ""

    @property
    def resolved(self) -> bool:
        return self.status == "resolved"

    @property
    def applied(self) -> bool:
        """Return whether it changes code and applies to the original code."""
        return self.status not in ("empty", "no_code", "not_applicable")


def grade_fix(
    fix: str,
    key: IssueKey,
    spawn: Spawn,
    store: ReportCache,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> FixGrade:
    """Grade a fix (unified diff). `spawn` opens a workspace at the base commit; `slot` is held
    while tests run.

    Raises `WorkspaceUnavailable`, also where the golden tests reproduce nothing: then nobody knows.
    """
    if not fix.strip():
        return FixGrade("empty")
    tests, code = code_of(fix)
    left_out = tuple(part.path for part in file_patches(tests))
    if not code.strip():
        return FixGrade("no_code" if tests.strip() else "not_applicable", left_out=left_out)
    with spawn() as workspace:
        why = rejection(workspace, code)
    if why:
        return FixGrade("not_applicable", left_out=left_out, remark=" ".join(why.split())[:300])
    run = states_run(spawn, store, timeout=timeout, slot=slot)
    meddles = meddling(code, spawn, timeout=timeout, slot=slot)
    return resolution(code, key, spawn, run, meddles, left_out=left_out)


def code_of(fix: str) -> tuple[str, str]:
    """The parts of a fix that touch tests or how they are run, and the code in it."""
    return split_fix(fix if fix.endswith("\n") else f"{fix}\n")


def states_run(
    spawn: Spawn,
    store: ReportCache,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> RunStates:
    """Return a function that runs states in one workspace, one after another."""

    def run(*states: PatchedState) -> list[TestReport]:
        return run_lane(states, spawn, store, timeout=timeout, slot=slot)

    return run


def meddling(
    code: str,
    spawn: Spawn,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> Meddles:
    """Return a check whether tests that pass with the code do so whatever they assert."""

    def meddles(tests: str, report: TestReport, ids: Collection[str]) -> bool:
        green = [result for result in report.results if result.id in ids]
        with slot or nullcontext(), spawn() as workspace:
            files = test_files(tests)
            return bool(turned_green(workspace, (code, tests), files, green, timeout=timeout))

    return meddles


def resolution(
    code: str,
    key: IssueKey,
    spawn: Spawn,
    run: RunStates,
    meddles: Meddles,
    *,
    left_out: tuple[str, ...] = (),
) -> FixGrade:
    """The golden tests' word on code that applies. Raises as `grade_fix`."""
    files = test_files(key.test_patch)
    # The counted lines are those of grading, so that its golden states are found in the store.
    counted = counted_lines(key.patch), touched_files(key.patch)
    (before,) = run(PatchedState("", key.test_patch, files, *counted))
    (after,) = run(PatchedState(key.patch, key.test_patch, files, *counted))
    found = transitions(statuses(before), statuses(after)).values()
    wanted = [one.test for one in found if (one.before, one.after) == ("fail", "pass")]
    kept = [one.test for one in found if (one.before, one.after) == ("pass", "pass")]
    if not wanted:
        raise WorkspaceUnavailable("the golden tests reproduce nothing here")
    known = FixGrade("conflict", len(wanted), (), len(kept), (), None, left_out)
    with spawn() as workspace:
        if rejection(workspace, code, key.test_patch):
            return known
    (fixed,) = run(PatchedState(code, key.test_patch, files, kept=False))
    stand = statuses(fixed)
    failing = tuple(id for id in wanted if stand.of(id) != "pass")
    broken = tuple(id for id in kept if stand.of(id) != "pass")
    status = _status(fixed, failing, broken)
    if status == "resolved" and meddles(key.test_patch, fixed, wanted):
        status = "not_trusted"
    lists = _by_lists(fixed, key)
    return FixGrade(status, len(wanted), failing, len(kept), broken, lists, left_out, fixed.remark)


def _status(fixed: TestReport, failing: Collection[str], broken: Collection[str]) -> FixStatus:
    if not fixed.trusted:
        return "not_trusted"
    if fixed.status != "finished" and (failing or broken):
        return "timeout" if fixed.status == "timeout" else "crashed"
    return "fails" if failing else "breaks" if broken else "resolved"


def _by_lists(fixed: TestReport, key: IssueKey) -> bool | None:
    """The same question by the dataset's names, which are read from logs: a test's id (cut at its
    first blank), its printed form, or the first line of its docstring."""
    stand = statuses(fixed)
    named: dict[str, list[TestStatus]] = {}
    for result in fixed.results:
        last = result.id.rsplit("::", 1)[-1]
        for name in {result.id, *result.id.split()[:1], *result.names, last}:
            named.setdefault(name, []).append(stand.of(result.id, result.file))
    listed = [named[name] for name in (*key.fail_to_pass, *key.pass_to_pass) if name in named]
    return all("fail" not in one and "pass" in one for one in listed) if listed else None


# -- repair tasks ----------------------------------------------------------------------------------


RESULTS, WRONG = "results.json", "wrong.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRecord:
    """The grade of one fix; see `FixGrade`."""

    id: str
    status: FixStatus
    wanted: Count
    failing: tuple[str, ...]
    kept: Count
    broken: tuple[str, ...]
    by_lists: bool | None
    left_out: tuple[str, ...]
    remark: str
    repo: str
    seconds: Number
    content: str = ""
    """`content_of` what was graded."""


FIX_RECORDS = Schema("fix grade", FixRecord)
FixGrades = Mapping[str, FixRecord | ErrorRecord]


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Everything that the grades depend on; goes into the journal's header."""

    dataset: str
    predictions: str
    """File that they were read from; `gold`: the golden patches."""
    model: str
    """`model_name_or_path` of the predictions."""
    timeout: float = 1800.0
    """Wall-clock seconds for one run of tests."""
    workspace: Backend = "local"

    def header(self, started: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings; `started`: the header of a run that is there, which may have grown."""
        return grown({"kind": "fix grades", **asdict(self)}, started)

    def record(self, slots: AbstractContextManager[Any], task: GradingTask) -> FixRecord:
        """The record of one fix; see `swt.tasks.Doing`."""
        problem, key = task.item.problem, task.item.key
        store = state_reports(cache_folder() / "states", problem, self.workspace)
        spawn = spawner(problem, self.workspace)
        patch, timeout = task.prediction.patch, self.timeout
        grade = attributed(
            lambda: grade_fix(patch, key, spawn, store, timeout=timeout, slot=slots),
            lambda: golden_runs(key, spawn, timeout=timeout),
            lambda reason: FixGrade("not_trusted", remark=reason),
        )
        content = content_of(task)
        return FixRecord(
            id=key.id, repo=problem.repo, seconds=0.0, content=content, **asdict(grade)
        )


def gold_fixes(keys: Sequence[IssueKey]) -> dict[str, Prediction]:
    """The golden patches as the predictions of a model named ``gold``."""
    return {key.id: Prediction(key.id, key.patch, "gold") for key in keys}


# -- what they come to -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FixSummary:
    """The figures of graded fixes."""

    n: int
    """Instances with a grade."""
    resolved: Figure
    """SWE-bench's figure: share of the instances."""
    applied: Figure
    by_lists: Figure
    """The same as `resolved` by the dataset's own lists of tests, of those that have one."""
    statuses: Mapping[str, int]
    errors: Mapping[str, str]
    """Instances without a grade, with the reason."""
    resolved_ids: tuple[str, ...]

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        return {"resolved": self.resolved, "applied": self.applied, "by_lists": self.by_lists}


def summarize_fixes(ids: Sequence[str], records: FixGrades) -> FixSummary:
    """The figures over the instances that have a record, in the order of `ids`."""
    found = [records[id] for id in ids if id in records]
    grades = [one for one in found if not isinstance(one, ErrorRecord)]
    return FixSummary(
        n=len(grades),
        resolved=mean(float(one.status == "resolved") for one in grades),
        applied=mean(float(_applied(one)) for one in grades),
        by_lists=mean(float(bool(one.by_lists)) for one in grades),
        statuses=dict(Counter(one.status for one in grades).most_common()),
        errors={one.id: one.error for one in found if isinstance(one, ErrorRecord)},
        resolved_ids=tuple(one.id for one in grades if one.status == "resolved"),
    )


def _applied(record: FixRecord) -> bool:
    return record.status not in ("empty", "no_code", "not_applicable")


def write_results(
    folder: Path, tasks: Sequence[GradingTask], records: FixGrades
) -> tuple[Path, Path]:
    """SWE-bench's report of a run, and the fixes that apply and resolve nothing (Table 5's wrong
    patches), as files of the run's folder."""
    ids = [task.item.problem.id for task in tasks]
    summary = summarize_fixes(ids, records)
    empty = [id for id in ids if _status_of(records, id) == "empty"]
    graded = [id for id in ids if _status_of(records, id) not in ("", "empty")]
    resolved = set(summary.resolved_ids)
    document = {
        "total_instances": len(ids),
        "submitted_instances": len(ids) - len(empty),
        "completed_instances": len(graded),
        "resolved_instances": len(resolved),
        "completed_ids": graded,
        "empty_patch_ids": empty,
        "error_ids": sorted(summary.errors),
        "resolved_ids": [id for id in ids if id in resolved],
        "unresolved_ids": [id for id in graded if id not in resolved],
        "schema_version": 2,
    }
    results, wrong = folder / RESULTS, folder / WRONG
    write_atomically(results, json.dumps(document, indent=1) + "\n")
    write_predictions(wrong.resolve(), [t.prediction for t in tasks if _is_wrong(records, t)])
    return results, wrong


def _is_wrong(records: FixGrades, task: GradingTask) -> bool:
    record = records.get(task.item.problem.id)
    if record is None or isinstance(record, ErrorRecord):
        return False
    return _applied(record) and record.status not in ("resolved", "conflict")


def _status_of(records: FixGrades, id: str) -> str:
    record = records.get(id)
    return "" if record is None or isinstance(record, ErrorRecord) else record.status


# -- filtering -------------------------------------------------------------------------------------
# Generated tests as a filter of proposed fixes (SWT-Bench, section 5.3).


@dataclass(frozen=True, slots=True)
class FilterTask:
    """One proposed fix, and the tests that are to judge it."""

    item: IssueItem
    fix: str
    """Unified diff, as SWE-bench's predictions hold it."""
    tests: str
    """The generated test patch; "": none."""
    confidence: float = 1.0
    """The generator's, in its tests."""

    @property
    def content(self) -> str:
        """A digest of it: a judgement stands for as long as this does."""
        return digest_of(self)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Everything that the judgements depend on; goes into the journal's header."""

    dataset: str
    fixes: str
    """File that the fixes were read from."""
    fixer: str
    """Their `model_name_or_path`."""
    tests: str
    """Generator of the tests: method and model."""
    timeout: float = 1800.0
    """Wall-clock seconds for one run of tests."""
    workspace: Backend = "local"

    def header(self) -> dict[str, Any]:
        """The settings of a journal; what was judged stands in each record."""
        return {"kind": "filter", **asdict(self)}

    def record(self, slots: AbstractContextManager[Any], task: FilterTask) -> Judgement:
        """The judgement of one fix; see `swt.tasks.Doing`."""
        problem = task.item.problem
        store = state_reports(cache_folder() / "states", problem, self.workspace)
        spawn = spawner(problem, self.workspace)
        judged = attributed(
            lambda: judge_fix(task, spawn, store, timeout=self.timeout, slot=slots),
            lambda: golden_runs(task.item.key, spawn, timeout=self.timeout),
            lambda _: Judgement(problem.id, "judged", False, "not_trusted", task.confidence),
        )
        return replace(judged, content=task.content, repo=problem.repo)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of the generated and of the golden tests on one fix."""

    id: str
    status: Literal["judged", "not_applied"]
    """`not_applied`: it changes no code, or does not apply; it is not a candidate."""
    resolved: bool
    """By the golden tests."""
    verdict: Status
    """Status of the generated tests with the fix in the golden patch's place."""
    confidence: Number
    content: str = ""
    """A digest of the task; see `FilterTask.content`."""
    repo: str = ""
    seconds: Number = 0.0

    @property
    def kept(self) -> bool:
        """Return whether the generated tests speak for the fix."""
        return self.status == "judged" and self.verdict == "success"


RECORDS = Schema("judgement", Judgement)


def judge_fix(
    task: FilterTask,
    spawn: Spawn,
    store: ReportCache,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> Judgement:
    """Judge one fix by both kinds of tests. `spawn` opens a workspace at the base commit.

    Raises `WorkspaceUnavailable`, also where the golden tests reproduce nothing: then nobody knows
    whether the fix is right.
    """
    id = task.item.problem.id
    _, code = code_of(task.fix)
    if not code.strip() or not _applies((code,), spawn):
        return Judgement(id, "not_applied", False, "not_applicable", task.confidence)
    run = states_run(spawn, store, timeout=timeout, slot=slot)
    meddles = meddling(code, spawn, timeout=timeout, slot=slot)
    resolved = resolution(code, task.item.key, spawn, run, meddles).resolved
    verdict = _verdict(code, task.tests, spawn, run, meddles)
    return Judgement(id, "judged", resolved, verdict, task.confidence)


# -- the generated tests ---------------------------------------------------------------------------


def _verdict(code: str, tests: str, spawn: Spawn, run: RunStates, meddles: Meddles) -> Status:
    if not tests.strip():
        return "empty"
    files = test_files(tests)
    if not files:
        return "no_test"
    if not _applies((tests,), spawn):
        return "not_applicable"
    if not _applies((code, tests), spawn):
        return "conflict"
    touched = touched_files(code)
    before, base_before = run(
        PatchedState("", tests, files, touched=touched, kept=False), PatchedState("", "", files)
    )
    if base_before.status != "finished":
        raise WorkspaceUnavailable(
            f"the repository's own tests do not finish: {base_before.status} {base_before.remark}"
        )
    # That they do not finish with the fix is the fix's own doing.
    after, base_after = run(
        PatchedState(code, tests, files, touched=touched, kept=False),
        PatchedState(code, "", files, kept=False),
    )
    verdict = judge([before], [after], base_before, base_after)
    if verdict.success and meddles(tests, after, verdict.fail_to_pass):
        return "not_trusted"
    return verdict.status


def _applies(patches: Sequence[str], spawn: Spawn) -> bool:
    with spawn() as workspace:
        return not rejection(workspace, *patches)


# -- filters ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """The fixes that are kept when tests of at least some confidence are asked for."""

    threshold: float
    """0: every kept fix."""
    kept: int
    right: int
    """Of them, those that resolve their issue."""
    resolved: int
    """All proposed fixes that resolve their issue, kept or not."""

    @property
    def precision(self) -> float:
        """Right ones among the kept; NaN where none is kept."""
        return self.right / self.kept if self.kept else math.nan

    @property
    def recall(self) -> float:
        """Kept ones among the right; NaN where none is right."""
        return self.right / self.resolved if self.resolved else math.nan

    @property
    def precision_interval(self) -> Interval:
        """95 % (Wilson)."""
        return wilson(self.right, self.kept)

    @property
    def recall_interval(self) -> Interval:
        """95 % (Wilson)."""
        return wilson(self.right, self.resolved)


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """A set of proposed fixes before and after the filter."""

    proposed: int
    """Fixes that were judged or do not apply."""
    unfiltered: Point
    """All fixes that apply."""
    filtered: Point
    curve: tuple[Point, ...]
    """Over the confidence, the highest first; the last is `filtered`."""
    resolved_ids: frozenset[str]


def filter_result(judged: Sequence[Judgement]) -> FilterFigures:
    """Precision and recall of "keep the fixes that turn a generated F→P test green"."""
    applied = [one for one in judged if one.status == "judged"]
    resolved = frozenset(one.id for one in applied if one.resolved)
    kept = [one for one in applied if one.kept]

    def point(threshold: float) -> Point:
        chosen = [one for one in kept if one.confidence >= threshold]
        return Point(threshold, len(chosen), sum(one.resolved for one in chosen), len(resolved))

    thresholds = sorted({one.confidence for one in kept}, reverse=True)
    return FilterFigures(
        proposed=len(judged),
        unfiltered=Point(0.0, len(applied), len(resolved), len(resolved)),
        filtered=point(0.0),
        curve=tuple(point(threshold) for threshold in thresholds),
        resolved_ids=resolved,
    )


@dataclass(frozen=True, slots=True)
class FilterRun:
    """A journal of judged fixes."""

    folder: Path
    dataset: str
    fixer: str
    """Method that proposed the fixes."""
    tests: str
    """Generator of the tests."""
    judged: tuple[Judgement, ...]
    errors: Mapping[str, str]
    """Instances without a judgement, with the reason."""

    @property
    def result(self) -> FilterFigures:
        return filter_result(self.judged)

    @property
    def title(self) -> str:
        """Return the names of the proposer and of the filter."""
        return f"{self.fixer}, filtered by {self.tests}"


def read_filter(directory: Path) -> FilterRun:
    """The filter in a folder of `refute bench --filter`. Raises `InputError`."""
    header, records = read_run(directory, RECORDS)
    if header.get("kind") != "filter":
        raise InputError(f"{directory}: not a filter of fixes")
    judged = tuple(one for one in records if not isinstance(one, ErrorRecord))
    errors = {one.id: one.error for one in records if isinstance(one, ErrorRecord)}
    names = (header["dataset"], header["fixer"], header["tests"])
    return FilterRun(directory, *names, judged, errors)


def filters_of(run: Path) -> list[FilterRun]:
    """The filters that the tests of a run of `refute bench` were used for, by name."""
    folders = sorted((run / "filter").glob("*"))
    return [read_filter(folder) for folder in folders if read_header(folder) is not None]
