"""The journal record of one problem: what the method did, and the grade; and both read back."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from refute.core.problems import FunctionKey, FunctionPrediction, FunctionProblem, UnitTest
from refute.function.contract import MethodResult
from refute.function.formatting import call_source, expected_source
from refute.function.llm.results import Attempt, EditRound, Output, Trace, Vote
from refute.models.contract import Tally
from refute.sandbox import Sandbox, values
from refute.source.literals import NotLiteral, source_of
from refute_lab.benches.grade import (
    Grade,
    ProgramGrade,
    TestGrade,
    TestVerdict,
    grade_prediction,
    grade_program,
    grade_tests,
)
from refute_lab.benches.oracle import GroundTruth
from refute_lab.runs.journal import Count, Number, Schema, StoredTally

Marks = tuple[bool, bool, bool]
"""Of a test: valid, attacks, accurate."""


@dataclass(frozen=True, slots=True)
class StoredTest:
    """A generated test as text for people, and as data for grading again."""

    call: str
    expected: str
    confidence: Number = 1.0
    source: str = ""
    expected_data: str | None = None
    """Base64 of the encoded value, where it is not a literal."""


@dataclass(frozen=True, slots=True)
class StoredGrade:
    """The grade of a prediction. Programs are a `0` or `1` for each private test."""

    tests: tuple[Marks, ...]
    programs: tuple[str, ...]
    """Of the candidates; of the code under test, where there is none."""
    fixed: bool
    sampled: tuple[Marks, ...] | None = None
    """Of the tests as a model wrote them, before any vote."""
    rounds: tuple[str, ...] | None = None
    """Of the program after each round of debugging."""
    written: tuple[str, ...] | None = None
    """Of the programs that were written from the description alone, "" where one is unreadable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRecord:
    """A method's work on one problem, and its grade."""

    id: str
    """The problem's, and which run over the dataset it was, where there are several."""
    problem: str
    status: Literal["fixed", "abstained", "passes"]
    seconds: Number
    """Of the method."""
    tried: Count = 0
    """Candidate programs executed."""
    grade: StoredGrade
    function: str = ""
    code: str
    """The module under test."""
    candidates: tuple[str, ...]
    edits: tuple[tuple[str, ...], ...]
    """One line for people per edit of each candidate."""
    tests: tuple[StoredTest, ...]
    notes: tuple[str, ...]
    log: StoredLog | None = None
    """None: no model was asked."""
    tally: StoredTally | None = None


def _flaw(record: FunctionRecord) -> str:
    grade = record.grade
    if not grade.programs or len(grade.tests) != len(record.tests):
        return "grade is of other programs or tests"
    return ""


RECORDS = Schema("function", FunctionRecord, flaw=_flaw)


@dataclass(frozen=True, slots=True)
class Work:
    """A method's work on one problem before grading."""

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
    written: tuple[str | None, ...] | None = None
    """Programs that were written from the description alone; None among them: not readable."""
    log: StoredLog | None = None
    """What happened."""
    tally: Tally | None = None
    """What asking a model has cost."""


def work_of(
    result: MethodResult, problem: FunctionProblem, seconds: float, tally: Tally | None = None
) -> Work:
    """Make the work of a method's result. `tally`: the cost of its model."""
    candidates = tuple(candidate.code for candidate in result.candidates)
    if not candidates and result.trace is not None and result.trace.alone:
        candidates = ("",)  # no program; the code under test is none of its answers
    prediction = FunctionPrediction(
        problem=problem.id,
        status="fixed" if candidates else "abstained" if result.failing else "passes",
        candidates=candidates,
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
        written=result.trace.programs,
        log=stored_log(result.trace, problem.entry_point),
    )


def graded_record(
    work: Work,
    problem: FunctionProblem,
    key: FunctionKey,
    box: Sandbox,
    truth: GroundTruth,
    *,
    name: str,
) -> FunctionRecord:
    """Grade the work and write it down under `name`. Raises `SandboxUnavailable`."""
    prediction = work.prediction
    grade = grade_prediction(prediction, problem, key, box, truth=truth)
    graded = dict(zip(prediction.candidates or (problem.code,), grade.programs, strict=False))
    for source in (*work.rounds, *(work.written or ())):
        if source is not None and source not in graded:
            graded[source] = grade_program(source, key, box, truth=truth)
    sampled = None
    if work.sampled is not None:
        readable = [test for test in work.sampled if test is not None]
        verdicts = iter(grade_tests(readable, problem, key, box).verdicts)
        sampled = _marks(NEITHER if test is None else next(verdicts) for test in work.sampled)
    return FunctionRecord(
        id=name,
        problem=problem.id,
        status=prediction.status,
        seconds=round(work.seconds, 3),
        tried=work.tried,
        grade=StoredGrade(
            tests=_marks(grade.tests.verdicts),
            programs=tuple(map(_bits, grade.programs)),
            fixed=grade.fixed,
            sampled=sampled,
            rounds=tuple(_bits(graded[source]) for source in work.rounds) or None,
            written=None
            if work.written is None
            else tuple("" if one is None else _bits(graded[one]) for one in work.written),
        ),
        function=problem.entry_point,
        code=problem.code,
        candidates=prediction.candidates,
        edits=work.edits,
        tests=tuple(_stored_test(test, problem.entry_point) for test in prediction.tests),
        notes=work.notes,
        log=work.log,
        tally=None if work.tally is None else StoredTally.of(work.tally),
    )


NEITHER = TestVerdict(valid=False, attacks=False, accurate=False)


def read_grade(record: FunctionRecord, tests: Literal["tests", "sampled"] = "tests") -> Grade:
    """The grade that a record holds; with the tests that were kept, or as they were sampled."""
    stored = record.grade
    marks = stored.tests if tests == "tests" else stored.sampled or ()
    return Grade(
        problem=record.problem,
        tests=TestGrade(tuple(TestVerdict(*row) for row in marks)),
        programs=tuple(grades(stored.programs)),
        fixed=stored.fixed,
    )


def grades(programs: Sequence[str]) -> list[ProgramGrade]:
    """The grades of programs that a record holds as `0` and `1` per private test."""
    rows = [tuple(mark == "1" for mark in marks) for marks in programs]
    return [ProgramGrade(all(verdicts), verdicts, ()) for verdicts in rows]


def _bits(program: ProgramGrade) -> str:
    return "".join("01"[verdict] for verdict in program.verdicts)


def _marks(verdicts: Iterable[TestVerdict]) -> tuple[Marks, ...]:
    return tuple((one.valid, one.attacks, one.accurate) for one in verdicts)


def _stored_test(test: UnitTest, function: str) -> StoredTest:
    data = None
    try:
        source_of(test.expected)
    except NotLiteral:
        data = base64.b64encode(values.encode(test.expected)).decode()
    return StoredTest(
        call=call_source(test.call, function),
        expected=expected_source(test),
        confidence=round(test.confidence, 4),
        source=test.source,
        expected_data=data,
    )


# -- log -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A vote on the output of one input; outputs are text."""

    k: Count
    asked: Count
    counts: tuple[tuple[str, Count], ...]
    unreadable: Mapping[str, Count]
    """Samples that were votes for nothing, by kind."""
    winner: str | None = None
    continued: bool | None = None
    """Whether the model continued its own answer; else it was asked a question. None: of a journal
    that does not say."""


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One answer of the generator; calls and outputs are text, None: there is none."""

    number: Count
    status: str
    answer: str = ""
    call: str | None = None
    stated: str | None = None
    unreadable: str | None = None
    vote: StoredVote | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEdit:
    """One round of debugging; calls and outputs are text, None: there is none."""

    round: Count
    accepted: bool
    reason: str
    answer: str = ""
    code: str | None = None
    before: Count = 0
    after: Count = 0
    total: Count = 0
    call: str | None = None
    expected: str | None = None
    feedback: str = ""
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class StoredLog:
    """Events of a method's work, from the first test's input to the last edit."""

    suites: tuple[tuple[StoredAttempt, ...], ...] = ()
    edits: tuple[StoredEdit, ...] = ()
    codes: tuple[str, ...] = ()
    """The module after each round, the first before any."""
    unreadable: Mapping[str, Count] = field(default_factory=dict)
    """Unreadable answers, by kind."""
    too_long: Count = 0
    votes_saved: Count = 0


def stored_log(trace: Trace, function: str) -> StoredLog:
    """Return the events; calls are shown with the name `function`."""
    return StoredLog(
        suites=tuple(tuple(_attempt(one, function) for one in s.attempts) for s in trace.suites),
        edits=tuple(_edit(edit, function) for edit in trace.edits),
        codes=trace.codes,
        unreadable=dict(sorted(trace.unreadable.items())),
        too_long=trace.too_long,
        votes_saved=trace.saved,
    )


def _attempt(attempt: Attempt, function: str) -> StoredAttempt:
    return StoredAttempt(
        number=attempt.number,
        status=attempt.status,
        answer=attempt.answer,
        call=None if attempt.call is None else call_source(attempt.call, function),
        stated=None if attempt.stated is None else str(attempt.stated),
        unreadable=None if attempt.unreadable is None else attempt.unreadable.value,
        vote=None if attempt.vote is None else _vote(attempt.vote),
        expected=_expected(attempt.test),
    )


def _vote(vote: Vote) -> StoredVote:
    return StoredVote(
        k=vote.k,
        asked=vote.asked,
        counts=tuple((str(output), count) for output, count in vote.counts),
        unreadable={kind.value: count for kind, count in vote.unreadable},
        winner=None if vote.winner is None else str(vote.winner),
        continued=vote.continued,
    )


def _edit(edit: EditRound, function: str) -> StoredEdit:
    return StoredEdit(
        round=edit.round,
        accepted=edit.accepted,
        reason=edit.reason,
        answer=edit.answer,
        code=edit.code,
        before=edit.before,
        after=edit.after,
        total=edit.total,
        call=None if edit.test is None else call_source(edit.test.call, function),
        expected=_expected(edit.test),
        feedback=edit.feedback,
        unreadable=None if edit.unreadable is None else edit.unreadable.value,
    )


def _expected(test: UnitTest | None) -> str | None:
    return None if test is None else str(Output(test.expected, test.raises))
