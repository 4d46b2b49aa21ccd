"""`refute bench`: a method over a dataset, journalled problem by problem, resumable at any moment.

The method is handed the problem only; then the grader, which alone sees the answer key, grades the
prediction (`work`; docs/architecture.md, rule 1). The record of a problem (`records`) holds the
prediction and what the method did as well as the grade, so that a run can be graded again.

What counts as a generated unit test are the ones that the method derived; tests that were given or
stated in the description are not counted, although `hunt` shows them when they fail.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import statistics
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial, reduce
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Context, MethodSpec, finished
from refute.core.problems import (
    Count,
    FunctionKey,
    FunctionPrediction,
    FunctionProblem,
    Number,
    UnitTest,
)
from refute.core.processes import cores
from refute.core.registry import METHODS
from refute.errors import InputError, SandboxUnavailable
from refute.function.contract import MethodResult
from refute.function.formatting import call_source, expected_source
from refute.function.llm.options import DebugOptions, Options
from refute.function.llm.results import Attempt, EditRound, Output, Trace, Vote
from refute.models.asking import askers
from refute.models.contract import Tally
from refute.models.session import Session
from refute.sandbox import Sandbox, values
from refute.sandbox.pool import InlineSandbox, SandboxPool
from refute.source.literals import NotLiteral, source_of
from refute_lab.benches.grade import (
    Grade,
    GroundTruth,
    ProgramGrade,
    TestGrade,
    TestVerdict,
    expected_outputs,
    grade_prediction,
    grade_program,
    grade_tests,
    metrics,
    with_failing_tests,
    with_gold_outputs,
)
from refute_lab.datasets import Item, load
from refute_lab.datasets.rows import Evaluation, Subset
from refute_lab.figures import Figure, clustered, mean
from refute_lab.runs import ErrorRecord, Journal, Schema, read_run
from refute_lab.runs.executors import Concurrent, Ending, Executor, Processes, Run, versions

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
    tally: Tally | None = None


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
    """Record of what happened."""
    tally: Tally | None = None
    """Cost of asking a model."""


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
        tally=work.tally,
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
    """True: the model continued its own answer; else it was asked a question. None: of a journal
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


# -- summary ---------------------------------------------------------------------------------------
# The figures of a run, from its journal alone.


# -- settings --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Everything that a run's figures depend on; goes into the journal's header."""

    dataset: str
    method: str
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    seed: int = 0
    visible_tests: int = 0
    """Visible asserts that are shown with each problem (MBPP)."""
    failing_tests: int = 0
    """Right failing tests that are given with each problem (the experiment with perfect tests)."""
    gold_outputs: bool = False
    """The reference's outputs for the inputs that the method proposes (`bench.gold`)."""
    editor_tests: int = 0
    """Visible asserts that are shown where code is edited, and nowhere else (MBPP)."""
    evaluation: Evaluation = "evalplus"
    """Rules of grading: see `refute_lab.datasets.rows`."""
    subset: Subset = "all"
    """Subset of the rows of HumanEval+ and MBPP+: see `refute_lab.datasets.rows`."""
    preset: str | None = None
    """Preset of the values that were not given: see `refute.core.selection`."""
    prompts: str = ""
    """Digest of the templates that stand for ours; "": there are none."""
    model: str | None = None
    """Model that is asked, as `--model` names it; None: the method asks no model."""
    tester: str | None = None
    """The model that writes the unit tests, where it is another one."""
    options: Any = None
    """The method's: a dataclass as `MethodSpec.options`; in the header each under its own name.
    None: of a stored run whose method is not installed."""
    runs: int = 1
    """Every problem is worked on this often, with seeds `seed`, `seed + 1`, ..."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a number of runs that makes no sense."""
        runs: Any = self.runs
        if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
            raise InputError(f"runs = {_short(runs)}: must be from 1 to {MOST_RUNS}")

    def header(self, items: Sequence[Item]) -> dict[str, Any]:
        """The settings with what the figures depend on besides: the content and the versions."""
        settings = asdict(self)
        options = settings.pop("options")
        if self.model is None:
            for name in ("model", "tester", "runs"):
                del settings[name]
        return {
            **settings,
            **(options or {}),
            "problems": len(items),
            "content": _digest(items),
            **versions(),
        }


MOST_RUNS = 10_000


def stored_settings(header: Mapping[str, Any]) -> BenchSettings:
    """The settings that a header holds. Raises `InputError` for a number that makes no sense."""
    own = {f.name: header[f.name] for f in fields(BenchSettings) if f.name in header}
    if isinstance(own.get("ids"), list):
        own["ids"] = tuple(own["ids"])
    own["options"] = None
    if header["method"] in METHODS:
        kind = METHODS.get(header["method"]).options
        names = [f.name for f in fields(kind)]
        own["options"] = kind(**{name: header[name] for name in names if name in header})
    return BenchSettings(**own)


def load_items(settings: BenchSettings, data: Path | None) -> list[Item]:
    """The problems of the run. Raises `InputError`."""
    try:
        items = load(
            settings.dataset,
            data=data,
            visible_tests=settings.visible_tests,
            ids=settings.ids,
            limit=settings.limit,
            editor_tests=settings.editor_tests,
            evaluation=settings.evaluation,
            subset=settings.subset,
        )
    except OSError as error:
        raise InputError(f"{error.filename or data}: {error.strerror}") from None
    if not items:
        raise InputError(f"{settings.dataset}: no problem is left to run")
    return items


def _short(value: Any) -> str:
    text = str(value) if not isinstance(value, int) or value.bit_length() < 64 else "a long number"
    return text[:40]


def _digest(items: Sequence[Item]) -> str:
    """Hash the problems and keys, whatever file they were read from."""
    digest = hashlib.sha256()
    for item in items:
        problem, key = item.problem, item.key
        texts = [problem.id, problem.description, problem.signature, problem.entry_point]
        texts += [problem.code, key.reference, repr(key.atol), str(key.checker), str(key.contract)]
        texts += problem.editor_lines
        texts += [] if key.seconds is None else [repr(key.seconds)]
        tests = [(call_source(t.call, ""), expected_source(t)) for t in problem.tests]
        for part in (texts, tests, list(key.inputs), key.expected):
            digest.update(_bytes(part))
    return digest.hexdigest()[:32]


def _bytes(value: Any) -> bytes:
    if values.is_plain(value):
        return values.encode(value)
    try:
        return source_of(value).encode(errors="surrogatepass")
    except NotLiteral:
        return repr(value).encode(errors="surrogatepass")


_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Cost of the model over all problems of the run."""

    requests: int
    samples: int
    """Samples that the methods used, from the model or from the cache."""
    cached: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None: the price of the model is not known."""
    seconds: float
    """Waiting for answers, added up over requests."""
    unreadable: int
    """Answers from which no test (or no program) could be read."""
    saved: int
    """Samples of votes that were not drawn, because the winner was certain before."""
    too_long: int = 0
    """Samples that were not drawn, because their request did not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class BenchSummary:
    """The figures of a run. `figures` as in `refute_lab.benches.grade`."""

    settings: BenchSettings
    n: int
    """Problems that were graded (problems times runs, where there are several runs)."""
    figures: Mapping[str, Figure]
    abstained: int
    wrong_fixes: int
    """Problems for which a fix was proposed whose first choice fails a private test."""
    seconds: float
    """Median time of the method over the problems; NaN where there are none."""
    errors: Mapping[str, str]
    """Problems without a result, with the reason: infrastructure, never counted as wrong."""
    run: Path
    missing: int = 0
    """Problems that have no record yet: answers or the budget are wanting."""
    rounds: tuple[Figure, ...] = ()
    """Code accuracy after each round of debugging, 0 (the code under test) first."""
    by_run: tuple[Mapping[str, Figure], ...] = ()
    """The figures of each run, where there are several."""
    cost: ModelCost | None = None
    """None: no model was asked."""
    questions: int = 0
    """Votes by a question where the settings say by a continuation: the model continues none."""


def record_names(problem: str, runs: int) -> list[str]:
    """The ids of a problem's records in the journal, one for each run."""
    return [problem, *(f"{problem} run {number}" for number in range(2, runs + 1))]


def summarize(
    items: Sequence[Item], settings: BenchSettings, journal: Journal[FunctionRecord]
) -> BenchSummary:
    """The figures of a finished run, from its journal alone; in the order of the dataset."""
    names = [record_names(item.problem.id, settings.runs) for item in items]
    wanted = [row[at] for at in range(settings.runs) for row in names]
    records = [journal.records[name] for name in wanted if name in journal.records]
    return _result(settings, records, journal.directory, missing=len(wanted) - len(records))


def read_result(directory: Path) -> tuple[BenchSummary, list[FunctionRecord | ErrorRecord]]:
    """The figures and the records of a run that may still be under way, problems sorted by id.

    Raises `InputError` where there is no run of `refute bench`.
    """
    header, records = read_run(directory, RECORDS)
    if not {"dataset", "method", "problems"} <= header.keys():
        raise InputError(f"{directory}: not a run of refute bench over functions")
    settings = stored_settings(header)
    records.sort(key=lambda record: _natural(record.id))
    missing = int(header["problems"]) * settings.runs - len(records)
    return _result(settings, records, directory, missing=missing), records


def restricted(
    result: BenchSummary,
    records: Sequence[FunctionRecord | ErrorRecord],
    problems: Collection[str],
) -> tuple[BenchSummary, list[FunctionRecord | ErrorRecord]]:
    """The figures and the records of a run over some of its problems only."""
    good = [one for one in records if not isinstance(one, ErrorRecord)]
    chosen: list[FunctionRecord | ErrorRecord] = [one for one in good if one.problem in problems]
    return _result(result.settings, chosen, result.run), chosen


def _natural(identity: str) -> list[tuple[int, str]]:
    """Sorts `Mbpp/9` before `Mbpp/10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(identity)]


def _result(
    settings: BenchSettings,
    records: Sequence[FunctionRecord | ErrorRecord],
    run: Path,
    *,
    missing: int = 0,
) -> BenchSummary:
    """The figures over the records of a run."""
    good = [record for record in records if not isinstance(record, ErrorRecord)]
    graded = [read_grade(record) for record in good]
    seconds = [record.seconds for record in good]
    return BenchSummary(
        settings=settings,
        n=len(good),
        figures=_figures(good, settings),
        abstained=sum(not grade.fixed for grade in graded),
        wrong_fixes=sum(grade.fixed and not grade.passed for grade in graded),
        seconds=statistics.median(seconds) if seconds else math.nan,
        errors={one.id: one.error for one in records if isinstance(one, ErrorRecord)},
        run=run,
        missing=missing,
        rounds=_rounds(good),
        by_run=_by_run(good, settings),
        cost=_cost(good) if settings.model is not None else None,
        questions=_questions(good, settings),
    )


def _questions(records: Sequence[FunctionRecord], settings: BenchSettings) -> int:
    if getattr(settings.options, "vote_by", "") != "continuation":
        return 0
    suites = [suite for one in records if one.log is not None for suite in one.log.suites]
    votes = [one.vote for suite in suites for one in suite if one.vote is not None]
    return sum(vote.continued is False for vote in votes)


def _by_run(
    records: Sequence[FunctionRecord], settings: BenchSettings
) -> tuple[Mapping[str, Figure], ...]:
    if settings.runs == 1:
        return ()
    rows: list[list[FunctionRecord]] = [[] for _ in range(settings.runs)]
    for record in records:
        rows[record_names(record.problem, settings.runs).index(record.id)].append(record)
    return tuple(_figures(row, settings) for row in rows)


_OVER_TESTS = ("attack_rate", "output_accuracy", "accuracy_and_attack")


def _figures(good: Sequence[FunctionRecord], settings: BenchSettings) -> dict[str, Figure]:
    """The figures over records that have a result; see `refute_lab.benches.grade.metrics`.

    Where a model wrote the tests, those over the tests are over the tests as they were sampled (the
    paper's intrinsic metrics), and `kept_` before a name means the ones that passed the vote. A
    method that writes no tests for the code under test (a judge's are for other programs) has none.
    """
    figures = metrics([read_grade(record) for record in good])
    method = settings.method
    if method in METHODS and not METHODS.get(method).writes_tests:
        for name in (*_OVER_TESTS, "hit_rate", "tested"):
            del figures[name]
        return figures | _written(good)
    as_sampled = [record for record in good if record.grade.sampled is not None]
    if as_sampled:
        sampled = metrics([read_grade(record, "sampled") for record in as_sampled])
        for name in _OVER_TESTS:
            figures[f"kept_{name}"] = figures[name]
            figures[name] = sampled[name]
    return figures | _written(good)


def _written(good: Sequence[FunctionRecord]) -> dict[str, Figure]:
    """Of the programs that were written from the description alone (Table 3 of the paper): how
    many are right (`written_accuracy`, pass@1 of the model), and for how many problems one is
    (`oracle_accuracy`, pass@N)."""
    rows: dict[str, list[bool]] = {}
    for record in good:
        programs = record.grade.written
        if programs:
            rows.setdefault(record.problem, []).extend(p != "" and "0" not in p for p in programs)
    if not rows:
        return {}
    groups = [(float(sum(row)), len(row)) for row in rows.values()]
    return {
        "written_accuracy": clustered(groups),
        "oracle_accuracy": mean(float(any(row)) for row in rows.values()),
    }


def _rounds(records: Sequence[FunctionRecord]) -> tuple[Figure, ...]:
    """Code accuracy after each round; a problem that ended early keeps its last program."""
    passed = []
    for record in records:
        if record.grade.rounds:
            passed.append([program.passed for program in grades(record.grade.rounds)])
    longest = max(map(len, passed), default=0)
    return tuple(mean(float(row[min(at, len(row) - 1)]) for row in passed) for at in range(longest))


def _cost(records: Sequence[FunctionRecord]) -> ModelCost:
    spent = reduce(Tally.plus, (record.tally or Tally(usd=None) for record in records), Tally())
    logs = [record.log for record in records if record.log is not None]
    return ModelCost(
        requests=spent.requests,
        samples=spent.samples + spent.cached,
        cached=spent.cached,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        usd=spent.usd,
        seconds=spent.seconds,
        unreadable=sum(sum(log.unreadable.values()) for log in logs),
        saved=sum(log.votes_saved for log in logs),
        too_long=sum(log.too_long for log in logs),
    )


# -- work ------------------------------------------------------------------------------------------
# Work on one problem: first the method, which sees the problem only, then the grader.


Models = Callable[[], AbstractAsyncContextManager[Mapping[str, Session]]]
"""Opens the models, by the names that `Context` has for them."""


@dataclass(frozen=True, slots=True)
class BenchUnit:
    """A problem in one of the runs over the dataset."""

    name: str
    item: Item
    seed: int


def units_of(items: Sequence[Item], settings: BenchSettings) -> dict[str, BenchUnit]:
    """The units of a run, by the ids of their records: a run of all problems, then the second."""
    rows = [
        (run, BenchUnit(name, item, settings.seed + run))
        for item in items
        for run, name in enumerate(record_names(item.problem.id, settings.runs))
    ]
    return {unit.name: unit for _, unit in sorted(rows, key=lambda row: row[0])}


def work_on(
    run: Run[FunctionRecord],
    items: Sequence[Item],
    settings: BenchSettings,
    *,
    models: Models | None = None,
    at_once: int = 64,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Ending:
    """Work on the problems that have no result; `progress` receives how many have one.

    `models`: for a method that asks one, `at_once` problems at a time. `executor`: does them
    elsewhere (None: in `jobs` processes, those of a method that asks in one loop with `jobs`
    sandboxes); of which kind the work is, `MethodSpec.cpu_bound` says. Raises as `Run.do` does.
    """
    start: Callable[[], object] = partial(start_computing, settings)
    if not METHODS.get(settings.method).cpu_bound or METHODS.only_here(settings.method):
        opened = models or (lambda: nullcontext({}))
        start = partial(start_asking, settings, opened, jobs)
        executor = Concurrent(at_once)
    return run.do(
        units_of(items, settings),
        start,
        executor or Processes(jobs),
        progress=progress,
        unavailable=SandboxUnavailable,
    )


# -- methods that compute, in a worker process -----------------------------------------------------


def start_computing(settings: BenchSettings) -> Callable[[tuple[str, BenchUnit]], FunctionRecord]:
    """Return the function that a worker process runs; see `Processes`."""
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    return partial(_computed, settings, box)


def _computed(
    settings: BenchSettings, box: Sandbox, named: tuple[str, BenchUnit]
) -> FunctionRecord:
    _, unit = named
    problem, key = unit.item.problem, unit.item.key
    truth = expected_outputs(key, box)
    if settings.failing_tests:
        problem = with_failing_tests(problem, key, box, settings.failing_tests, truth=truth)
    start = time.monotonic()
    ctx = Context(sandbox=InlineSandbox(box), seed=unit.seed)
    spec = METHODS.get(settings.method)
    result: MethodResult = finished(spec(problem, ctx=ctx, options=settings.options))
    work = work_of(result, problem, time.monotonic() - start)
    return graded_record(work, problem, key, box, truth, name=unit.name)


# -- methods that wait for a model -----------------------------------------------------------------


@asynccontextmanager
async def start_asking(
    settings: BenchSettings, models: Models, jobs: int | None
) -> AsyncIterator[
    Callable[[tuple[str, BenchUnit], Callable[[], None]], Awaitable[FunctionRecord]]
]:
    """Work on units in the event loop; see `Concurrent`."""
    size = jobs or cores()
    with SandboxPool(size) as box, SandboxPool(size) as graders:
        async with models() as opened:

            async def do(named: tuple[str, BenchUnit], leave: Callable[[], None]) -> FunctionRecord:
                _, unit = named
                problem = unit.item.problem
                if settings.failing_tests:
                    key, count = unit.item.key, settings.failing_tests
                    problem = await graders.do(
                        lambda grader: with_failing_tests(problem, key, grader, count)
                    )
                method, options, before = settings.method, settings.options, None
                if settings.gold_outputs:
                    inputs = replace(options, m=0, vote=False)
                    found, before = await _solved(unit, problem, method, inputs, box, opened)
                    suites = found.trace.suites if found.trace else ()
                    proposed = [one for suite in suites[:1] for one in suite.attempts]
                    fresh = (one.call for one in proposed if one.status != "duplicate")
                    calls = [call for call in fresh if call is not None][: options.n]
                    given = partial(with_gold_outputs, problem, unit.item.key, calls)
                    problem = await graders.do(given)
                    kept = {one.name: getattr(options, one.name) for one in fields(DebugOptions)}
                    method, options = "given", DebugOptions(**kept)
                start = time.monotonic()
                found, tally = await _solved(unit, problem, method, options, box, opened)
                seconds = time.monotonic() - start
                both = [one for one in (before, tally) if one is not None]
                work = work_of(found, problem, seconds, reduce(Tally.plus, both) if both else None)
                if settings.gold_outputs:
                    shown = replace(work.prediction, tests=problem.tests)
                    work = replace(work, prediction=shown, sampled=None)
                leave()  # the model does not wait for the grader
                return await graders.do(partial(_graded, work, problem, unit))

            yield do


async def _solved(
    unit: BenchUnit,
    problem: FunctionProblem,
    method: str,
    options: Any,
    box: SandboxPool,
    models: Mapping[str, Session],
) -> tuple[MethodResult, Tally | None]:
    """Return the method's result and the cost of its models."""
    asking = askers(models, unit.name)
    ctx = Context(sandbox=box, seed=unit.seed, **asking)
    found: MethodResult = await METHODS.get(method)(problem, ctx=ctx, options=options)
    tallies = [ask.tally for ask in asking.values()]
    return found, reduce(Tally.plus, tallies) if tallies else None


def _graded(work: Work, problem: FunctionProblem, unit: BenchUnit, box: Sandbox) -> FunctionRecord:
    truth = expected_outputs(unit.item.key, box)
    return graded_record(work, problem, unit.item.key, box, truth, name=unit.name)


def check_gold(spec: MethodSpec[Any, Any]) -> None:
    """Raises `InputError` for a method that proposes no inputs by the paper's algorithms."""
    if not (spec.writes_tests and spec.options is Options):
        raise InputError(f"gold_outputs is for random, prompted and utgen, not for {spec.name}")


# -- benches ---------------------------------------------------------------------------------------
