"""`refute grade`: do predicted test patches reproduce their issues?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import json_option, workspace_option
from refute.cli.output import consoles, print_json, remark
from refute.cli.selected import run_options, selecting_options, split_ids
from refute.cli.subject import issue_items
from refute.errors import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from refute.datasets.swe import IssueItem
    from refute.issue.bench import Settings
    from refute.issue.grading import GradingSettings, Task
    from refute.issue.records import Record

__all__ = ["command", "grade_run"]


@click.command("grade")
@click.argument("dataset")
@click.argument("predictions")
@selecting_options
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Runs of tests at once (default: cores)."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=1800.0,
    show_default=True,
    metavar="SECONDS",
    help="For one run of tests.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Run predicted tests N times; a flaky test is never F→P.",
)
@click.option("--tests-only", is_flag=True, help="Drop what patches do to files that are no tests.")
@click.option(
    "--patch-type",
    "patch_types",
    type=click.Choice(["vanilla", "fuzzy", "custom"]),
    multiple=True,
    default=("vanilla",),
    show_default=True,
    help="How predictions are written; of several, the first that applies.",
)
@click.option(
    "--mode",
    type=click.Choice(["tests", "reproduction"]),
    default="tests",
    show_default=True,
    help="reproduction: a patch adds a script, and its exit status decides.",
)
@click.option("--script", metavar="PATH", help="The script of that mode (default: the new file).")
@workspace_option
@click.option(
    "--compat",
    type=click.Choice(["swtbench"]),
    help="Also write the reference harness's reports, by its rules.",
)
@run_options
@json_option
def command(
    dataset: str,
    predictions: str,
    data: Path | None,
    limit: int | None,
    ids: str | None,
    jobs: int | None,
    timeout: float,
    repeat: int,
    tests_only: bool,
    patch_types: tuple[str, ...],
    mode: str,
    script: str | None,
    workspace: str,
    compat: str | None,
    run: Path | None,
    runs_dir: Path,
    as_json: bool,
) -> int:
    """Grade predicted test patches (SWT-Bench).

    DATASET: swt-lite, swt-verified, swt-full, or a file of SWE-bench rows. PREDICTIONS: a JSON or
    JSONL file of the reference's form; `gold`, the golden tests; or a folder of the reference's
    logs, run_instance_swt_logs/RUN/MODEL, which are judged without running anything.

    An instance without a prediction counts as one with an empty patch. A run that was interrupted
    goes on with `--run DIR`.

    Exit status 3: some instances have no grade (run again to retry them).
    """
    from refute.issue.grade import Terms
    from refute.issue.grading import GradingSettings
    from refute.issue.places import check_engine
    from refute.issue.summary import summarize
    from refute.report.grade import grade_document, print_grades
    from refute.runs import new_run

    out, err = consoles()
    items = issue_items(dataset, data, split_ids(ids), limit)
    if Path(predictions).is_dir():
        return _grade_logs(items, Path(predictions), mode, as_json)
    tasks, model = _tasks(items, predictions, err)
    kind: Any = mode
    backend: Any = workspace
    check_engine(backend)
    types: Any = patch_types
    settings = GradingSettings(
        dataset=dataset,
        predictions=predictions,
        model=model,
        terms=Terms(timeout, repeat, tests_only, kind, script),
        workspace=backend,
        types=types,
    )
    directory = run or new_run(runs_dir, f"{Path(dataset).name.split('.')[0]}-{model}")
    records = _graded(tasks, settings, directory, jobs, err)
    if compat is not None:
        path = _write_compat(items, records, directory, model)
        remark(err, [f"the reference's reports: {path}"])
    summary = summarize([item.key for item in items], records)
    if as_json:
        ids_in_order = [item.problem.id for item in items]
        print_json(grade_document(dataset, summary, records, ids_in_order, str(directory)))
    else:
        print_grades(f"{Path(dataset).name}, {model}", summary, out)
    _say_errors(summary.errors, err)
    return UNAVAILABLE if summary.errors else 0


def _say_errors(errors: Mapping[str, str], err: Console) -> None:
    """One line for each reason, with the instances that have no grade for it."""
    by_reason: dict[str, list[str]] = {}
    for id, reason in errors.items():
        by_reason.setdefault(reason, []).append(id)
    for reason, ids in by_reason.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        remark(err, [f"{', '.join(ids[:3])}{more}: no grade: {reason}"])


def _graded(
    tasks: Sequence[Task],
    settings: GradingSettings,
    directory: Path,
    jobs: int | None,
    err: Console,
) -> dict[str, Record]:
    """Grade into the folder, with a progress bar; the journal's records."""
    from refute.issue.grading import default_jobs, run_grading
    from refute.issue.records import damage
    from refute.report.terminal import counting
    from refute.runs import Journal

    with Journal(directory, settings.header(tasks), damage=damage) as journal:
        remark(err, [f"{len(tasks)} instances into {directory}"])
        finished = run_grading(tasks, settings, journal, jobs=jobs or default_jobs())
        try:
            with counting(len(tasks), err) as progress:
                for done in finished:
                    progress(done)
        except BaseException:
            remark(err, [f"stopped; go on with the same command and --run {directory}"])
            raise
        return dict(journal.records)


def grade_run(
    items: Sequence[IssueItem],
    bench: Settings,
    files: Sequence[Path],
    directory: Path,
    jobs: int | None,
    out: Console,
    err: Console,
    as_json: bool,
) -> dict[str, Any]:
    """Grade the predictions that `refute bench` wrote, into `directory/grades`.

    The first file holds each issue's prediction, the others one sample of each issue: of these the
    best counts (the oracle of pass@k). Prints the tables unless `as_json`; returns the documents by
    the names of the files.
    """
    from refute.issue.grade import Terms
    from refute.issue.grading import GradingSettings
    from refute.issue.summary import best_records, summarize
    from refute.report.grade import grade_document, print_grades

    dataset, named = bench.dataset, Path(bench.dataset).name
    ids, keys = [item.problem.id for item in items], [item.key for item in items]
    samples: list[dict[str, Record]] = []
    documents: dict[str, Any] = {}

    def add(name: str, title: str, records: dict[str, Record], folder: Path) -> None:
        summary = summarize(keys, records)
        documents[name] = grade_document(dataset, summary, records, ids, str(folder))
        if not as_json:
            print_grades(title, summary, out)
        _say_errors(summary.errors, err)

    for number, file in enumerate(files):
        tasks, model = _tasks(items, str(file), err)
        settings = GradingSettings(dataset, str(file), model, Terms(), bench.workspace)
        folder = directory / "grades" / file.stem
        records = _graded(tasks, settings, folder, jobs, err)
        if number:
            samples.append(records)
        else:
            add(file.name, f"{named}, {model}", records, folder)
    if samples:
        name = f"pass@{len(samples)}"
        add(name, f"{named}, {name}", best_records(samples), directory / "grades")
    return documents


def _tasks(items: Sequence[IssueItem], predictions: str, err: Console) -> tuple[list[Task], str]:
    """What is graded, and the name of the model that predicted it."""
    from refute.errors import InputError
    from refute.issue.grading import Task
    from refute.issue.predictions import Prediction, gold_predictions, read_predictions

    if predictions == "gold":
        found = gold_predictions(item.key for item in items)
    else:
        found = read_predictions(Path(predictions))
    ids = [item.problem.id for item in items]
    if not found.keys() & set(ids):
        raise InputError(f"{predictions}: no prediction for any of the {len(ids)} instances")
    if unknown := sorted(found.keys() - set(ids)):
        remark(err, [f"{len(unknown)} predictions are for other instances, e.g. {unknown[0]}"])
    if missing := sum(id not in found for id in ids):
        remark(err, [f"{missing} instances have no prediction; they count as empty patches"])
    model = next((one.model for one in found.values() if one.model), "None")
    tasks = [
        Task(item, found.get(id, Prediction(id, ""))) for id, item in zip(ids, items, strict=True)
    ]
    return tasks, model


def _grade_logs(items: Sequence[IssueItem], folder: Path, mode: Any, as_json: bool) -> int:
    """Judge logs of the reference by our rules, and say how many it would have resolved."""
    from refute.issue.compat import reference_report, summary
    from refute.issue.logs import grade_logs
    from refute.issue.records import grade_record
    from refute.issue.summary import summarize
    from refute.report.grade import grade_document, print_grades

    out, err = consoles()
    grades = [grade_logs(folder, item.key, item.problem.repo, mode=mode) for item in items]
    runners: dict[str, Any] = {"django/django": "django", "sympy/sympy": "sympy"}
    theirs = summary(
        reference_report(grade, item.key, runners.get(item.problem.repo, "pytest"))
        for grade, item in zip(grades, items, strict=True)
    )
    records = {grade.id: grade_record(grade) for grade in grades}
    figures = summarize([item.key for item in items], records)
    if as_json:
        ids = [item.problem.id for item in items]
        document = grade_document(str(folder), figures, records, ids, str(folder))
        print_json({**document, "reference": theirs})
    else:
        print_grades(f"logs of {folder.name}", figures, out)
    resolved = theirs["resolved_instances"]
    remark(err, [f"by the reference's own rules {resolved} of {len(items)} are resolved"])
    return 0


def _write_compat(
    items: Sequence[IssueItem], records: Mapping[str, Record], directory: Path, model: str
) -> Path:
    from refute.issue.compat import reference_report, write_reports
    from refute.issue.records import read_evidence, read_grade

    reports = []
    for item in items:
        record = records.get(item.problem.id)
        if record is None or record["status"] == "error":
            continue
        grade = read_grade(record, read_evidence(directory, item.problem.id))
        runner = "pytest" if item.problem.recipe is None else item.problem.recipe.runner
        reports.append(reference_report(grade, item.key, runner))
    return write_reports(reports, directory / "swtbench", run=directory.name, model=model)
