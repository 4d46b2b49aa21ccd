"""`refute bench`: a method over a data set, in worker processes, journalled problem by problem.

A worker hands the method the problem only; then the grader, which alone sees the answer key, grades
the prediction (DESIGN, rule 1). The record of a problem holds the prediction as well as the grade,
so that a run can be graded again.

What counts as a generated unit test are the ones that the method derived; tests that were given or
stated in the description are not counted, although `hunt` shows them when they fail.
"""

from __future__ import annotations

import base64
import hashlib
import math
import platform
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from refute.datasets import DatasetError, Item, load
from refute.errors import InputError
from refute.function.contract import MethodResult
from refute.function.grade import (
    Grade,
    ProgramGrade,
    TestGrade,
    TestVerdict,
    grade_prediction,
    with_failing_tests,
)
from refute.function.metrics import Figure, metrics
from refute.function.show import call_source, expected_source
from refute.function.truth import GroundTruth, expected_outputs
from refute.literals import NotLiteral, source_of
from refute.problems import FunctionPrediction, FunctionProblem, Trust, UnitTest
from refute.runs import Failed, Journal, run_tasks
from refute.sandbox import Sandbox, SandboxUnavailable, values

__all__ = [
    "METHODS",
    "Result",
    "Settings",
    "load_items",
    "predict",
    "resumed",
    "run_bench",
    "summarize",
]

METHODS = ("none", "search")
"""`none` leaves the code as it is: it grades the data set's own programs."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run's figures depend on; goes into the journal's header."""

    dataset: str
    method: str
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    budget: float = 10.0
    """Seconds a problem."""
    seed: int = 0
    visible_tests: int = 0
    """Visible asserts that are shown with each problem (MBPP)."""
    failing_tests: int = 0
    """Right failing tests that are given with each problem (the experiment with perfect tests)."""
    max_candidates: int | None = None
    """Candidates a problem; makes a run independent of the machine's speed."""

    def header(self, items: Sequence[Item]) -> dict[str, Any]:
        """The settings with what the figures depend on besides: the content and the versions."""
        try:
            release = version("refute")
        except PackageNotFoundError:
            release = "unknown"
        return {
            **asdict(self),
            "problems": len(items),
            "content": _digest(items),
            "refute": release,
            "python": ".".join(platform.python_version_tuple()[:2]),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of a run. `figures` as in `refute.function.metrics`."""

    settings: Settings
    n: int
    """Problems that were graded."""
    figures: Mapping[str, Figure]
    abstained: int
    wrong_fixes: int
    """Problems for which a fix was proposed whose first choice fails a private test."""
    seconds: float
    """Median time of the method over the problems; NaN where there are none."""
    errors: Mapping[str, str]
    """Problems without a result, with the reason: infrastructure, never counted as wrong."""
    run: Path


def resumed(settings: Settings, header: Mapping[str, Any], given: Collection[str]) -> Settings:
    """The settings that a run was started with, replaced by those that the user gave again.

    Where the two differ the journal refuses to go on.
    """
    names = [field.name for field in fields(Settings)]
    stored = {name: header[name] for name in names if name in header and name not in given}
    if isinstance(stored.get("ids"), list):
        stored["ids"] = tuple(stored["ids"])
    return replace(settings, **stored)


def load_items(settings: Settings, data: Path | None) -> list[Item]:
    """The problems of the run. Raises `InputError`."""
    try:
        items = load(
            settings.dataset,
            data=data,
            visible_tests=settings.visible_tests,
            ids=settings.ids,
            limit=settings.limit,
        )
    except DatasetError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(f"{error.filename or data}: {error.strerror}") from None
    if not items:
        raise InputError(f"{settings.dataset}: no problem is left to run")
    return items


def run_bench(
    items: Sequence[Item], settings: Settings, journal: Journal, *, jobs: int
) -> Iterator[int]:
    """Work on the problems that have no result in the journal; yield how many have one.

    Raises `SandboxUnavailable` when no worker can work at all.
    """
    done = {id for id, record in journal.records.items() if record.get("status") != "error"}
    wanted = [item for item in items if item.problem.id not in done]
    finished = len(items) - len(wanted)
    yield finished
    results = run_tasks(wanted, start=partial(_start, settings), jobs=jobs)
    with closing(results):
        for item, record in results:
            if isinstance(record, Failed):
                if record.fatal:
                    raise SandboxUnavailable(record.reason)
                record = {"id": item.problem.id, "status": "error", "error": record.reason}
            journal.append(record)
            finished += 1
            yield finished


def summarize(items: Sequence[Item], settings: Settings, journal: Journal) -> Result:
    """The figures of a finished run, from its journal alone; in the order of the data set."""
    records = [journal.records[i.problem.id] for i in items if i.problem.id in journal.records]
    good = [record for record in records if record["status"] != "error"]
    grades = [_read_grade(record) for record in good]
    seconds = [float(record["seconds"]) for record in good]
    return Result(
        settings=settings,
        n=len(good),
        figures=metrics(grades),
        abstained=sum(not grade.fixed for grade in grades),
        wrong_fixes=sum(grade.fixed and not grade.passed for grade in grades),
        seconds=statistics.median(seconds) if seconds else math.nan,
        errors={r["id"]: str(r.get("error")) for r in records if r["status"] == "error"},
        run=journal.directory,
    )


# -- in a worker -----------------------------------------------------------------------------------


def _start(settings: Settings) -> Callable[[Item], Record]:
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    return partial(_work, settings, box)


def _work(settings: Settings, box: Sandbox, item: Item) -> Record:
    truth = expected_outputs(item.key, box)
    problem = item.problem
    if settings.failing_tests:
        count = settings.failing_tests
        problem = with_failing_tests(problem, item.key, box, count, truth=truth)
    start = time.monotonic()
    result = predict(problem, settings, box)
    seconds = time.monotonic() - start
    return _graded(result, problem, item, truth, box, seconds)


def predict(problem: FunctionProblem, settings: Settings, box: Sandbox) -> MethodResult:
    """What the method says about a problem; it sees nothing else."""
    if settings.method == "none":
        return MethodResult(given=problem.tests, failing=())
    from refute.function.search import search

    return search(
        problem,
        box=box,
        budget=settings.budget,
        seed=settings.seed,
        max_candidates=settings.max_candidates,
    )


def _graded(
    result: MethodResult,
    problem: FunctionProblem,
    item: Item,
    truth: GroundTruth,
    box: Sandbox,
    seconds: float,
) -> Record:
    tests = [f.test for f in result.failing if f.test.trust is Trust.PREDICTED]
    prediction = FunctionPrediction(
        problem=problem.id,
        status="fixed" if result.candidates else "abstained" if result.failing else "passes",
        candidates=tuple(candidate.code for candidate in result.candidates),
        tests=tuple(tests),
    )
    grade = grade_prediction(prediction, problem, item.key, box, truth=truth)
    return {
        "id": problem.id,
        "status": prediction.status,
        "seconds": round(seconds, 3),
        "tried": result.tried,
        "grade": {
            "tests": [[v.valid, v.attacks, v.accurate] for v in grade.tests.verdicts],
            "programs": ["".join("01"[v] for v in p.verdicts) for p in grade.programs],
            "fixed": grade.fixed,
        },
        "candidates": list(prediction.candidates),
        "edits": [list(candidate.edits) for candidate in result.candidates],
        "tests": [_test_record(test, problem.entry_point) for test in tests],
        "notes": list(result.notes),
    }


# -- records ---------------------------------------------------------------------------------------


def _read_grade(record: Record) -> Grade:
    stored = record["grade"]
    programs = [tuple(mark == "1" for mark in marks) for marks in stored["programs"]]
    return Grade(
        problem=record["id"],
        tests=TestGrade(tuple(TestVerdict(*row) for row in stored["tests"])),
        programs=tuple(ProgramGrade(all(verdicts), verdicts, ()) for verdicts in programs),
        fixed=stored["fixed"],
    )


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


def _digest(items: Sequence[Item]) -> str:
    """What the problems and keys are, independent of where they were read from."""
    digest = hashlib.sha256()
    for item in items:
        problem, key = item.problem, item.key
        texts = [problem.id, problem.description, problem.signature, problem.entry_point]
        texts += [problem.code, key.reference, repr(key.atol), str(key.checker), str(key.contract)]
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
