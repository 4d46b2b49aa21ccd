"""`bench`.

>>> refute_lab.bench("he-fix", method="search", limit=10).figures["code_accuracy"]
>>> refute_lab.bench("swt-lite", method="snippet", grade=True).grades
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from refute.core.methods import Bounds
from refute.core.parameters import options_with, parameter
from refute.core.registry import Preset, chosen_method, departures, options_of, preset_of
from refute.core.remarks import remark, warn_of_gaps
from refute.errors import UNAVAILABLE, InputError
from refute.issue.choosing import check_given, check_task, chosen_reproducer
from refute.models.asking import Asked, open_sessions
from refute.prompts import digest_of, prompts_from
from refute.sandbox.local import LocalSandbox
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.fix import confirmed_in
from refute.verbs.options import json_option
from refute.verbs.output import Progress, Shown, apart, consoles, show, silent
from refute_lab import benches as functions
from refute_lab.benches import issues
from refute_lab.datasets.rows import Evaluation, Subset
from refute_lab.datasets.swe import IssueItem, holds_issues, load_issues
from refute_lab.figures import Figure
from refute_lab.runs import ErrorRecord, new_run, read_header, read_run
from refute_lab.runs.executors import Ending, Run, Workers, executor_of, resumed
from refute_lab.swt.repair import (
    RECORDS,
    FilterRun,
    FilterSettings,
    FilterTask,
    read_filter,
)
from refute_lab.swt.tasks import RUN_MEMORY, Prediction, default_jobs, read_predictions, work_on
from refute_lab.swt.workspaces import as_placed, check_engine
from refute_lab.verbs.grade import (
    FixGradeResult,
    GradeResult,
    Where,
    grade_repairs,
    grade_samples,
)
from refute_lab.verbs.options import RunOptions, asked_of

# -- filters of fixes ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FilterResult(Shown):
    """Figures of generated tests as a filter of fixes."""

    found: FilterRun

    @property
    def complete(self) -> bool:
        """Return whether every fix has a judgement."""
        return not self.found.errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.issue_grids import filter_document

        return filter_document(self.found)

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        from refute_lab.report import print_grid
        from refute_lab.report.issue_grids import filter_grid

        print_grid(filter_grid(self.found), console)


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
            work_on(
                opened,
                tasks,
                settings,
                jobs=jobs,
                executor=doing,
                progress=lambda done: progress(done, len(tasks)),
                stands=lambda task, record: record.content == task.content,
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


@dataclass(frozen=True, slots=True)
class BenchResult(Shown):
    """Figures of a run over functions."""

    result: functions.BenchSummary

    @property
    def directory(self) -> Path:
        """The run's folder."""
        return self.result.run

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures by name, as in `refute_lab.benches.grade`."""
        return self.result.figures

    @property
    def complete(self) -> bool:
        """Return whether every problem has a result; calling with `run` retries the others."""
        return not (self.result.errors or self.result.missing)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.function_grids import bench_document

        return bench_document(self.result)

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        from refute_lab.report.function_grids import print_bench

        if self.result.n or not self.result.missing:
            print_bench(self.result, console)


@dataclass(frozen=True, slots=True)
class IssueBenchResult(Shown):
    """Predictions and grades of a run over issues."""

    settings: issues.IssueBenchSettings
    directory: Path
    """The run's folder."""
    ids: tuple[str, ...]
    """Of the issues, in the order of the dataset."""
    records: Mapping[str, issues.PredictionRecord | ErrorRecord]
    """By issue: its prediction, or why there is none."""
    files: tuple[Path, ...]
    """The predictions in the reference's format; see `benches.issues.save_predictions`."""
    grades: Mapping[str, GradeResult | FixGradeResult]
    """By the name of the predictions' file; `pass@K` for the best of K samples."""

    @property
    def complete(self) -> bool:
        """Return whether every issue has a prediction."""
        good = {id for id, one in self.records.items() if not isinstance(one, ErrorRecord)}
        return good >= set(self.ids)

    @property
    def claims(self) -> dict[str, tuple[int, int]]:
        """Of graded fixes, by what is claimed of them: how many, and how many resolve."""
        counts: dict[str, tuple[int, int]] = {}
        for graded in self.grades.values():
            right = graded.summary.resolved_ids if isinstance(graded, FixGradeResult) else ()
            for id, one in self.records.items():
                if not isinstance(one, ErrorRecord) and (state := issues.claimed(one)):
                    n, good = counts.get(state, (0, 0))
                    counts[state] = n + 1, good + (id in right)
        return counts

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.issue_grids import issue_bench_document

        document = issue_bench_document(self.settings, self.ids, self.records, self.directory)
        if self.grades:
            document["grades"] = {name: one.to_dict() for name, one in self.grades.items()}
        if self.claims:
            named = self.claims.items()
            document["claims"] = {state: {"n": n, "right": good} for state, (n, good) in named}
        return document

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        for one in self.grades.values():
            one.print(console)
        for state, (n, good) in self.claims.items():
            console.print(f"claimed {state}: {n} of {len(self.ids)}, of these right: {good}")
        if not self.grades:
            status = {**self.to_dict()["status"], "not finished": len(self.ids) - len(self.records)}
            shown = {what: n for what, n in status.items() if n or what != "not finished"}
            counts = ", ".join(f"{n} {what}" for what, n in shown.items())
            console.print(f"{self.settings.method} on {self.settings.dataset}: {counts}")


@dataclass(frozen=True, slots=True)
class Experiment:
    """Settings that tables of the papers vary besides the method; a preset may set them."""

    visible_tests: int = parameter(0, "Asserts that are shown (MBPP).", at_least=0)
    editor_tests: int = parameter(0, "Asserts shown where code is edited (MBPP).", at_least=0)
    evaluation: Evaluation = parameter("evalplus", "Whose rules of grading and of edits.")
    subset: Subset = parameter("all", "Rows of HumanEval+ (158) and MBPP+ (375) that UTGen keeps.")
    failing_tests: int = parameter(
        0, "Right failing tests given with each problem (see the method `given`).", at_least=0
    )
    gold_outputs: bool = parameter(
        False, "Debug with the method's inputs and the reference's outputs."
    )
    test_files: Literal["none", "golden"] = parameter(
        "none", "Issues: tell the method the golden tests' files (Table 5)."
    )
    code_patch: str = parameter(
        "", "Issues: show it the golden patch (golden), or a proposal (predictions' file)."
    )
    patch_may_be_wrong: bool = parameter(False, "Issues: ... and say that it may be wrong.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(RunOptions, Asked):
    """The options of `bench`; what is not given is as the run was started with.

    `set`: the fields of `Experiment` and of `refute.Bounds`, and options of the method.
    """

    runs: int | None = parameter(None, "Repeat with N seeds (1).", at_least=1)
    seed: int | None = parameter(None, "Same seed, same work (0).")
    grade: bool = parameter(False, "Issues: grade the predictions as well.", flag="--grade")
    fixes: Path | None = parameter(
        None,
        "Issues: judge these fixes (predictions, or a run of repair) by the tests of --run.",
        flag="--filter",
        metavar="FIXES",
    )

    def folder(self, what: str) -> Path:
        """The folder of the run; a new one where none is named."""
        return self.run or new_run(self.runs_dir, f"{Path(self.dataset).stem}-{what}")

    def again(self, folder: Path, *more: str) -> str:
        """The command that resumes the run, with what its journal does not keep."""
        said = {"--data": self.data, "--base-url": self.base_url, "--prompts": self.prompts}
        told = [part for flag, it in said.items() if it is not None for part in (flag, str(it))]
        told += [] if self.cache else ["--no-cache"]
        return shlex.join(("refute", "bench", self.dataset, "--run", str(folder), *told, *more))


def bench(
    dataset: Path | str | None = None,
    *,
    options: BenchOptions | None = None,
    progress: Progress = silent,
    **given: Any,
) -> BenchResult | IssueBenchResult | FilterResult:
    """Run a method over a dataset of functions or of issues, or over a file of its rows.

    `options`: a `BenchOptions`; or its fields by name, and by name what is in its `set`.
    `executor` may be an object for methods that compute. With `fixes` they are judged by the tests
    of the run (SWT-Bench, section 5.3), into `RUN/filter/NAME`.

    Raises `InputError`, and `Unavailable` where nothing could be done; a problem that alone could
    not be done is named in the result.
    """
    known = {one.name for one in fields(BenchOptions)}
    by_name = {name: given.pop(name) for name in [*given] if name not in known}
    told = given if dataset is None else {"dataset": str(dataset), **given}
    chosen = options_with(BenchOptions, options, told)
    chosen = replace(chosen, set={**chosen.set, **by_name})
    if chosen.fixes is not None:
        return filter_fixes(chosen, progress)
    work = _bench_issues if holds_issues(chosen.dataset) else _bench_functions
    return apart(lambda: work(chosen, progress))


_SETTINGS = ("limit", "runs", "seed", "task", "workspace", "preset")
"""The options that are settings of a run."""


def _started(
    options: BenchOptions, own: Collection[str]
) -> tuple[Asked, dict[str, Any], Mapping[str, Any], set[str]]:
    """Return models and settings of the run, its header if it exists, and the names that are given
    anew. Names set by `--set` that are not the run's `own` belong to the method."""
    told = {name: getattr(options, name) for name in _SETTINGS} | {"ids": options.chosen_ids}
    told = {name: value for name, value in told.items() if value is not None} | {**options.set}
    mine = {name: value for name, value in told.items() if name in own}
    of_method = {name: value for name, value in told.items() if name not in own}
    asked = asked_of(options)
    who = ("method", "model", "tester", "prompts")
    named = {n for n in who if getattr(asked, n) is not None}
    given = {*named, *mine, *of_method, "prompts"}  # a run's templates are not kept with it
    header = {} if options.run is None else read_header(options.run) or {}
    if not _same_file(options.dataset, str(header.get("dataset"))):
        given.add("dataset")
    stored = {n: header[n] for n in ("method", "model", "tester") if n in header and n not in given}
    return replace(asked, set=of_method, **stored), mine, header, given


def _same_file(one: str, other: str) -> bool:
    """Return whether two names of datasets lead to one file."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _preset_settings(preset: Preset, mine: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset's settings of a bench over issues: of a patch only if one is shown. Grading
    reads its own."""
    shown = bool(mine.get("code_patch"))
    return {n: v for n, v in preset.settings.items() if n == "patch_may_be_wrong" and shown}


def _say_put_off(ending: Ending, what: str, again: str) -> None:
    if ending.put_off:
        unfinished = f"{len(ending.put_off)} {what} are not finished: {ending.reason}"
        remark([f"{unfinished}; then resume with: {again}"])


# -- functions -------------------------------------------------------------------------------------

_DEFAULTS = {
    one.name: one.default
    for one in fields(functions.BenchSettings)
    if one.name in ("editor_tests", "evaluation", "subset")
}
"""Of the settings that a preset may set."""


def _bench_functions(options: BenchOptions, progress: Progress) -> BenchResult:
    own = {field.name for field in fields(functions.BenchSettings)}
    asked, mine, header, given = _started(options, own)
    spec = chosen_method(asked, "function")
    preset = preset_of(asked.preset, "function")
    if told := departures(preset, spec, given, _DEFAULTS):
        remark([f"preset {preset.name}: {told}"])
    mine = {**preset.settings, **mine}
    if asked.prompts is not None:
        mine["prompts"] = digest_of(asked.prompts)
    if mine.get("runs", 1) > 1 and not spec.asks_model:
        raise InputError("--runs is for methods that ask a model: others do the same every time")
    if mine.get("gold_outputs"):
        functions.check_gold(spec)
    if options.executor is not None and not spec.cpu_bound:
        raise InputError(f"--executor is for work that computes; {spec.name} waits for a model")
    executor = executor_of(options.executor, Workers(jobs=options.jobs))
    if options.grade:
        raise InputError("--grade is for issues: runs over functions are graded always")
    made = resumed(
        functions.BenchSettings(
            dataset=options.dataset,
            method=spec.name,
            model=asked.model,
            tester=asked.tester,
            options=options_of(spec, asked),
            **mine,
        ),
        header,
        given,
    )
    if made.prompts and asked.prompts is None:
        raise InputError(f"{options.run}: was started with --prompts; give the folder again")
    items = functions.load_items(made, options.data)
    folder, total = options.folder(spec.name), len(items) * made.runs
    again = options.again(folder)
    with (
        prompts_from(asked.prompts),
        Run(folder, made.header(items), functions.RECORDS, again=again) as run,
    ):
        remark([f"{len(items)} problems into {folder}"])
        with LocalSandbox() as box:
            warn_of_gaps(box)
        ending = functions.work_on(
            run,
            items,
            made,
            models=partial(open_sessions, asked),
            at_once=asked.concurrency,
            jobs=options.jobs,
            executor=executor,
            progress=lambda done: progress(done, total),
        )
        result = functions.summarize(items, made, run.journal)
    remark(f"{id}: no result: {reason}" for id, reason in result.errors.items())
    _say_put_off(ending, "problems", again)
    return BenchResult(result)


# -- issues ----------------------------------------------------------------------------------------


def _bench_issues(options: BenchOptions, progress: Progress) -> IssueBenchResult:
    bounds = {field.name for field in fields(Bounds)}
    own = {field.name for field in fields(issues.IssueBenchSettings)} | bounds
    asked, mine, header, given = _started(options, own)
    name, spec, of_method = chosen_reproducer(asked, graded=True)
    if options.executor is not None and not options.grade:
        raise InputError("--executor is for work that computes: of issues for their grades")
    limits = Bounds(**{one: mine.pop(one) for one in bounds & mine.keys()})
    preset = preset_of(asked.preset, "issue")
    if told := departures(preset, spec, given, {}):
        remark([f"preset {preset.name}: {told}"])
    if asked.prompts is not None:
        mine["prompts"] = digest_of(asked.prompts)
    made = issues.IssueBenchSettings(
        dataset=options.dataset,
        method=name,
        model=asked.model,
        tester=asked.tester,
        options=of_method,
        bounds=limits,
        **{**_preset_settings(preset, mine), **mine},
    )
    made = resumed(made, header, given)
    if made.patch_may_be_wrong and not made.code_patch:
        raise InputError("patch_may_be_wrong is about the patch of code_patch; set one")
    check_engine(made.workspace)
    items = load_issues(made.dataset, data=options.data, ids=made.ids, limit=made.limit)
    given_away = issues.given_away(items, made)
    items = issues.with_proposals(items, given_away, made)
    for one in given_away.values():
        check_task(name, spec, made.task, one)
        check_given(spec, one)
    folder = options.folder(issues.variant(asdict(made)))
    more = (
        ("--grade",) if options.grade else ()
    )  # no setting of the run: its journal does not keep it
    again, total = options.again(folder, *more), len(items)
    problems = [as_placed(item.problem, made.workspace) for item in items]
    heading = made.header(problems, given_away)
    with (
        prompts_from(asked.prompts),
        Run(folder, heading, issues.RECORDS, again=again) as run,
    ):
        remark([f"{total} issues into {folder}"])
        try:
            ending = issues.predict_issues(
                run,
                problems,
                made,
                given=given_away,
                models=partial(open_sessions, asked),
                confirm=confirmed_in,
                at_once=options.jobs or default_jobs(),
                progress=lambda done: progress(done, total),
            )
        except BaseException:
            if run.records:
                issues.save_predictions(run.journal, made)
            raise
        files = issues.save_predictions(run.journal, made)
        records = dict(run.records)
    remark([f"predictions: {', '.join(map(str, files))}"])
    errors = {id: r.error for id, r in records.items() if isinstance(r, ErrorRecord)}
    remark(f"{id}: no prediction: {reason}" for id, reason in errors.items())
    _say_put_off(ending, "issues", again)
    ids = tuple(item.problem.id for item in items)
    result = IssueBenchResult(made, folder, ids, records, tuple(files), {})
    grader = executor_of(options.executor, Workers(jobs=options.jobs, memory=RUN_MEMORY))
    where = Where(made.workspace, options.jobs, grader, progress)
    if options.grade and result.complete and made.task == "repair":
        place = folder / "grades" / files[0].stem
        graded = grade_repairs(
            items, str(files[0]), made.dataset, folder=place, again="the same command", where=where
        )
        result = replace(result, grades={files[0].name: graded})
    elif options.grade and result.complete:
        grades = grade_samples(
            items, files, made.dataset, folder / "grades", preset=made.preset, where=where
        )
        result = replace(result, grades=grades)
    return result


# -- the command -----------------------------------------------------------------------------------


class _Bench(MethodCommand):
    def named(self, given: Mapping[str, Any]) -> str | None:
        """The method that is named, or that of a resumed run."""
        name, run = super().named(given), given.get("run")
        if name is not None or run is None:
            return name
        return (read_header(Path(run)) or {}).get("method")


@click.command(
    "bench",
    cls=_Bench,
    levels=("function", "issue"),
    more=(Bounds, Experiment, BenchOptions),
)
@offered(BenchOptions)
@json_option
def command(options: BenchOptions, as_json: bool) -> int:
    """Run a method over a dataset, or over a file of its rows.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard or a JSONL file of functions;
    swt-lite, swt-verified, swt-full, swe-lite... or a file of SWE-bench rows. A run that was
    interrupted resumes with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.results.text.consoles import counting

    with counting(consoles()[1]) as progress:
        result = bench(options=options, progress=progress)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE
