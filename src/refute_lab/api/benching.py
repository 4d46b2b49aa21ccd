"""`bench`.

>>> refute_lab.bench("he-fix", method="search", limit=10).figures["code_accuracy"]
>>> refute_lab.bench("swt-lite", method="snippet", grade=True).grades
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from refute.core.methods import Bounds
from refute.core.registry import Preset, chosen_method, departures, options_of, preset_of
from refute.core.remarks import remark, warn_of_gaps
from refute.errors import InputError
from refute.issue.choosing import check_given, check_task, chosen_reproducer
from refute.models.asking import Asked, open_sessions
from refute.prompts import digest_of, prompts_from
from refute.sandbox.local import LocalSandbox
from refute.verbs.fix import confirmed_in
from refute.verbs.output import Progress, Shown, apart, path_of, silent
from refute_lab import benches as functions
from refute_lab.api.grading import GradeResult, grade_samples, tasks_of
from refute_lab.api.repairs import FixGradeResult, grade_repairs
from refute_lab.benches import issues
from refute_lab.datasets.swe import holds_issues, load_issues
from refute_lab.figures import Figure
from refute_lab.runs.executors import Executor, Workers, executor_of, on_gpus
from refute_lab.runs.journal import new_run, read_header
from refute_lab.runs.records import ErrorRecord
from refute_lab.runs.run import Ending, Run, resumed
from refute_lab.runs.sharing import ModelKeeper
from refute_lab.swt.grading.grade import Terms
from refute_lab.swt.grading.tasks import RUN_MEMORY, default_jobs
from refute_lab.swt.workspaces import as_placed, check_engine


@dataclass(frozen=True, slots=True)
class BenchResult(Shown):
    """What a run over functions came to."""

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
        """Whether every problem has a result; the same call with `run` retries the others."""
        return not (self.result.errors or self.result.missing)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute_lab.report.bench import bench_document

        return bench_document(self.result)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.bench import print_bench

        if self.result.n or not self.result.missing:
            print_bench(self.result, console)


@dataclass(frozen=True, slots=True)
class IssueBenchResult(Shown):
    """What a run over issues came to."""

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
        """Whether every issue has a prediction."""
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
        from refute_lab.report.bench import issue_bench_document

        document = issue_bench_document(self.settings, self.ids, self.records, self.directory)
        if self.grades:
            document["grades"] = {name: one.to_dict() for name, one in self.grades.items()}
        if self.claims:
            named = self.claims.items()
            document["claims"] = {state: {"n": n, "right": good} for state, (n, good) in named}
        return document

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        for one in self.grades.values():
            one.print(console)
        for state, (n, good) in self.claims.items():
            console.print(f"claimed {state}: {n} of {len(self.ids)}, of these right: {good}")
        if not self.grades:
            status = {**self.to_dict()["status"], "not finished": len(self.ids) - len(self.records)}
            shown = {what: n for what, n in status.items() if n or what != "not finished"}
            counts = ", ".join(f"{n} {what}" for what, n in shown.items())
            console.print(f"{self.settings.method} on {self.settings.dataset}: {counts}")


def bench(
    dataset: Path | str,
    *,
    method: str | None = None,
    model: str | None = None,
    asked: Asked | None = None,
    data: Path | str | None = None,
    run: Path | str | None = None,
    runs_dir: Path | str = "runs",
    jobs: int | None = None,
    executor: Executor | str | None = None,
    grade: bool = False,
    progress: Progress = silent,
    **settings: Any,
) -> BenchResult | IssueBenchResult:
    """Run a method over a dataset of functions or of issues, or over a file of its rows.

    `method`, `model`, `asked` as in `refute.hunt`. `data`: the dataset's file or folder. `run`:
    the folder of the run, which resumes where it stopped; None: a new one in `runs_dir`. `jobs`:
    processes, or issues at once; `executor`: what does the problems instead, by its name
    ("ray:ADDRESS"), or for methods that compute an object. `grade`: grade the predictions for
    issues as well.

    `settings`: those of the run (`limit`, `ids`, `seed`... for functions
    `benches.BenchSettings`, for issues `benches.issues.IssueBenchSettings` and
    `refute.Bounds`) and options of the method, by name. What is not given is as the run was
    started with.

    Raises `InputError`, and `Unavailable` where nothing could be done; a problem that alone could
    not be done is named in the result.
    """
    asked = asked or Asked(method=method, model=model)
    work = _bench_issues if holds_issues(str(dataset)) else _bench_functions
    where = _Where(str(dataset), path_of(data), path_of(run), Path(runs_dir), jobs, executor)
    return apart(lambda: work(where, asked, settings, grade, progress))


@dataclass(frozen=True, slots=True)
class _Where:
    """What is read, and where it is done."""

    dataset: str
    data: Path | None
    run: Path | None
    runs_dir: Path
    jobs: int | None
    executor: Executor | str | None

    def folder(self, what: str) -> Path:
        return self.run or new_run(self.runs_dir, f"{Path(self.dataset).stem}-{what}")

    def again(self, folder: Path, asked: Asked, *more: str) -> str:
        """The command that resumes the run, with what its journal does not keep."""
        said = {"--data": self.data, "--base-url": asked.base_url, "--prompts": asked.prompts}
        told = [part for flag, it in said.items() if it is not None for part in (flag, str(it))]
        told += [] if asked.cache else ["--no-cache"]
        return shlex.join(("refute", "bench", self.dataset, "--run", str(folder), *told, *more))


_EACH = 8
"""Problems at once in a worker of one core, for a method that waits for a server."""


def _asking(where: _Where, asked: Asked) -> Workers:
    """Workers for a method that waits for a model: `asked.concurrency` problems at once in all of
    them together, or in each where the model is in the process."""
    workers = on_gpus(Workers(jobs=where.jobs, waits=True, each=asked.concurrency), asked)
    if workers.gpus:
        return workers
    each = min(_EACH, asked.concurrency)
    most = -(-asked.concurrency // each)
    return replace(workers, jobs=min(where.jobs or most, most), each=each)


def _started(
    where: _Where, asked: Asked, settings: Mapping[str, Any], own: Collection[str]
) -> tuple[Asked, dict[str, Any], Mapping[str, Any], set[str]]:
    """What is asked and set for the run, its header where it is there already, and the names that
    are given anew. Of `settings` those that are not the run's `own` are the method's options."""
    set_here = {**asked.set, **settings}
    mine = {name: value for name, value in set_here.items() if name in own}
    options = {name: value for name, value in set_here.items() if name not in own}
    asked = replace(asked, set=options)
    for name in ("preset", "prompts"):
        asked = replace(asked, **{name: mine.pop(name, getattr(asked, name))})
    asked = replace(asked, prompts=path_of(asked.prompts))
    who = ("method", "model", "tester", "preset", "prompts")
    named = {n for n in who if getattr(asked, n) is not None}
    given = {*named, *mine, *asked.set, "prompts"}  # a run's templates are not kept with it
    header = {} if where.run is None else read_header(where.run) or {}
    if not _same_file(where.dataset, str(header.get("dataset"))):
        given.add("dataset")
    stored = {n: header[n] for n in ("method", "model", "tester") if n in header and n not in given}
    return replace(asked, **stored), mine, header, given


def _same_file(one: str, other: str) -> bool:
    """Whether two names of datasets lead to one file."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _preset_settings(preset: Preset, mine: Mapping[str, Any]) -> dict[str, Any]:
    """What a preset says of a bench over issues: of a patch only where one is shown. What it says
    of grading is taken there."""
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


def _bench_functions(
    where: _Where, asked: Asked, settings: Mapping[str, Any], grade: bool, progress: Progress
) -> BenchResult:
    own = {field.name for field in fields(functions.BenchSettings)}
    asked, mine, header, given = _started(where, asked, settings, own)
    spec = chosen_method(asked, "function")
    preset = preset_of(asked.preset, "function")
    if told := departures(preset, spec, given, _DEFAULTS):
        remark([f"preset {preset.name}: {told}"])
    mine = {**preset.settings, **mine, "preset": asked.preset}
    if asked.prompts is not None:
        mine["prompts"] = digest_of(asked.prompts)
    if mine.get("runs", 1) > 1 and not spec.asks_model:
        raise InputError("--runs is for methods that ask a model: others do the same every time")
    if mine.get("gold_outputs"):
        functions.check_gold(spec)
    workers, keeper = Workers(jobs=where.jobs), None
    if where.executor is not None and not spec.cpu_bound:
        keeper = ModelKeeper(asked, asked.prompts)
        workers = replace(_asking(where, asked), keeper=keeper)
    executor = executor_of(where.executor, workers)
    if grade:
        raise InputError("--grade is for issues: runs over functions are graded always")
    made = resumed(
        functions.BenchSettings(
            dataset=where.dataset,
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
        raise InputError(f"{where.run}: was started with --prompts; give the folder again")
    items = functions.load_items(made, where.data)
    folder, total = where.folder(spec.name), len(items) * made.runs
    again = where.again(folder, asked)
    with (
        prompts_from(asked.prompts),
        keeper or nullcontext(),
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
            jobs=where.jobs,
            executor=executor,
            progress=lambda done: progress(done, total),
        )
        result = functions.summarize(items, made, run.journal)
    remark(f"{id}: no result: {reason}" for id, reason in result.errors.items())
    _say_put_off(ending, "problems", again)
    return BenchResult(result)


# -- issues ----------------------------------------------------------------------------------------


def _bench_issues(
    where: _Where, asked: Asked, settings: Mapping[str, Any], grade: bool, progress: Progress
) -> IssueBenchResult:
    bounds = {field.name for field in fields(Bounds)}
    own = {field.name for field in fields(issues.IssueBenchSettings)} | bounds
    asked, mine, header, given = _started(where, asked, settings, own)
    name, spec, options = chosen_reproducer(asked, graded=True)
    executor = keeper = None
    if where.executor is not None:
        keeper = ModelKeeper(asked, asked.prompts)
        workers = Workers(jobs=where.jobs, waits=True, memory=RUN_MEMORY, keeper=keeper)
        executor = executor_of(where.executor, on_gpus(workers, asked))
    limits = Bounds(**{one: mine.pop(one) for one in bounds & mine.keys()})
    preset = preset_of(asked.preset, "issue")
    if told := departures(preset, spec, given, {}):
        remark([f"preset {preset.name}: {told}"])
    if asked.prompts is not None:
        mine["prompts"] = digest_of(asked.prompts)
    made = issues.IssueBenchSettings(
        dataset=where.dataset,
        method=name,
        model=asked.model,
        preset=asked.preset,
        tester=asked.tester,
        options=options,
        bounds=limits,
        **{**_preset_settings(preset, mine), **mine},
    )
    made = resumed(made, header, given)
    if made.patch_may_be_wrong and not made.code_patch:
        raise InputError("patch_may_be_wrong is about the patch of code_patch; set one")
    check_engine(made.workspace)
    items = load_issues(made.dataset, data=where.data, ids=made.ids, limit=made.limit)
    given_away = issues.given_away(items, made)
    items = issues.with_proposals(items, given_away, made)
    for one in given_away.values():
        check_task(name, spec, made.task, one)
        check_given(spec, one)
    folder = where.folder(issues.variant(asdict(made)))
    more = ("--grade",) if grade else ()  # no setting of the run: its journal does not keep it
    again, total = where.again(folder, asked, *more), len(items)
    problems = [as_placed(item.problem, made.workspace) for item in items]
    heading = made.header(problems, given_away)
    with (
        prompts_from(asked.prompts),
        keeper or nullcontext(),
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
                at_once=where.jobs or default_jobs(),
                executor=executor,
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
    grader = executor_of(where.executor, Workers(jobs=where.jobs, memory=RUN_MEMORY))
    if grade and result.complete and made.task == "repair":
        graded = grade_repairs(
            items,
            str(files[0]),
            partial(tasks_of, items, str(files[0])),
            made.dataset,
            folder=folder / "grades" / files[0].stem,
            again="the same command",
            timeout=Terms().timeout,
            workspace=made.workspace,
            jobs=where.jobs,
            executor=grader,
            progress=progress,
        )
        result = replace(result, grades={files[0].name: graded})
    elif grade and result.complete:
        grades = grade_samples(
            items,
            files,
            made.dataset,
            folder / "grades",
            preset=made.preset,
            workspace=made.workspace,
            jobs=where.jobs,
            executor=grader,
            progress=progress,
        )
        result = replace(result, grades=grades)
    return result
