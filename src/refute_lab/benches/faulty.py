"""Benchmarks of faulty programs that models wrote: MBPP+Fix and its like (UTGen, section 4).

The paper lets six models write sixteen programs for each problem of MBPP+, keeps those that are
wrong (for the hard part: that pass 50 to 95 % of the private tests), and takes one a problem. Here
the programs come from runs of `refute bench --method judge:behaviour --set samples=16`, of whatever
models and over whatever dataset; they are graded once more, and chosen.

This is a grader: it sees answer keys, and no method.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.sandbox import Outcome, OutOfMemory, Raised, Returned, Sandbox, TimedOut
from refute.source.literals import NotLiteral, source_of
from refute.source.syntax import try_parse
from refute_lab.benches.grade import ProgramGrade, grade_program
from refute_lab.benches.oracle import expected_outputs
from refute_lab.benches.records import FunctionRecord
from refute_lab.datasets import Item


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which faulty programs are kept: of a pass rate over the private tests from `least` to `most`,
    in [0, 1], and at least one test failed."""

    least: float = 0.0
    most: float = 1.0

    def fits(self, rate: float) -> bool:
        """Whether a program that passes this share of the tests is kept."""
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
