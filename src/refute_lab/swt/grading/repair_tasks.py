"""`refute grade --task repair`: fixes over a dataset in worker processes, journalled one by one.

An instance that cannot be graded for a reason that is not the fix's own has an error record; it
stops no other, and is tried again when the run goes on.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from refute.core.problems import IssueKey
from refute.core.processes import shared_slots
from refute.core.storage import cache_folder, write_atomically
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.factory import Backend
from refute.workspace.states import state_reports
from refute_lab.figures import Figure, mean
from refute_lab.runs.executors import Executor, Processes
from refute_lab.runs.records import Count, ErrorRecord, Number, Schema
from refute_lab.runs.run import Ending, Run
from refute_lab.swt.grading.growing import GradingTask, content_of, grown, stands
from refute_lab.swt.grading.repair import FixGrade, FixStatus, grade_fix
from refute_lab.swt.grading.verdict import attributed, golden_runs
from refute_lab.swt.predictions import Prediction, write_predictions
from refute_lab.swt.workspaces import spawner

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
    content: str | None = None
    """`content_of` what was graded; None: of an older version."""


FIX_RECORDS = Schema("fix grade", FixRecord)
FixGrades = Mapping[str, FixRecord | ErrorRecord]


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Everything that the grades depend on; goes into the journal's header."""

    dataset: str
    predictions: str
    """Where they were read from; `gold`: the golden patches."""
    model: str
    """`model_name_or_path` of the predictions."""
    timeout: float = 1800.0
    """Wall-clock seconds for one run of tests."""
    workspace: Backend = "local"

    def header(
        self, tasks: Sequence[GradingTask], started: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The settings; `started`: the header of a run that is there, which may have grown."""
        return grown({"kind": "fix grades", **asdict(self)}, tasks, started)


def gold_fixes(keys: Sequence[IssueKey]) -> dict[str, Prediction]:
    """The golden patches as the predictions of a model named ``gold``."""
    return {key.id: Prediction(key.id, key.patch, "gold") for key in keys}


def grade_fixes(
    run: Run[FixRecord],
    tasks: Sequence[GradingTask],
    settings: RepairSettings,
    *,
    jobs: int,
    executor: Executor | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Ending:
    """Grade what has no grade, `jobs` runs of tests at once; `progress` is told how many have one.

    Raises `WorkspaceUnavailable` when no worker can work.
    """
    return run.do(
        {task.item.problem.id: task for task in tasks},
        partial(_start, settings, shared_slots(jobs) if executor is None else None),
        executor or Processes(jobs),
        progress=progress,
        stands=stands,
        unavailable=WorkspaceUnavailable,
    )


def _start(
    settings: RepairSettings, slots: AbstractContextManager[Any] | None
) -> Callable[[tuple[str, GradingTask]], FixRecord | ErrorRecord]:
    return partial(_work, settings, slots or Lock())


def _work(
    settings: RepairSettings, slots: AbstractContextManager[Any], named: tuple[str, GradingTask]
) -> FixRecord | ErrorRecord:
    id, task = named
    start, problem, key = time.monotonic(), task.item.problem, task.item.key
    store = state_reports(cache_folder() / "states", problem, settings.workspace)
    spawn = spawner(problem, settings.workspace)
    patch, timeout = task.prediction.patch, settings.timeout
    try:
        grade = attributed(
            lambda: grade_fix(patch, key, spawn, store, timeout=timeout, slot=slots),
            lambda: golden_runs(key, spawn, timeout=timeout),
            lambda reason: FixGrade("not_trusted", remark=reason),
        )
    except (WorkspaceUnavailable, InputError) as error:
        return ErrorRecord(id, " ".join(str(error).split()))
    seconds = round(time.monotonic() - start, 3)
    return FixRecord(
        id=id, repo=problem.repo, seconds=seconds, content=content_of(task), **asdict(grade)
    )


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
    empty = [id for id in ids if _status(records, id) == "empty"]
    graded = [id for id in ids if _status(records, id) not in ("", "empty")]
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


def _status(records: FixGrades, id: str) -> str:
    record = records.get(id)
    return "" if record is None or isinstance(record, ErrorRecord) else record.status
