"""`build_fix`: a benchmark of faulty programs out of what models wrote.

>>> from refute_lab.verbs.data_faults import build_fix
>>> build_fix("mbpp+", ["runs/a", "runs/b"], output="fix.jsonl", least=0.5, most=0.95).kept
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

from refute.core.parameters import options_with, parameter
from refute.core.storage import write_output
from refute.errors import InputError
from refute.sandbox import Outcome, OutOfMemory, Raised, Returned, Sandbox, TimedOut
from refute.source.literals import NotLiteral, source_of
from refute.source.syntax import try_parse
from refute.verbs.output import apart
from refute_lab.benches.grade import ProgramGrade, grade_program
from refute_lab.benches.oracle import expected_outputs
from refute_lab.benches.records import RECORDS, FunctionRecord
from refute_lab.benches.summary import stored_settings
from refute_lab.datasets import Item, load
from refute_lab.runs.journal import ErrorRecord, read_run
from refute_lab.verbs.options import Plain

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
    """What most of the failed tests see: "wrong output", "raises NAME", "time", "memory", ..."""


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
