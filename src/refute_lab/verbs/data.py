"""`data`: benchmarks are built and looked at, and written as tasks for training by rewards.

>>> from refute_lab.verbs.data import write_rows
>>> write_rows("humaneval+", output="rows.jsonl").rows
"""

from __future__ import annotations

import ast
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import click

from refute.core.extras import requirement
from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.errors import UNAVAILABLE, InputError, Unavailable
from refute.sandbox import Outcome, OutOfMemory, Raised, Returned, Sandbox, TimedOut
from refute.source.literals import NotLiteral, source_of
from refute.source.syntax import try_parse
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import apart, show
from refute.workspace.contract import Base
from refute_lab.adapters import Answers, harbor, rows
from refute_lab.benches import RECORDS, FunctionRecord, stored_settings
from refute_lab.benches.grade import ProgramGrade, expected_outputs, grade_program
from refute_lab.datasets import Item, load
from refute_lab.datasets.swe import IssueItem, holds_issues, load_issues
from refute_lab.runs import ErrorRecord, read_run
from refute_lab.swt.workspaces import prepared
from refute_lab.train.data import write_lines
from refute_lab.verbs.data_issues import BuildOptions, StatisticsOptions, build_swt, statistics
from refute_lab.verbs.options import Plain, Rows, show_tables

# -- faulty ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """Bounds of kept programs: a pass rate over the private tests from `least` to `most`, in [0,
    1], and at least one test failed."""

    least: float = 0.0
    most: float = 1.0

    def fits(self, rate: float) -> bool:
        """Return whether a program that passes this share of the tests is kept."""
        return self.least <= rate <= self.most and rate < 1.0


@dataclass(frozen=True, slots=True)
class FaultyProgram:
    """One program, graded."""

    code: str
    model: str
    pass_rate: float
    error: str
    """Most frequent failure of the tests: "wrong output", "raises NAME", "time", "memory", ..."""


def written_programs(records: Iterable[FunctionRecord]) -> dict[str, list[str | None]]:
    """Every sample of a run, by problem, in the order of sampling; None: not readable."""
    found: dict[str, list[str | None]] = {}
    for record in records:
        edits = () if record.log is None else record.log.edits
        if record.grade.written is not None:
            found.setdefault(record.problem, []).extend(edit.code for edit in edits)
    return found


def chosen_fault(
    item: Item,
    programs: Mapping[str, Sequence[str | None]],
    wanted: Wanted,
    box: Sandbox,
    *,
    seed: int,
) -> tuple[FaultyProgram | None, Counter[str]]:
    """One of the problem's programs that fit, drawn by the seed; and how many end as what.

    `programs`: by the model that wrote them. Programs that are equal but for comments and layout
    count once; "unreadable" and "written twice" count the other samples. Raises
    `SandboxUnavailable`, and `ValueError` as `expected_outputs` does.
    """
    truth = expected_outputs(item.key, box)
    kinds: Counter[str] = Counter()
    fitting: list[FaultyProgram] = []
    seen: set[str] = set()
    for model, sources in programs.items():
        for code in sources:
            if code is None:
                kinds["unreadable"] += 1
                continue
            tree = try_parse(code)
            meaning = code if tree is None else ast.dump(tree)
            if meaning in seen:
                kinds["written twice"] += 1
                continue
            seen.add(meaning)
            grade = grade_program(code, item.key, box, truth=truth)
            if wanted.fits(grade.pass_rate):
                fitting.append(FaultyProgram(code, model, grade.pass_rate, _error(grade)))
            kinds["right" if grade.passed else "fits" if wanted.fits(grade.pass_rate) else
                  "of another pass rate"] += 1  # fmt: skip
    if not fitting:
        return None, kinds
    return random.Random(f"{seed} {item.problem.id}").choice(fitting), kinds


def _error(grade: ProgramGrade) -> str:
    failed = zip(grade.outcomes, grade.verdicts, strict=True)
    counts = Counter(_kind(outcome) for outcome, passed in failed if not passed)
    return counts.most_common(1)[0][0]


def _kind(outcome: Outcome) -> str:
    if isinstance(outcome, Returned):
        return "wrong output"
    if isinstance(outcome, Raised):
        return f"raises {outcome.type}"
    if isinstance(outcome, TimedOut):
        return "time"
    return "memory" if isinstance(outcome, OutOfMemory) else "killed"


def row_of(item: Item, fault: FaultyProgram) -> dict[str, Any] | None:
    """The problem with the faulty program as a row of `datasets.jsonl`; None where its inputs
    cannot be written as literals."""
    problem, key = item.problem, item.key
    try:
        inputs = source_of([tuple(args) for args in key.inputs])
        expected = None if key.expected is None else source_of(list(key.expected))
    except NotLiteral:
        return None
    row = {
        "id": problem.id,
        "entry_point": problem.entry_point,
        "description": problem.description,
        "signature": problem.signature,
        "code": fault.code,
        "reference": key.reference,
        "inputs": inputs,
        "expected": expected,
        "atol": key.atol,
        "checker": key.checker,
        "contract": key.contract,
        "model": fault.model,
        "pass_rate": round(fault.pass_rate, 4),
        "error": fault.error,
    }
    return {name: value for name, value in row.items() if value is not None}


@dataclass(frozen=True, slots=True)
class BuiltFix(Plain):
    """Counts of kept and dropped programs."""

    output: Path
    kept: int
    """Problems with a faulty program."""
    problems: int
    """Problems that programs were written for."""
    programs: Mapping[str, int]
    """All samples by what they are: "right", "fits", "of another pass rate", "written twice",
    "unreadable"."""
    errors: Mapping[str, int]
    """Of those that were taken: what most of their failed tests see."""
    models: Mapping[str, int]
    """... and which model wrote them."""

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        console.print(f"{self.kept} of {self.problems} problems into {self.output}", markup=False)
        for what, counts in (
            ("programs", self.programs),
            ("errors", self.errors),
            ("models", self.models),
        ):
            said = ", ".join(f"{count} {name}" for name, count in counts.items())
            console.print(f"{what}: {said or 'none'}", markup=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFixOptions:
    """The options of `data build-fix`."""

    dataset: str = parameter(MISSING, "A dataset of functions.", positional=True)
    runs: tuple[Path, ...] = parameter(
        MISSING, "Folders of runs, of one model each.", positional=True, metavar="RUN..."
    )
    output: Path = parameter(MISSING, "Rows, JSON lines.", flag="-o", writes=True)
    data: Path | None = parameter(None, "Its file or folder (or REFUTE_DATA).", metavar="PATH")
    least: float = parameter(
        0.0, "Share of the private tests that a program must pass.", by_name=True
    )
    most: float = parameter(1.0, "Share that it may pass; at least one must fail.", by_name=True)
    seed: int = parameter(0, "Of the draw.", by_name=True)


def build_fix(
    dataset: Path | str | None = None,
    runs: Sequence[Path | str] = (),
    *,
    options: BuildFixOptions | None = None,
    **given: Any,
) -> BuiltFix:
    """Write one faulty program a problem, of those that the runs hold, as rows that `bench` reads.

    `runs`: folders of `refute bench DATASET --method judge:behaviour --set samples=N`.
    `options`: a `BuildFixOptions`, or its fields by name. Raises `InputError`.
    """
    told = given if dataset is None else {"dataset": str(dataset), "runs": runs, **given}
    chosen = options_with(BuildFixOptions, options, told)
    least, most = chosen.least, chosen.most
    if not 0.0 <= least <= most <= 1.0:
        raise InputError(f"pass rate from {least} to {most}: must be from 0 to 1, the least first")
    return apart(lambda: _built(chosen))


def _built(options: BuildFixOptions) -> BuiltFix:
    from refute.sandbox.local import LocalSandbox

    written = _by_problem(options.runs)
    items = [
        item for item in load(options.dataset, data=options.data) if item.problem.id in written
    ]
    if not items:
        raise InputError(f"{options.dataset}: the runs hold no program for any of its problems")
    wanted = Wanted(options.least, options.most)
    rows: list[dict[str, Any]] = []
    counts: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    with LocalSandbox() as box:
        for item in items:
            found, kinds = chosen_fault(
                item, written[item.problem.id], wanted, box, seed=options.seed
            )
            counts[0].update(kinds)
            row = None if found is None else row_of(item, found)
            if found is not None and row is not None:
                rows.append(row)
                counts[1][found.error] += 1
                counts[2][found.model] += 1
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    write_output(options.output, text)
    by_number = [dict(one.most_common()) for one in counts]
    return BuiltFix(options.output, len(rows), len(items), *by_number)


def _by_problem(runs: Sequence[Path]) -> dict[str, dict[str, list[str | None]]]:
    """The programs that runs hold, by problem and model."""

    found: dict[str, dict[str, list[str | None]]] = {}
    for run in runs:
        header, records = read_run(run, RECORDS)
        good = [record for record in records if not isinstance(record, ErrorRecord)]
        programs = written_programs(good)
        if not programs:
            raise InputError(
                f"{run}: holds no programs; make it with refute bench --method judge:behaviour"
            )
        model = str(stored_settings(header).model)
        for problem, sources in programs.items():
            found.setdefault(problem, {}).setdefault(model, []).extend(sources)
    return found


# -- data ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exported(Plain):
    """Number and place of the written problems."""

    output: Path
    rows: int
    """Problems."""

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        console.print(f"{self.rows} problems into {self.output}", markup=False)


@dataclass(frozen=True, kw_only=True)
class RowsOptions(Rows):
    """The options of `data rows`."""

    output: Path = parameter(
        MISSING, "Rows, JSON lines; with --harbor a folder of tasks.", flag="-o", writes=True
    )
    answers: Answers | None = parameter(
        None, "The function, or asserts that find its fault (program; of issues test)."
    )
    harbor: bool = parameter(False, "Write Harbor task directories.", flag="--harbor")


def write_rows(
    dataset: str | None = None, *, options: RowsOptions | None = None, **given: Any
) -> Exported:
    """Write a row for each problem of a dataset, or a Harbor task.

    The verifiers' images install refute from where this copy came from. `options`: a `RowsOptions`,
    or its fields by name. Raises `InputError`, `SandboxUnavailable`, and of issues
    `WorkspaceUnavailable`.
    """
    told = given if dataset is None else {"dataset": dataset, **given}
    chosen = options_with(RowsOptions, options, told)
    output, ids = chosen.output, chosen.chosen_ids
    if chosen.harbor:
        _say_source()
        if holds_issues(chosen.dataset):
            if chosen.answers == "program":
                raise InputError(f"{chosen.dataset}: of issues only tests are asked for")
            items = load_issues(chosen.dataset, data=chosen.data, ids=ids, limit=chosen.limit)
            return Exported(output, harbor.write_issue_tasks(items, output))
    made = rows(
        chosen.dataset,
        answers=chosen.answers or "program",
        data=chosen.data,
        ids=ids,
        limit=chosen.limit,
    )
    if chosen.harbor:
        return Exported(output, harbor.write_tasks(made, output))
    lines = [row.to_dict() for row in made]
    write_lines(output, lines)
    return Exported(output, len(lines))


def _say_source() -> None:
    source = requirement()
    if not source or source.startswith("/"):
        remark(
            [
                f"no image can install refute from {source or 'an unknown place'}: export with a"
                " refute that was installed from an address (git+https://...)"
            ]
        )


# -- preparing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared(Plain):
    """Trees and environments that the cache holds now."""

    ready: tuple[str, ...]
    """Ids of the issues whose tree and environment are there."""
    errors: Mapping[str, str]
    """By issue: why they are not."""

    @property
    def complete(self) -> bool:
        """Return whether all could be built."""
        return not self.errors

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        console.print(f"{len(self.ready)} ready, {len(self.errors)} not")


@dataclass(frozen=True, kw_only=True)
class PrepareOptions(Rows):
    """The options of `data prepare`."""

    dataset: str = parameter(MISSING, "A dataset of issues.", positional=True)


def prepare(
    dataset: Path | str | None = None, *, options: PrepareOptions | None = None, **given: Any
) -> Prepared:
    """Build trees and environments of the issues of a dataset.

    `options`: a `PrepareOptions`, or its fields by name. Raises `InputError`.
    """
    told = given if dataset is None else {"dataset": str(dataset), **given}
    chosen = options_with(PrepareOptions, options, told)
    items = load_issues(chosen.dataset, data=chosen.data, ids=chosen.chosen_ids, limit=chosen.limit)

    def build(item: IssueItem) -> Base | str:
        try:
            return prepared(item.problem, "local")
        except (Unavailable, InputError) as error:
            return " ".join(str(error).split())

    built = {item.problem.id: build(item) for item in items}
    bases = {id: one for id, one in built.items() if isinstance(one, Base)}
    errors = {id: one for id, one in built.items() if isinstance(one, str)}
    remark(f"{id}: not prepared: {reason}" for id, reason in errors.items())
    return Prepared(tuple(bases), errors)


# -- the commands ----------------------------------------------------------------------------------


@click.group("data")
def command() -> None:
    """Build benchmarks of issues and of faulty programs; show their figures."""


@command.command("build-swt", cls=MethodCommand, more=(BuildOptions,))
@offered(BuildOptions)
@json_option
def _build_swt(options: BuildOptions, as_json: bool) -> int:
    """Make a benchmark of issues and their golden tests from merged pull requests.

    Kept are pull requests that resolve an issue and touch tests of which at least one fails before
    and passes after, in every run. Resumes where a run was stopped, also with more pull requests or
    an environment that was put right. Of pull requests are read `number`, `title`, `body`,
    `merged_at`, `created_at`, `merge_commit_sha`, `base.sha`, `base.repo.full_name` and `head.sha`;
    of issues `number`, `title` and `body`. Exit status 3: some tests could not be run; call it
    again to try those.
    """
    result = build_swt(options=options)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE


@command.command("build-fix", cls=MethodCommand, more=(BuildFixOptions,))
@offered(BuildFixOptions)
@json_option
def _build_fix(options: BuildFixOptions, as_json: bool) -> int:
    """Make a benchmark of faulty programs out of what models wrote (UTGen's MBPP+Fix).

    Each RUN is one model's: refute bench DATASET --method judge:behaviour --set samples=16 --model
    SPEC. One program a problem is drawn of those that fit; --set least=0.5 --set most=0.95 is the
    paper's hard part. The rows name the model, the pass rate and the kind of error; refute bench
    reads them.
    """
    show(build_fix(options=options), as_json=as_json)
    return 0


@command.command("prepare", cls=MethodCommand)
@offered(PrepareOptions)
def _prepare(options: PrepareOptions) -> int:
    """Build the trees and environments of a dataset of issues ahead.

    DATASET: as in refute grade. They are kept in the cache of this machine (REFUTE_CACHE), where
    bench and grade find them. Exit status 3: some could not be built; the others are there.
    """
    result = prepare(options=options)
    show(result, as_json=False)
    return 0 if result.complete else UNAVAILABLE


@command.command("statistics", cls=MethodCommand, more=(StatisticsOptions,))
@offered(StatisticsOptions)
def _statistics(options: StatisticsOptions) -> int:
    """Figures about a benchmark of issues (SWT-Bench's Table 1 and Figure 2).

    ROWS: a dataset (swt-lite...) or a file of SWE-bench rows. Words are counted with punctuation,
    within about a per cent of the paper's tokenizer.
    """
    show_tables(statistics(options=options), options)
    return 0


@command.command("rows", cls=MethodCommand)
@offered(RowsOptions)
def _rows(options: RowsOptions) -> int:
    """Write the problems of a dataset as rows for training by rewards, or as Harbor tasks.

    Each row has a prompt and a task: the tests by which an answer is paid, as JSON. The adapters
    for TRL, verl, verifiers, NeMo Gym, rLLM and Inspect read them (docs/reward.md). Rows
    hold the answer key: show a model the prompt alone.

    Of Harbor's tasks the tests are in the image of the verifier, which is another than the agent's.
    DATASET may be one of issues, as in refute grade: its environments are built here first, and an
    answer is paid where its tests fail now and pass with the golden patch.
    """
    show(write_rows(options=options), as_json=False)
    return 0
