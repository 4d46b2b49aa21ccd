"""`grade`.

>>> refute_lab.grade("swt-lite", "predictions.jsonl").figures["success_rate"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import click

from refute.core.parameters import options_with, parameter, parameters_of
from refute.core.registry import preset_of
from refute.core.remarks import few, remark
from refute.errors import UNAVAILABLE, InputError
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import Progress, Shown, apart, consoles, show, silent
from refute.workspace.factory import Backend
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.figures import Figure
from refute_lab.runs import ErrorRecord, Schema, new_run, read_header
from refute_lab.runs.executors import Executor, Run, Workers, executor_of
from refute_lab.swt import Executable
from refute_lab.swt.grade import (
    RECORDS,
    Columns,
    Grades,
    Summary,
    Terms,
    best_records,
    read_evidence,
    read_grade,
    reference_report,
    summarize,
    write_reports,
)
from refute_lab.swt.repair import (
    FIX_RECORDS,
    FixRecord,
    FixSummary,
    RepairSettings,
    gold_fixes,
    summarize_fixes,
    write_results,
)
from refute_lab.swt.tasks import (
    RUN_MEMORY,
    GradingSettings,
    GradingTask,
    PatchType,
    Prediction,
    check_growth,
    gold_predictions,
    read_predictions,
    work_on,
)
from refute_lab.swt.workspaces import check_engine
from refute_lab.verbs.options import RunOptions

_TERMS = Terms()


class _Graded(Shown):
    """The grades of predictions, or of fixes."""

    __slots__ = ()

    @property
    def summary(self) -> Summary | FixSummary:
        """Figures and counts."""
        raise NotImplementedError

    @property
    def complete(self) -> bool:
        """Return whether every instance has a grade; calling with `run` retries the others."""
        return not self.summary.errors


@dataclass(frozen=True, slots=True)
class GradeResult(_Graded):
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
    """Definitions of the printed table."""

    @property
    def summary(self) -> Summary:
        """Figures and counts."""
        return summarize([item.key for item in self.items], self.records)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures by name."""
        return self.summary.figures

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.issue_grids import grade_document

        ids = [item.problem.id for item in self.items]
        place = str(self.directory)
        return grade_document(self.dataset, self.summary, self.records, ids, place)

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        from refute_lab.report.issue_grids import print_grades

        print_grades(self.title, self.summary, console, self.columns)


@dataclass(frozen=True, kw_only=True)
class GradeOptions(RunOptions):
    """The options of `grade`: what is graded, and by whose rules."""

    predictions: str = parameter(MISSING, "A file, or `gold`.", positional=True)
    preset: str | None = parameter(None, "paper: the rules of SWT-Bench's paper.", metavar="NAME")
    timeout: float = parameter(1800.0, "Seconds for one run of tests.", above=0, by_name=True)
    repeat: int = parameter(
        1, "Runs of the predicted tests; a flaky test is never F→P.", at_least=1, by_name=True
    )
    tests_only: bool = parameter(
        False, "Drop what patches do to files that are no tests.", by_name=True
    )
    patch_types: tuple[PatchType, ...] = parameter(
        ("vanilla",), "Form of the predictions; of several, the first that applies.", by_name=True
    )
    compat: Literal["swtbench"] | None = parameter(
        None, "Also write the reference harness's reports, by its rules.", by_name=True
    )
    executable: Executable | None = parameter(
        None,
        "Lines that ΔC counts: those that the predicted tests' files or the golden tests run (own);"
        " the golden tests' files alone, the same for every method (golden); of these the ones that"
        " run more than once, as the paper's formula says (printed).",
        by_name=True,
    )
    columns: Columns | None = parameter(
        None,
        "Whose figures the table has: SWT-Bench's as it is now (later), those of the paper's first"
        " version (v1), or TDD-Bench Verified's tddScore (tdd).",
        by_name=True,
    )


_OF_TESTS = ("repeat", "tests_only", "patch_types", "compat")
"""The rules that say nothing about fixes."""


def grade(
    dataset: Path | str | None = None,
    predictions: Path | str | None = None,
    *,
    options: GradeOptions | None = None,
    progress: Progress = silent,
    **given: Any,
) -> GradeResult | FixGradeResult:
    """Grade predicted test patches: do they reproduce their issues (SWT-Bench, section 3.1)?

    `dataset`: its name, or a file of its rows. `predictions`: a file of the reference's form,
    "gold" for the golden tests. An instance without a prediction counts as one with an empty patch.

    `options`: a `GradeOptions`, or its fields by name. `preset`: what `executable` and `columns`
    are where they are not given (`refute.core.registry`). `task`: "repair" where the predictions
    are fixes, which the golden tests judge as SWE-bench does ("gold": the golden patches).

    Raises `InputError`, and `Unavailable` where no instance could be graded.
    """
    for name, value in (("dataset", dataset), ("predictions", predictions)):
        given |= {} if value is None else {name: str(value)}
    chosen = options_with(GradeOptions, options, given)
    doing = executor_of(chosen.executor, Workers(jobs=chosen.jobs, memory=RUN_MEMORY))
    ruled = _rules(chosen.preset, executable=chosen.executable, columns=chosen.columns)
    items = load_issues(chosen.dataset, data=chosen.data, ids=chosen.chosen_ids, limit=chosen.limit)
    of_fixes = chosen.task == "repair"
    if of_fixes:
        defaults = {one.name: one.default for one in parameters_of(GradeOptions)}
        if any(getattr(chosen, name) != defaults[name] for name in _OF_TESTS):
            raise InputError("of the rules of grading only timeout goes with --task repair")

    def folder(model: str) -> Path:
        name = f"{Path(chosen.dataset).name.split('.')[0]}-{model}"
        return chosen.run or new_run(chosen.runs_dir, name)

    where = Where(chosen.workspace or "local", chosen.jobs, doing, progress)
    how: dict[str, Any] = {"folder": folder, "where": where}

    def work() -> GradeResult | FixGradeResult:
        if of_fixes:
            return grade_repairs(
                items, chosen.predictions, chosen.dataset, timeout=chosen.timeout, **how
            )
        terms = Terms(
            chosen.timeout,
            chosen.repeat,
            chosen.tests_only,
            ruled.executable,
        )
        result = grade_predictions(
            items, chosen.predictions, chosen.dataset, terms=terms, types=chosen.patch_types, **how
        )
        if chosen.compat is not None:
            remark([f"the reference's reports: {_write_reports(result)}"])
        return replace(result, columns=ruled.columns)

    return apart(work)


@dataclass(frozen=True, slots=True)
class Where:
    """The place of the work, and who hears how far it is."""

    workspace: Backend = "local"
    jobs: int | None = None
    executor: Executor | None = None
    progress: Progress = silent


def _run(
    settings: GradingSettings | RepairSettings,
    schema: Schema[Any],
    tasks: Sequence[GradingTask],
    folder: Path | Callable[[str], Path],
    again: str,
    where: Where,
) -> tuple[Path, dict[str, Any]]:
    """Grade what has no grade yet; the run's folder, and the records by instance."""
    check_engine(where.workspace)
    directory = folder if isinstance(folder, Path) else folder(settings.model)
    again = again or f"the same command and --run {directory}"
    with Run(directory, settings.header(read_header(directory)), schema, again=again) as run:
        check_growth(directory, run.records, tasks, settings.dataset)
        remark([f"{len(tasks)} instances into {directory}"])
        work_on(
            run,
            tasks,
            settings,
            jobs=where.jobs,
            executor=where.executor,
            progress=lambda done: where.progress(done, len(tasks)),
        )
        return directory, dict(run.records)


def grade_predictions(
    items: Sequence[IssueItem],
    predictions: str,
    dataset: str,
    *,
    folder: Path | Callable[[str], Path],
    again: str = "",
    terms: Terms = _TERMS,
    types: tuple[PatchType, ...] = ("vanilla",),
    where: Where = Where(),
) -> GradeResult:
    """Grade a file of predictions ("gold": the golden tests) for the items.

    `folder`: of the run, or what gives it for the name of the model that made them. `again`: the
    command that resumes it.
    """
    tasks, model = tasks_of(items, predictions)
    settings = GradingSettings(dataset, predictions, model, terms, where.workspace, types)
    directory, records = _run(settings, RECORDS, tasks, folder, again, where)
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
    where: Where = Where(),
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
            where=where,
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
    """Rules of grading that a preset may set."""

    executable: Executable = "own"
    columns: Columns = "later"


def _rules(preset: str | None, **given: Any) -> _Rules:
    """Return the given rules; the preset's for the others."""
    told = {name: value for name, value in given.items() if value is not None}
    known = {one.name for one in fields(_Rules)}
    values = preset_of(preset, "issue").settings
    return _Rules(**{**{n: v for n, v in values.items() if n in known}, **told})


def tasks_of(
    items: Sequence[IssueItem],
    predictions: str,
    gold: Mapping[str, Prediction] | None = None,
) -> tuple[list[GradingTask], str]:
    """Return the tasks to grade, and the name of the predicting model. `gold`: the predictions that
    "gold" stands for; None: the golden tests."""
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


# -- fixes, graded as SWE-bench does ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FixGradeResult(_Graded):
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
        return self.summary.figures

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.issue_grids import fix_grades_document

        place = str(self.directory)
        return fix_grades_document(self.dataset, self.summary, self.ids, self.records, place)

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        from refute_lab.report.issue_grids import print_fix_grades

        print_fix_grades(self.title, self.summary, console)


def grade_repairs(
    items: Sequence[IssueItem],
    predictions: str,
    dataset: str,
    *,
    folder: Path | Callable[[str], Path],
    again: str = "",
    timeout: float = _TERMS.timeout,
    where: Where = Where(),
) -> FixGradeResult:
    """Grade a file of fixes ("gold": the golden patches) for the items."""
    gold = gold_fixes([item.key for item in items]) if predictions == "gold" else None
    tasks, model = tasks_of(items, predictions, gold)
    settings = RepairSettings(dataset, predictions, model, timeout, where.workspace)
    directory, records = _run(settings, FIX_RECORDS, tasks, folder, again, where)
    results, wrong = write_results(directory, tasks, records)
    remark([f"SWE-bench's report: {results}; fixes that apply and resolve nothing: {wrong}"])
    ids = tuple(item.problem.id for item in items)
    result = FixGradeResult(f"{Path(dataset).name}, {model}", dataset, ids, records, directory)
    remark(f"{id}: no grade: {reason}" for id, reason in result.summary.errors.items())
    return result


# -- the command -----------------------------------------------------------------------------------


@click.command("grade", cls=MethodCommand, more=(GradeOptions,))
@offered(GradeOptions)
@json_option
def command(options: GradeOptions, as_json: bool) -> int:
    """Grade predicted test patches (SWT-Bench), or fixes (SWE-bench).

    DATASET: swt-lite, swt-verified, swt-full, those of the paper's first version (swt-lite-v1,
    swt-full-v1), or a file of SWE-bench rows. PREDICTIONS: a JSON or JSONL file of the reference's
    form, or `gold`, the golden tests.

    With --task repair the predictions are fixes, and the golden tests judge them (SWE-bench): all
    that the golden patch turns green have to pass, and all that passed. The folder of the run then
    holds `results.json`, SWE-bench's report, and `wrong.jsonl`, the fixes that apply and do not
    resolve their issue.

    An instance without a prediction counts as one with an empty patch. A run that was interrupted
    resumes with `--run DIR`.

    Exit status 3: some instances have no grade (run again to retry them).
    """
    from refute.results.text.consoles import counting

    with counting(consoles()[1]) as progress:
        result = grade(options=options, progress=progress)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE
