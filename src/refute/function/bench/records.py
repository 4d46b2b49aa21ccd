"""The journal record of one problem: what the method did, and the grade; and both read back."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from refute.function.contract import MethodResult
from refute.function.formatting import call_source, expected_source
from refute.function.grade import (
    Grade,
    ProgramGrade,
    TestGrade,
    TestVerdict,
    grade_prediction,
    grade_program,
    grade_tests,
)
from refute.function.llm.results import as_json
from refute.function.oracle import GroundTruth
from refute.literals import NotLiteral, source_of
from refute.models.contract import Tally
from refute.problems import FunctionKey, FunctionPrediction, FunctionProblem, UnitTest
from refute.runs.shapes import COUNT, FLAG, NUMBER, OBJECT, TALLY, maybe, misfit, optional
from refute.sandbox import Sandbox, values

__all__ = [
    "Record",
    "Work",
    "damage",
    "graded_record",
    "grades",
    "read_grade",
    "work_of",
]

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What a method did with one problem, before anything is graded."""

    prediction: FunctionPrediction
    seconds: float
    tried: int = 0
    """Candidate programs executed."""
    edits: tuple[tuple[str, ...], ...] = ()
    """One line for people per edit of each candidate."""
    notes: tuple[str, ...] = ()
    sampled: tuple[UnitTest | None, ...] | None = None
    """The tests as a model wrote them, before any vote; None among them: not readable."""
    rounds: tuple[str, ...] = ()
    """The program after each round of debugging; the first is the code under test."""
    log: Mapping[str, Any] = field(default_factory=dict)
    """What happened, as JSON: see `refute.function.llm.results.as_json`."""
    tally: Tally | None = None
    """What asking a model has cost."""


def work_of(
    result: MethodResult, problem: FunctionProblem, seconds: float, tally: Tally | None = None
) -> Work:
    """What a method did, from its result; `tally`: what asking a model has cost."""
    prediction = FunctionPrediction(
        problem=problem.id,
        status="fixed" if result.candidates else "abstained" if result.failing else "passes",
        candidates=tuple(candidate.code for candidate in result.candidates),
        tests=result.derived,
    )
    edits = tuple(candidate.edits for candidate in result.candidates)
    work = Work(prediction, seconds, result.tried, edits, result.notes, tally=tally)
    if result.trace is None:
        return work
    return replace(
        work,
        sampled=result.trace.sampled,
        rounds=result.trace.codes,
        log=as_json(result.trace, problem.entry_point),
    )


def graded_record(
    work: Work,
    problem: FunctionProblem,
    key: FunctionKey,
    box: Sandbox,
    truth: GroundTruth,
    *,
    name: str,
) -> Record:
    """Grade the work and write it down under `name`. Raises `SandboxUnavailable`."""
    prediction = work.prediction
    grade = grade_prediction(prediction, problem, key, box, truth=truth)
    graded = dict(zip(prediction.candidates or (problem.code,), grade.programs, strict=False))
    for source in work.rounds:
        if source not in graded:
            graded[source] = grade_program(source, key, box, truth=truth)
    record: Record = {
        "id": name,
        "problem": problem.id,
        "status": prediction.status,
        "seconds": round(work.seconds, 3),
        "tried": work.tried,
        "grade": {
            "tests": [[v.valid, v.attacks, v.accurate] for v in grade.tests.verdicts],
            "programs": [_marks(program) for program in grade.programs],
            "fixed": grade.fixed,
        },
        "function": problem.entry_point,
        "code": problem.code,
        "candidates": list(prediction.candidates),
        "edits": [list(lines) for lines in work.edits],
        "tests": [_test_record(test, problem.entry_point) for test in prediction.tests],
        "notes": list(work.notes),
    }
    if work.sampled is not None:
        readable = [test for test in work.sampled if test is not None]
        verdicts = iter(grade_tests(readable, problem, key, box).verdicts)
        sampled = [NEITHER if test is None else next(verdicts) for test in work.sampled]
        record["grade"]["sampled"] = [[v.valid, v.attacks, v.accurate] for v in sampled]
    if work.rounds:
        record["grade"]["rounds"] = [_marks(graded[source]) for source in work.rounds]
    if work.log:
        record["log"] = dict(work.log)
    if work.tally is not None:
        record["tally"] = asdict(work.tally)
    return record


NEITHER = TestVerdict(valid=False, attacks=False, accurate=False)


_VERDICTS = [[FLAG, FLAG, FLAG]]
_ATTEMPT = {
    "number": COUNT,
    "status": str,
    "call": maybe(str),
    "stated": maybe(str),
    "unreadable": maybe(str),
    "vote": optional(
        {
            "k": COUNT,
            "asked": COUNT,
            "counts": [[str, COUNT]],
            "unreadable": OBJECT,
            "winner": optional(str),
        }
    ),
}
_EDIT = {
    "round": COUNT,
    "accepted": FLAG,
    "reason": str,
    "code": optional(str),
    "call": optional(str),
    "feedback": maybe(str),
    "expected": maybe(str),
}
_SHAPE = {
    "problem": str,
    "status": frozenset({"fixed", "abstained", "passes"}),
    "seconds": NUMBER,
    "grade": {
        "tests": _VERDICTS,
        "programs": [str],
        "fixed": FLAG,
        "sampled": maybe(_VERDICTS),
        "rounds": maybe([str]),
    },
    "code": str,
    "candidates": [str],
    "edits": [[str]],
    "tests": [{"call": str, "expected": str}],
    "notes": [str],
    "log": maybe(
        {
            "suites": [[_ATTEMPT]],
            "edits": [_EDIT],
            "unreadable": OBJECT,
            "too_long": maybe(COUNT),
            "votes_saved": COUNT,
        }
    ),
    "tally": maybe({name: optional(NUMBER) for name in (*TALLY, "requests", "seconds")}),
}


def damage(record: Record) -> str:
    """What is wrong with a record that has a result, for `Journal`; "" where nothing is."""
    if bad := misfit(record, _SHAPE):
        return bad
    grade, log = record["grade"], record.get("log", {})
    if not grade["programs"] or len(grade["tests"]) != len(record["tests"]):
        return "grade is of other programs or tests"
    votes = [a["vote"] for suite in log.get("suites", ()) for a in suite if a.get("vote")]
    counted = [log.get("unreadable", {}), *(vote["unreadable"] for vote in votes)]
    return next((bad for one in counted if (bad := misfit([*one.values()], [COUNT]))), "")


def read_grade(record: Record, tests: Literal["tests", "sampled"] = "tests") -> Grade:
    """The grade that a record holds; with the tests that were kept, or as they were sampled."""
    stored = record["grade"]
    return Grade(
        problem=str(record.get("problem", record["id"])),
        tests=TestGrade(tuple(TestVerdict(*row) for row in stored[tests])),
        programs=tuple(map(_program, stored["programs"])),
        fixed=stored["fixed"],
    )


def grades(marks: Sequence[str]) -> list[ProgramGrade]:
    """The grades of programs that a record holds as `0` and `1` per private test."""
    return list(map(_program, marks))


def _marks(program: ProgramGrade) -> str:
    return "".join("01"[verdict] for verdict in program.verdicts)


def _program(marks: str) -> ProgramGrade:
    verdicts = tuple(mark == "1" for mark in marks)
    return ProgramGrade(all(verdicts), verdicts, ())


def _test_record(test: UnitTest, function: str) -> Record:
    """A generated test as text for people, and as data for grading again."""
    record: Record = {
        "call": call_source(test.call, function),
        "expected": expected_source(test),
        "confidence": round(test.confidence, 4),
        "source": test.source,
    }
    try:
        source_of(test.expected)
    except NotLiteral:
        record["expected_data"] = base64.b64encode(values.encode(test.expected)).decode()
    return record
