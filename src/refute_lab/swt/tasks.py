"""`refute grade`: predictions over a dataset in worker processes, journalled one by one.

The reports of all states come into the run's folder before the record of an instance, so that a run
can be graded again without running anything. An instance that cannot be graded for a reason
that is not the prediction's own has an error record; it stops no other, and is tried again when the
run resumes.

What is graded, and how a run of grades may grow: tests and fixes alike.

What a grade is of stands in its record, not in the journal's header. So a run resumes where its
dataset has more instances, and an instance that has changed since is graded anew.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, Protocol

import msgspec

from refute.core.methods import Spawn
from refute.core.problems import IssueKey, IssuePrediction
from refute.core.processes import cores, shared_slots
from refute.core.storage import cache_folder, parse_json, read_file, unpack, write_output
from refute.errors import InputError, WorkspaceUnavailable
from refute.issue.edits import Applied, Files
from refute.workspace.contract import Workspace
from refute.workspace.factory import Backend
from refute.workspace.patches import test_files
from refute.workspace.running import ReportCache, rejection
from refute_lab.baselines.edits import read_edits
from refute_lab.datasets.swe import IssueItem
from refute_lab.runs import ErrorRecord, WithFiles
from refute_lab.runs.executors import Ending, Executor, Processes, Run
from refute_lab.swt import (
    Executable,
    Verdict,
    attributed,
    executable_lines,
    golden_runs,
    missing_fail_to_pass,
    state_reports,
    works,
)
from refute_lab.swt.grade import (
    Conflict,
    Evidence,
    GoldenCheck,
    IssueGrade,
    Terms,
    covered_by,
    evidence_files,
    grade_prediction,
    grade_record,
    run_states,
)
from refute_lab.swt.workspaces import spawner

PatchType = Literal["vanilla", "fuzzy", "custom"]
"""Reading of `model_patch`: as a diff for `git apply`; as a diff whose numbers and context are
hints; as blocks of SWT-Bench's custom diff."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One model's answer for one instance."""

    instance: str
    patch: str
    """`model_patch` as it stands in the file; "" for null."""
    model: str = ""
    """`model_name_or_path`."""
    answer: str = ""
    """`full_output`."""


def gold_predictions(keys: Iterable[IssueKey]) -> dict[str, Prediction]:
    """The golden tests as the predictions of a model named ``gold``."""
    return {key.id: Prediction(key.id, key.test_patch, "gold") for key in keys}


class _Row(msgspec.Struct):
    """A prediction in a file, null for no patch."""

    instance_id: Annotated[str, msgspec.Meta(min_length=1)]
    model_patch: str | None
    model_name_or_path: str | None = None
    full_output: str | None = None


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Instance id -> prediction, in the order of the file. Raises `InputError`: file, place, field.

    An object that is keyed by id may leave out ``instance_id``, and may hold the patch alone.
    """
    found: dict[str, Prediction] = {}
    for place, fields in _rows(path):
        try:
            row = msgspec.convert(fields, _Row)
        except msgspec.ValidationError as e:
            raise InputError(f"{path}: {place}: {e}") from None
        texts = (row.model_patch, row.model_name_or_path, row.full_output)
        found.pop(row.instance_id, None)
        found[row.instance_id] = Prediction(row.instance_id, *(text or "" for text in texts))
    return found


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """Write JSON lines in place of what the file held, all or nothing. Raises `InputError`."""
    lines = []
    for one in predictions:
        row = {"instance_id": one.instance, "model_name_or_path": one.model}
        lines.append(json.dumps({**row, "model_patch": one.patch, "full_output": one.answer}))
    try:
        write_output(path, "".join(f"{line}\n" for line in lines), folders=True)
    except OSError as e:
        raise InputError(f"{path}: cannot be written: {e.strerror}") from None


def patch_of(
    prediction: Prediction,
    types: Sequence[PatchType],
    files: Files,
    applies: Callable[[str], bool],
) -> Applied:
    """The prediction's patch: of the types, in their order, the first that gives one.

    `files` reads the repository, `applies` asks `git apply` there. With one type its patch is
    given whether it applies or not. "" where there is none; the problems say why.
    """
    if not prediction.patch.strip():
        return Applied("", ("the patch is empty",))
    problems: list[str] = []
    for kind in types:
        if kind == "vanilla":
            text = prediction.patch if prediction.patch.endswith("\n") else f"{prediction.patch}\n"
            applied = Applied(text)
        else:
            applied = read_edits(prediction.patch, "diff" if kind == "fuzzy" else "custom").apply(
                files
            )
        if len(types) == 1:
            return applied
        if applied.patch and applies(applied.patch):
            return Applied(applied.patch, (*problems, *applied.problems))
        problems += applied.problems or (f"{kind}: does not apply",)
    return Applied("", tuple(problems))


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each prediction's place and object."""
    try:
        data = read_file(path)
        text = (unpack(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    try:
        whole = parse_json(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "instance_id" not in whole:
        for key, value in whole.items():
            fields = value if isinstance(value, dict) else {"model_patch": value}
            yield repr(key), {"instance_id": key, **fields}
    elif isinstance(whole, list):
        yield from ((f"item {number}", item) for number, item in enumerate(whole, start=1))
    else:
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                if line.strip():
                    yield f"line {number}", parse_json(line)
            except ValueError as e:
                raise InputError(f"{path}:{number}: not JSON: {e}") from None


# -- tasks -----------------------------------------------------------------------------------------


# -- growing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GradingTask:
    """One instance with what was predicted for it."""

    item: IssueItem
    prediction: Prediction
    """Its patch is "" where nothing was predicted."""


class Graded(Protocol):
    """A record of a grade."""

    @property
    def content(self) -> str:
        """`content_of` its task."""


def digest_of(*parts: object) -> str:
    """Of instances and predictions, as far as grades depend on them."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode(errors="surrogatepass"))
    return digest.hexdigest()[:32]


def content_of(task: GradingTask) -> str:
    """A digest of the instance and one of the prediction."""
    return f"{digest_of(task.item)}-{digest_of(task.prediction)}"


def stands(task: GradingTask, record: Graded) -> bool:
    """Return whether the record is the grade of the task as it is now."""
    return record.content == content_of(task)


def grown(header: Mapping[str, Any], started: Mapping[str, Any] | None) -> dict[str, Any]:
    """The header of a run; of one that is there (`started`) it keeps the name of the dataset that
    it was started with."""
    if started is None or started.get("kind") != header["kind"]:
        return dict(header)
    return {**header, "dataset": started.get("dataset")}


def check_growth(
    directory: Path,
    records: Mapping[str, Any],
    tasks: Sequence[GradingTask],
    dataset: str,
) -> None:
    """Raise `InputError` where the run in a folder has grades of instances that are not among the
    tasks, or of another prediction. `records`: `Graded` ones and errors, by instance."""
    if left := sorted(records.keys() - {task.item.problem.id for task in tasks}):
        told = f"holds grades of instances that {dataset} lacks, e.g. {left[0]}"
        raise InputError(f"{directory}: {told}; give another folder")
    for task in tasks:
        id = task.item.problem.id
        record = records.get(id)
        if record is None or isinstance(record, ErrorRecord):
            continue
        if record.content.partition("-")[2] != digest_of(task.prediction):
            told = f"was started with another prediction for {id}"
            raise InputError(f"{directory}: {told}; use the same ones, or another folder")


RUN_MEMORY = 2 << 30
"""Bytes that one run of tests may well need."""


@dataclass(frozen=True, slots=True)
class GradingSettings:
    """Everything that the grades depend on; goes into the journal's header."""

    dataset: str
    predictions: str
    """File that they were read from; `gold`: the golden tests."""
    model: str
    """`model_name_or_path` of the predictions."""
    terms: Terms
    workspace: Backend = "local"
    types: tuple[PatchType, ...] = ("vanilla",)
    """Readings of the predictions: the first type that gives a patch which applies."""

    def header(self, started: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings; `started`: the header of a run that is there, which may have grown."""
        return grown({"kind": "grades", **asdict(self)}, started)

    def record(self, slots: AbstractContextManager[Any], task: GradingTask) -> WithFiles:
        """The record of one instance with its evidence; see `Doing`."""
        grade, check = grade_task(self, slots, task)
        record = grade_record(grade, golden=check, repo=task.item.problem.repo)
        return WithFiles(replace(record, content=content_of(task)), evidence_files(grade))


def default_jobs() -> int:
    """Return how many test runs this machine takes at once: its cores, within free memory."""
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        match = None
    if match is None:
        return cores()
    return max(1, min(cores(), int(match[1]) * 1024 // RUN_MEMORY))


class Doing(Protocol):
    """Settings that make a record of a task."""

    def record(self, slots: AbstractContextManager[Any], task: Any) -> Any:
        """The record, or one `WithFiles`. `slots` is held while tests run.

        Raises `WorkspaceUnavailable`, `InputError`.
        """
        ...


def work_on(
    run: Run[Any],
    tasks: Sequence[Any],
    settings: Doing,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] = lambda done: None,
    stands: Callable[[Any, Any], bool] = stands,
) -> Ending:
    """Do the tasks without a record that `stands`; `progress` receives how many have one.

    At most `jobs` runs of tests at once (None: `default_jobs`), in as many processes, or where
    `executor` does them. Raises `WorkspaceUnavailable` when no worker can work.
    """
    jobs = jobs or default_jobs()
    slots = shared_slots(jobs) if executor is None else None
    return run.do(
        {task.item.problem.id: task for task in tasks},
        partial(_start, settings, slots),
        executor or Processes(jobs),
        progress=progress,
        stands=stands,
        unavailable=WorkspaceUnavailable,
    )


# -- in a worker -----------------------------------------------------------------------------------


def _start(
    settings: Doing, slots: AbstractContextManager[Any] | None
) -> Callable[[tuple[str, Any]], Any]:
    """`slots`: what all workers share; None: each runs tests one at a time."""
    return partial(_work, settings, slots or Lock())


def _work(settings: Doing, slots: AbstractContextManager[Any], named: tuple[str, Any]) -> Any:
    """The record of one task, with the seconds that it took."""
    id, task = named
    start = time.monotonic()
    try:
        made = settings.record(slots, task)
    except (WorkspaceUnavailable, InputError) as error:
        return ErrorRecord(id, " ".join(str(error).split()))
    seconds = round(time.monotonic() - start, 3)
    if isinstance(made, WithFiles):
        timed: Any = made.record
        return replace(made, record=replace(timed, seconds=seconds))
    return replace(made, seconds=seconds)


def grade_task(
    settings: GradingSettings, slots: AbstractContextManager[Any], task: GradingTask
) -> tuple[IssueGrade, GoldenCheck | None]:
    """The grade of one prediction, and whether the golden tests work here (None: not run).

    `slots` is held while tests run. Raises `WorkspaceUnavailable`, `InputError`.
    """
    key = task.item.key
    spawn = spawner(task.item.problem, settings.workspace)
    grade = attributed(
        lambda: _grade(settings, slots, task, spawn),
        lambda: golden_runs(key, spawn, timeout=settings.terms.timeout),
        lambda reason: IssueGrade(key.id, Verdict("not_trusted", remarks=(reason,))),
    )
    if grade.evidence is None:
        return grade, None
    golden = grade.evidence.golden
    return grade, GoldenCheck(works(golden), tuple(missing_fail_to_pass(golden, key)))


def _grade(
    settings: GradingSettings, slots: AbstractContextManager[Any], task: GradingTask, spawn: Spawn
) -> IssueGrade:
    problem, prediction = task.item.problem, task.prediction
    patch = prediction.patch
    if patch.strip() and settings.types != ("vanilla",):
        with spawn() as workspace:
            patch = _read(prediction, settings.types, workspace)
    key, terms = task.item.key, settings.terms
    store = state_reports(cache_folder() / "states", problem, settings.workspace)
    predicted = IssuePrediction(problem.id, patch)
    grade = grade_prediction(predicted, key, spawn, store=store, terms=terms, slot=slots)
    if terms.executable == "own":
        return grade
    golden = golden_reports(key, spawn, store=store, timeout=terms.timeout, slot=slots)
    return with_golden_lines(grade, key, golden, terms.executable)


def _read(prediction: Prediction, types: Sequence[PatchType], workspace: Workspace) -> str:
    """The prediction as a diff against the files of the repository."""

    def text(path: str) -> str | None:
        try:
            return workspace.read(path).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def applies(patch: str) -> bool:
        return not rejection(workspace, patch)

    read = patch_of(prediction, types, text, applies)
    # What could not be read as any of the types is graded as it stands: it does not apply.
    return read.patch or prediction.patch


# -- one set of executable lines for all predictions: that of the golden tests' run ---------------
#
# What grading finds executable is what the predicted tests' files or the golden ones execute, and
# for a prediction that was not run nothing. So the denominator of ΔC differs a little from method
# to method. SWT-Bench's section 3.3 defines X* by the original suite and the golden tests alone;
# here these are run once for an instance (their reports are kept) and count for every prediction,
# also for one that does not apply.


def golden_reports(
    key: IssueKey,
    spawn: Callable[[], Workspace],
    *,
    store: ReportCache,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> Evidence:
    """The golden tests' files without and with the golden tests, as evidence about them.

    Raises `WorkspaceUnavailable` where the golden tests do not end on the fixed code.
    """
    tests, terms = key.test_patch, Terms(timeout=timeout)
    evidence = run_states(tests, key, spawn, store, terms, slot, test_files(tests))
    if isinstance(evidence, Conflict):
        raise WorkspaceUnavailable(f"the golden tests cannot be applied: {evidence.why}")
    after = evidence.golden[1]
    if after.status != "finished":
        why = f"the golden tests do not finish: {after.status} {after.remark}"
        raise WorkspaceUnavailable(why)
    return evidence


def with_golden_lines(
    grade: IssueGrade, key: IssueKey, golden: Evidence, rule: Executable
) -> IssueGrade:
    """The grade with ΔC over the lines that the golden run executes (`rule`: golden or printed)."""
    lines = executable_lines(key.patch, base=golden.base, golden=golden.golden, rule=rule)
    reached = covered_by(key, golden, lines)
    found = replace(reached, covered_removed=(), covered_added=())
    if grade.evidence is not None and grade.coverage is not None:
        found = covered_by(key, grade.evidence, lines)
    return replace(grade, coverage=found, golden_coverage=reached)
