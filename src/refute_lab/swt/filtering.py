"""Generated tests as a filter of proposed fixes (SWT-Bench, section 5.3).

A fix is kept when generated tests that fail on the original code pass with it, and none of them
fails with it: success, judged as ever, with the proposed fix in the golden patch's place. Whether a
fix is right is for the golden tests to say: it resolves the issue when every golden test that goes
from fail to pass, or stays at pass, with the golden patch passes with the fix.

What a fix does to tests and to their runner's files is left out, so it cannot pass that way; nor
does it pass where failures planted in the tests are not seen (`refute.workspace.control`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Spawn
from refute.core.storage import cache_folder
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.factory import Backend
from refute.workspace.patches import test_files, touched_files
from refute.workspace.running import ReportCache, rejection
from refute_lab.datasets.swe import IssueItem
from refute_lab.figures import Interval, wilson
from refute_lab.runs.journal import ErrorRecord, Number, Schema, read_header, read_run
from refute_lab.swt.repair import (
    Meddles,
    RunStates,
    code_of,
    meddling,
    resolution,
    states_run,
)
from refute_lab.swt.states import PatchedState, state_reports
from refute_lab.swt.tasks import digest_of
from refute_lab.swt.verdict import Status, attributed, golden_runs, judge
from refute_lab.swt.workspaces import spawner


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
    """Where the fixes were read from."""
    fixer: str
    """Their `model_name_or_path`."""
    tests: str
    """What generated the tests: method and model."""
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
    """What proposed the fixes."""
    tests: str
    """What generated the tests."""
    judged: tuple[Judgement, ...]
    errors: Mapping[str, str]
    """Instances without a judgement, with the reason."""

    @property
    def result(self) -> FilterFigures:
        return filter_result(self.judged)

    @property
    def title(self) -> str:
        """Who proposed and who filtered."""
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
