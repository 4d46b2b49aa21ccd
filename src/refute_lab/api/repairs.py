"""Fixes over a dataset, graded as SWE-bench does: `--task repair` of `grade` and `bench`.

>>> refute_lab.grade("swe-lite", "predictions.jsonl", task="repair").figures["resolved"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.remarks import remark
from refute.verbs.output import Progress, Shown, silent
from refute.workspace.factory import Backend
from refute_lab.datasets.swe import IssueItem
from refute_lab.figures import Figure
from refute_lab.runs.executors import Executor
from refute_lab.runs.journal import read_header
from refute_lab.runs.records import ErrorRecord
from refute_lab.runs.run import Run
from refute_lab.swt.grading.repair import (
    FIX_RECORDS,
    FixRecord,
    FixSummary,
    RepairSettings,
    gold_fixes,
    grade_fixes,
    summarize_fixes,
    write_results,
)
from refute_lab.swt.grading.tasks import GradingTask, check_growth, default_jobs
from refute_lab.swt.predictions import Prediction
from refute_lab.swt.workspaces import check_engine


@dataclass(frozen=True, slots=True)
class FixGradeResult(Shown):
    """The grades of fixes."""

    title: str
    dataset: str
    ids: tuple[str, ...]
    """Of the instances, in the order of the dataset."""
    records: Mapping[str, FixRecord | ErrorRecord]
    directory: Path
    """The run's folder, with `results.json` (SWE-bench's report) and `wrong.jsonl`."""

    @property
    def summary(self) -> FixSummary:
        """Figures and counts."""
        return summarize_fixes(self.ids, self.records)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures by name."""
        one = self.summary
        return {"resolved": one.resolved, "applied": one.applied, "by_lists": one.by_lists}

    @property
    def complete(self) -> bool:
        """Whether every instance has a grade; the same call with `run` retries the others."""
        return not self.summary.errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.repairs import fix_grades_document

        place = str(self.directory)
        return fix_grades_document(self.dataset, self.summary, self.ids, self.records, place)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.repairs import print_fix_grades

        print_fix_grades(self.title, self.summary, console)


def grade_repairs(
    items: Sequence[IssueItem],
    predictions: str,
    read: Callable[[Mapping[str, Prediction] | None], tuple[list[GradingTask], str]],
    dataset: str,
    *,
    folder: Path | Callable[[str], Path],
    again: str = "",
    timeout: float,
    workspace: Backend = "local",
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> FixGradeResult:
    """Grade fixes for the items. `read` gives what is graded and the name of what made them, of
    the golden patches where it is handed these."""
    gold = gold_fixes([item.key for item in items]) if predictions == "gold" else None
    tasks, model = read(gold)
    check_engine(workspace)
    settings = RepairSettings(dataset, predictions, model, timeout, workspace)
    directory = folder if isinstance(folder, Path) else folder(model)
    again = again or f"the same command and --run {directory}"
    header = settings.header(tasks, read_header(directory))
    with Run(directory, header, FIX_RECORDS, again=again) as run:
        check_growth(directory, run.records, tasks, dataset)
        remark([f"{len(tasks)} instances into {directory}"])
        grade_fixes(
            run,
            tasks,
            settings,
            jobs=jobs or default_jobs(),
            executor=executor,
            progress=lambda done: progress(done, len(tasks)),
        )
        records = dict(run.records)
    results, wrong = write_results(directory, tasks, records)
    remark([f"SWE-bench's report: {results}; fixes that apply and resolve nothing: {wrong}"])
    ids = tuple(item.problem.id for item in items)
    result = FixGradeResult(f"{Path(dataset).name}, {model}", dataset, ids, records, directory)
    remark(f"{id}: no grade: {reason}" for id, reason in result.summary.errors.items())
    return result
