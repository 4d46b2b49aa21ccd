"""`grade`.

>>> refute_lab.grade("swt-lite", "predictions.jsonl").figures["success_rate"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Task
from refute.core.registry import preset_of
from refute.core.remarks import few, remark
from refute.errors import InputError
from refute.verbs.output import Progress, Shown, apart, path_of, silent
from refute.workspace.factory import Backend
from refute_lab.api.repairs import FixGradeResult, grade_repairs
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.figures import Figure
from refute_lab.runs.executors import Executor, Workers, executor_of
from refute_lab.runs.journal import new_run, read_header
from refute_lab.runs.records import ErrorRecord
from refute_lab.runs.run import Run
from refute_lab.swt.grading.coverage import Executable
from refute_lab.swt.grading.grade import Terms
from refute_lab.swt.grading.grade_records import (
    RECORDS,
    Columns,
    Grades,
    Summary,
    best_records,
    grade_record,
    read_evidence,
    read_grade,
    summarize,
)
from refute_lab.swt.grading.reference_logs import grade_logs
from refute_lab.swt.grading.reference_reports import reference_report, write_reports
from refute_lab.swt.grading.reference_reports import summary as reference_summary
from refute_lab.swt.grading.tasks import (
    RUN_MEMORY,
    GradingSettings,
    GradingTask,
    check_growth,
    grade_tasks,
)
from refute_lab.swt.predictions import PatchType, Prediction, gold_predictions, read_predictions
from refute_lab.swt.workspaces import check_engine

Mode = Literal["tests", "reproduction"]
_TERMS = Terms()


@dataclass(frozen=True, slots=True)
class GradeResult(Shown):
    """The grades of predictions."""

    title: str
    """Of the table."""
    dataset: str
    items: tuple[IssueItem, ...]
    records: Grades
    """By instance: its grade, or why there is none."""
    directory: Path
    """The run's folder."""
    columns: Columns = "later"
    """Whose definitions the printed table has."""
    reference: Mapping[str, Any] | None = None
    """What the reference's own rules say, where its logs were judged."""

    @property
    def summary(self) -> Summary:
        """Figures and counts."""
        return summarize([item.key for item in self.items], self.records)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures by name."""
        return self.summary.figures

    @property
    def complete(self) -> bool:
        """Whether every instance has a grade; the same call with `run` retries the others."""
        return not self.summary.errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.grade import grade_document

        ids = [item.problem.id for item in self.items]
        place = str(self.directory)
        document = grade_document(self.dataset, self.summary, self.records, ids, place)
        return document if self.reference is None else {**document, "reference": self.reference}

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.grade import print_grades

        print_grades(self.title, self.summary, console, self.columns)


def grade(
    dataset: Path | str,
    predictions: Path | str,
    *,
    data: Path | str | None = None,
    limit: int | None = None,
    ids: Sequence[str] | None = None,
    run: Path | str | None = None,
    runs_dir: Path | str = "runs",
    timeout: float = _TERMS.timeout,
    repeat: int = _TERMS.repeat,
    tests_only: bool = _TERMS.tests_only,
    mode: Mode = "tests",
    script: str | None = None,
    patch_types: Sequence[PatchType] = ("vanilla",),
    workspace: Backend = "local",
    compat: Literal["swtbench"] | None = None,
    executable: Executable | None = None,
    columns: Columns | None = None,
    preset: str | None = None,
    task: Task = "tests",
    jobs: int | None = None,
    executor: str | None = None,
    progress: Progress = silent,
) -> GradeResult | FixGradeResult:
    """Grade predicted test patches: do they reproduce their issues (SWT-Bench, section 3.1)?

    `dataset`: its name, or a file of its rows. `predictions`: a file of the reference's form,
    "gold" for the golden tests, or a folder of the reference's logs, which are judged without
    running anything. An instance without a prediction counts as one with an empty patch.

    `run`, `runs_dir`, `data`, `executor`, `progress` as in `bench`; `jobs`: runs of tests at
    once.
    `timeout`: seconds for one run of tests. `repeat`: predicted tests run that often, and a flaky
    one is never F→P. `tests_only`: drop what patches do to other files. `patch_types`: how
    predictions are written; of several, the first that applies. `mode`: "reproduction" where a
    patch adds a `script` whose exit status decides. `compat`: also write the reference's reports.
    `executable`: which lines of the golden patch ΔC counts ("own"; see `refute_lab.swt.grading`).
    `columns`: whose definitions the table has ("later"). `preset`: what the two are where they are
    not given (`refute.core.registry`).
    `task`: "repair" where the predictions are fixes, which the golden tests judge as SWE-bench does
    ("gold": the golden patches); of these rules `timeout` alone is for them.

    Raises `InputError`, and `Unavailable` where no instance could be graded.
    """
    doing = executor_of(executor, Workers(jobs=jobs, memory=RUN_MEMORY))
    ruled = _rules(preset, executable=executable, columns=columns)
    items = load_issues(str(dataset), data=path_of(data), ids=ids, limit=limit)
    if task == "repair":
        rules = (repeat, tests_only, mode, script, tuple(patch_types), compat)
        if rules != (_TERMS.repeat, _TERMS.tests_only, "tests", None, ("vanilla",), None):
            raise InputError("of the rules of grading only timeout goes with --task repair")
    elif Path(predictions).is_dir():
        return _judged_logs(items, Path(predictions), mode)

    def folder(model: str) -> Path:
        name = f"{Path(dataset).name.split('.')[0]}-{model}"
        return Path(run) if run is not None else new_run(Path(runs_dir), name)

    def work() -> GradeResult | FixGradeResult:
        if task == "repair":
            return grade_repairs(
                items,
                str(predictions),
                partial(tasks_of, items, str(predictions)),
                str(dataset),
                folder=folder,
                timeout=timeout,
                workspace=workspace,
                jobs=jobs,
                executor=doing,
                progress=progress,
            )
        result = grade_predictions(
            items,
            str(predictions),
            str(dataset),
            folder=folder,
            terms=Terms(timeout, repeat, tests_only, mode, script, ruled.executable),
            types=tuple(patch_types),
            workspace=workspace,
            jobs=jobs,
            executor=doing,
            progress=progress,
        )
        if compat is not None:
            remark([f"the reference's reports: {_write_reports(result)}"])
        return replace(result, columns=ruled.columns)

    return apart(work)


def grade_predictions(
    items: Sequence[IssueItem],
    predictions: str,
    dataset: str,
    *,
    folder: Path | Callable[[str], Path],
    again: str = "",
    terms: Terms = _TERMS,
    types: tuple[PatchType, ...] = ("vanilla",),
    workspace: Backend = "local",
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> GradeResult:
    """Grade a file of predictions ("gold": the golden tests) for the items.

    `folder`: of the run, or what gives it for the name of the model that made them. `again`: the
    command that resumes it.
    """
    tasks, model = tasks_of(items, predictions)
    check_engine(workspace)
    settings = GradingSettings(dataset, predictions, model, terms, workspace, types)
    directory = folder if isinstance(folder, Path) else folder(model)
    again = again or f"the same command and --run {directory}"
    header = settings.header(tasks, read_header(directory))
    with Run(directory, header, RECORDS, again=again) as run:
        check_growth(directory, run.records, tasks, dataset)
        remark([f"{len(tasks)} instances into {directory}"])
        total = len(tasks)
        grade_tasks(
            run,
            tasks,
            settings,
            jobs=jobs,
            executor=executor,
            progress=lambda done: progress(done, total),
        )
        records = dict(run.records)
    title = f"{Path(dataset).name}, {model}"
    result = GradeResult(title, dataset, tuple(items), records, directory)
    _say_errors(result.summary.errors)
    return result


def grade_samples(
    items: Sequence[IssueItem],
    files: Sequence[Path],
    dataset: str,
    directory: Path,
    *,
    preset: str | None = None,
    workspace: Backend = "local",
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> dict[str, GradeResult]:
    """Grade the predictions that `bench` wrote, in folders below `directory`.

    The first file holds each issue's prediction, the others one sample of each issue: of these the
    best counts (the oracle of pass@k). `preset` as in `grade`. Returns the grades by the file's
    name and by `pass@K`.
    """
    ruled = _rules(preset)
    first, *samples = [
        grade_predictions(
            items,
            str(file),
            dataset,
            folder=directory / file.stem,
            again="the same command",
            terms=Terms(executable=ruled.executable),
            workspace=workspace,
            jobs=jobs,
            executor=executor,
            progress=progress,
        )
        for file in files
    ]
    found = {files[0].name: first}
    if samples:
        name, title = f"pass@{len(samples)}", f"{Path(dataset).name}, pass@{len(samples)}"
        best = best_records([one.records for one in samples])
        found[name] = GradeResult(title, dataset, tuple(items), best, directory)
    return {name: replace(one, columns=ruled.columns) for name, one in found.items()}


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a preset may say of grading."""

    executable: Executable = "own"
    columns: Columns = "later"


def _rules(preset: str | None, **given: Any) -> _Rules:
    """What was given, else what the preset says."""
    told = {name: value for name, value in given.items() if value is not None}
    known = {one.name for one in fields(_Rules)}
    values = preset_of(preset, "issue").settings
    return _Rules(**{**{n: v for n, v in values.items() if n in known}, **told})


def tasks_of(
    items: Sequence[IssueItem],
    predictions: str,
    gold: Mapping[str, Prediction] | None = None,
) -> tuple[list[GradingTask], str]:
    """What is graded, and the name of the model that predicted it. `gold`: what "gold" stands for;
    None: the golden tests."""
    if predictions == "gold":
        found = dict(gold or gold_predictions(item.key for item in items))
    else:
        found = read_predictions(Path(predictions))
    ids = [item.problem.id for item in items]
    if found and not found.keys() & set(ids):
        raise InputError(f"{predictions}: no prediction for any of the {len(ids)} instances")
    if unknown := sorted(found.keys() - set(ids)):
        remark([f"{len(unknown)} predictions are for other instances, e.g. {unknown[0]}"])
    if missing := sum(id not in found for id in ids):
        remark([f"{missing} instances have no prediction; they count as empty patches"])
    model = next((one.model for one in found.values() if one.model), "None")
    tasks = [
        GradingTask(item, found.get(id, Prediction(id, "")))
        for id, item in zip(ids, items, strict=True)
    ]
    return tasks, model


def _say_errors(errors: Mapping[str, str]) -> None:
    """One line for each reason, with the instances that have no grade for it."""
    by_reason: dict[str, list[str]] = {}
    for id, reason in errors.items():
        by_reason.setdefault(reason, []).append(id)
    for reason, ids in by_reason.items():
        remark([f"{few(ids)}: no grade: {reason}"])


def _judged_logs(items: Sequence[IssueItem], folder: Path, mode: Mode) -> GradeResult:
    """Logs of the reference by our rules, and how many it would have resolved."""
    grades = [grade_logs(folder, item.key, item.problem.repo, mode=mode) for item in items]
    runners: dict[str, Any] = {"django/django": "django", "sympy/sympy": "sympy"}
    theirs = reference_summary(
        reference_report(grade, item.key, runners.get(item.problem.repo, "pytest"))
        for grade, item in zip(grades, items, strict=True)
    )
    resolved = theirs["resolved_instances"]
    remark([f"by the reference's own rules {resolved} of {len(items)} are resolved"])
    records = {grade.id: grade_record(grade) for grade in grades}
    title, place = f"logs of {folder.name}", str(folder)
    return GradeResult(title, place, tuple(items), records, folder, reference=theirs)


def _write_reports(result: GradeResult) -> Path:
    """The reference harness's reports, by its rules; returns the file of all."""
    reports = []
    for item in result.items:
        record = result.records.get(item.problem.id)
        if record is None or isinstance(record, ErrorRecord):
            continue
        found = read_grade(record, read_evidence(result.directory, item.problem.id))
        runner = "pytest" if item.problem.recipe is None else item.problem.recipe.runner
        reports.append(reference_report(found, item.key, runner))
    directory, model = result.directory, result.title.rpartition(", ")[2]
    return write_reports(reports, directory / "swtbench", run=directory.name, model=model)
