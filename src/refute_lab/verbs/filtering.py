"""`bench --filter`: proposed fixes, judged by the tests of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.remarks import remark
from refute.errors import InputError
from refute.verbs.output import Progress, Shown, apart
from refute_lab.benches import issues
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.runs.executors import Workers, executor_of
from refute_lab.runs.journal import read_header, read_run
from refute_lab.runs.records import ErrorRecord
from refute_lab.runs.run import Run
from refute_lab.swt.filtering import (
    RECORDS,
    FilterRun,
    FilterSettings,
    FilterTask,
    judge_fixes,
    read_filter,
)
from refute_lab.swt.predictions import Prediction, read_predictions
from refute_lab.swt.tasks import RUN_MEMORY, default_jobs
from refute_lab.swt.workspaces import check_engine

if TYPE_CHECKING:
    from refute_lab.verbs.bench import BenchOptions


@dataclass(frozen=True, slots=True)
class FilterResult(Shown):
    """What generated tests are worth as a filter of fixes."""

    found: FilterRun

    @property
    def complete(self) -> bool:
        """Whether every fix has a judgement."""
        return not self.found.errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.issue_grids import filter_document

        return filter_document(self.found)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.issue_grids import print_filter

        print_filter(self.found, console)


def filter_fixes(options: BenchOptions, progress: Progress) -> FilterResult:
    """Judge proposed fixes by the tests of a run of `bench` over issues. Raises as `bench` does."""
    jobs, run, fixes = options.jobs, options.run, options.fixes
    if run is None or fixes is None:
        raise InputError("--filter needs the run whose tests are to filter: --run DIR")
    doing = executor_of(options.executor, Workers(jobs=jobs, memory=RUN_MEMORY))
    workspace = options.workspace or "local"
    header = read_header(run)
    if header is None or header.get("kind") != "issues":
        raise InputError(f"{run}: not a run of refute bench over issues")
    if header.get("task") == "repair":
        raise InputError(f"{run}: holds fixes, and no tests to filter by")
    if fixes.is_dir():  # a run of bench that was asked for fixes
        if (read_header(fixes) or {}).get("task") != "repair":
            raise InputError(f"{fixes}: not a run of refute bench --task repair")
        name, fixes = fixes.name, fixes / issues.PREDICTIONS
    else:
        name = fixes.name.split(".")[0]
    folder = run / "filter" / name
    dataset = options.dataset
    if header["dataset"] != dataset:
        raise InputError(f"{run}: is over {header['dataset']}, not {dataset}")
    check_engine(workspace)
    proposed = read_predictions(fixes)
    items = load_issues(dataset, data=options.data, ids=options.chosen_ids, limit=options.limit)
    tasks = _fix_tasks(items, run, proposed)
    settings = FilterSettings(
        dataset=dataset,
        fixes=str(fixes),
        fixer=next((one.model for one in proposed.values() if one.model), "None"),
        tests=" ".join(filter(None, (issues.variant(header), header.get("model")))),
        workspace=workspace,
    )

    def work() -> FilterResult:
        same = "the same command"
        with Run(folder, settings.header(), RECORDS, again=same) as opened:
            remark([f"{len(tasks)} fixes into {folder}"])
            judge_fixes(
                opened,
                tasks,
                settings,
                jobs=jobs or default_jobs(),
                executor=doing,
                progress=lambda done: progress(done, len(tasks)),
            )
        found = read_filter(folder)
        remark(f"{id}: not judged: {reason}" for id, reason in found.errors.items())
        return FilterResult(found)

    return apart(work)


def _fix_tasks(
    items: Sequence[IssueItem], run: Path, proposed: Mapping[str, Prediction]
) -> list[FilterTask]:
    """The proposed fixes, each with what the run's journal has for its issue."""
    chosen = [item for item in items if item.problem.id in proposed]
    if not chosen:
        raise InputError(f"no fix for any of the {len(items)} instances")
    _, records = read_run(run, issues.RECORDS)
    work = {one.id: one for one in records if not isinstance(one, ErrorRecord)}
    waiting = [item.problem.id for item in chosen if item.problem.id not in work]
    if waiting:
        remark([f"{len(waiting)} fixes have no tests in the run yet, e.g. {waiting[0]}"])
    tasks = []
    for item in chosen:
        id = item.problem.id
        if id in work:
            tests = work[id].prediction
            sure = 1.0 if tests.confidence is None else tests.confidence  # kept at any threshold
            tasks.append(FilterTask(item, proposed[id].patch, tests.patch, sure))
    if not tasks:
        raise InputError(f"{run}: no tests yet for any of the {len(chosen)} fixes")
    return tasks
