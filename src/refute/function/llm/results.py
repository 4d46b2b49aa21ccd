"""Record of a method's work on one problem, and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from refute.core.combinators import Ballot
from refute.core.problems import FunctionProblem, Invocation, Trust, UnitTest
from refute.function.contract import Candidate, FailingTest, MethodResult
from refute.function.formatting import value_source
from refute.function.search.engine import trusted_tests
from refute.sandbox import Limits, Outcome, Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import AsyncSandbox

if TYPE_CHECKING:
    from refute.function.llm.options import SamplingOptions


_LIMITS = Limits(cpu=1.0, memory=512 << 20)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """Results of a version of the code on a suite."""

    tests: tuple[UnitTest, ...]
    outcomes: tuple[Outcome, ...]
    verdicts: tuple[bool, ...]
    """True for each test that it passes."""

    @property
    def passed(self) -> int:
        """Return how many tests it passes; the pass rate is this over the size of the suite."""
        return sum(self.verdicts)

    @property
    def failing(self) -> tuple[FailingTest, ...]:
        """The tests that it fails, in the order of the suite."""
        rows = zip(self.tests, self.outcomes, self.verdicts, strict=True)
        return tuple(FailingTest(test, outcome) for test, outcome, passed in rows if not passed)

    def breaks(self, before: SuiteRun) -> list[UnitTest]:
        """The tests that were passed in `before`, a trial on the same tests, and no longer are."""
        rows = zip(self.tests, before.verdicts, self.verdicts, strict=True)
        return [test for test, was, still in rows if was and not still]

    def restricted(self, tests: Sequence[UnitTest]) -> SuiteRun:
        """The trial on some of its tests (the same objects), in their order."""
        places = {id(test): place for place, test in enumerate(self.tests)}
        rows = [places[id(test)] for test in tests]
        return SuiteRun(
            tuple(tests),
            tuple(self.outcomes[row] for row in rows),
            tuple(self.verdicts[row] for row in rows),
        )


async def try_code(
    code: str, entry_point: str, tests: Sequence[UnitTest], box: AsyncSandbox
) -> SuiteRun:
    """Run `code` on `tests`, one second of CPU time each. Raises `SandboxUnavailable`."""
    program = Program(code, entry_point)
    outcomes = await box.run(program, [t.call for t in tests], _LIMITS) if tests else []
    verdicts = [matches(o, expect_test(t)) for t, o in zip(tests, outcomes, strict=True)]
    return SuiteRun(tuple(tests), tuple(outcomes), tuple(verdicts))


def certain_tests(problem: FunctionProblem) -> tuple[UnitTest, ...]:
    """The tests that need no vote: given ones, and those that the description states formally."""
    trusted, _ = trusted_tests(problem)
    given = set(map(id, problem.tests))
    stated = (test for test in trusted if test.trust is Trust.STATED)
    return tuple(
        test for test in stated if id(test) in given or not _unfinished(test, problem.description)
    )


def _unfinished(test: UnitTest, description: str) -> bool:
    """A doctest ``>>> f(1) == 2`` that does not say ``True``: as it stands it expects no output.

    Some descriptions of HumanEval hold such lines, and not all of them are right (number 116).
    """
    if test.span is None:
        return False
    number = description.count("\n", 0, test.span[0])
    line, after, *_ = [*description.split("\n")[number : number + 2], "", ""]
    return line.lstrip().startswith(">>>") and "==" in line and after.strip() != "True"


class Unreadable(StrEnum):
    """Reason why an answer, or a part of it, could not be used. Counted, never dropped."""

    EMPTY = "empty"
    """No text, or the answer ended in the middle of its reasoning."""
    CONTEXT = "context"
    """There is none: the request did not fit into the model's context. Counted by itself."""
    NO_CALL = "no-call"
    """No call of the function."""
    ARGUMENTS = "arguments"
    """The call does not fit the signature, or its arguments cannot be given to a program."""
    NO_OUTPUT = "no-output"
    """No expected output."""
    NO_VALUE = "no-value"
    """The text is not a literal, and evaluating it gave no value."""
    EXCEPTION = "exception"
    """An exception is expected, which `Options.raises` does not admit."""
    NO_VERDICT = "no-verdict"
    """An opinion on the code that does not say whether it is right."""
    NO_CODE = "no-code"
    """No program that parses and defines the function."""

    @property
    def told(self) -> str:
        """The reason in words."""
        if self is Unreadable.CONTEXT:
            return "the request is too long for the model"
        return f"the answer is unreadable ({self.value})"


@dataclass(frozen=True, slots=True)
class Output:
    """Expected outcome of a call: return `value`, or raise the exception named `raises`."""

    value: Any = None
    raises: str | None = None

    def __str__(self) -> str:
        return f"raises {self.raises}" if self.raises is not None else value_source(self.value)


@dataclass(frozen=True, slots=True)
class Vote(Ballot[Output]):
    """The vote on the output of one input."""

    unreadable: tuple[tuple[Unreadable, int], ...] = ()
    """Samples that were votes for nothing, by kind."""
    continued: bool = False
    """True: the model continued its own answer; else it was asked a question."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of BuildUT: one answer of the generator, and what became of it."""

    number: int
    answer: str
    status: Literal["kept", "duplicate", "outvoted", "unreadable", "unasked", "suspect"]
    """`unasked`: its output was not worth a vote; `suspect`: every plausible fix contradicts it
    (both of `hybrid` only)."""
    call: Invocation | None = None
    stated: Output | None = None
    """The output that was written together with the input."""
    unreadable: Unreadable | None = None
    """Reason that there is no call or no stated output."""
    vote: Vote | None = None
    test: UnitTest | None = None
    """The unit test, where it was kept."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that BuildUT made for one version of the code."""

    attempts: tuple[Attempt, ...] = ()

    @property
    def tests(self) -> tuple[UnitTest, ...]:
        """The unit tests that were kept, in the order in which they came."""
        return tuple(one.test for one in self.attempts if one.test is not None)


@dataclass(frozen=True, slots=True)
class EditRound:
    """One round of debugging."""

    round: int
    """Counted from 1."""
    answer: str
    code: str | None
    """The whole edited module; None: the answer holds no program."""
    accepted: bool
    reason: str
    """One line for people."""
    test: UnitTest | None = None
    """The failing test that was the feedback; None: feedback without a unit test."""
    feedback: str = ""
    """The feedback without a unit test."""
    before: int = 0
    """Tests of the suite that the code passed before the edit."""
    after: int = 0
    """... and after it."""
    total: int = 0
    """Tests in the suite."""
    unreadable: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps by which a method with a language model reached its result."""

    sampled: tuple[UnitTest | None, ...] = ()
    """The first n answers as they came, without vote and with repetitions: what the paper's
    intrinsic metrics are about. None: no readable call. A call without a readable output is a test
    that expects the exception `NO_EXCEPTION`: its input may attack, its output is never right."""
    codes: tuple[str, ...] = ()
    """The module after each round, 0 to m."""
    programs: tuple[str | None, ...] | None = None
    """Programs that were written from the description alone (modules; None: unreadable); None:
    the method writes none."""
    alone: bool = False
    """The programs stand for themselves: where none can be read, the result is no program, and not
    the code under test."""
    suites: tuple[Suite, ...] = ()
    edits: tuple[EditRound, ...] = ()
    unreadable: Counter[str] = field(default_factory=Counter)
    """Unreadable answers, by kind."""
    too_long: int = 0
    """Samples that were not drawn: their request did not fit into the model's context."""

    @property
    def saved(self) -> int:
        """Vote samples that did not have to be asked for."""
        return sum(one.vote.saved for s in self.suites for one in s.attempts if one.vote)


NO_EXCEPTION = "<unreadable>"
"""The name of no exception."""


# -- the result ------------------------------------------------------------------------------------


def conclusion(
    problem: FunctionProblem,
    options: SamplingOptions,
    codes: Sequence[str],
    suites: Sequence[Suite],
    edits: Sequence[EditRound],
    first: SuiteRun,
    certain: SuiteRun,
    *,
    besides: Sequence[Unreadable] = (),
) -> MethodResult:
    """Put the result together; `first` and `certain` are trials of the code under test.

    `besides`: unreadable answers that belong to no attempt and no edit.
    """
    accepted = [edit for edit in edits if edit.accepted]
    candidates: tuple[Candidate, ...] = ()
    if codes[-1] != problem.code:
        last = accepted[-1]
        score = last.after / last.total if last.total else 0.0
        lines = tuple(f"round {edit.round}: {edit.reason}" for edit in accepted)
        candidates = (Candidate(codes[-1], score, lines),)
    tests = suites[0].tests if suites else ()
    attempts = suites[0].attempts[: wanted(options)] if suites else ()
    trace = replace(
        traced(suites, edits, besides),
        sampled=tuple(map(_as_stated, attempts)),
        codes=tuple(codes),
    )
    return MethodResult(
        given=certain.tests,
        failing=(*certain.failing, *first.failing),
        candidates=candidates,
        tried=sum(edit.code is not None for edit in edits),
        notes=_notes(options, suites, edits),
        generated=tests,
        trace=trace,
    )


def wanted(options: SamplingOptions) -> int:
    """Return how many tests a suite should have; 0 for a method that makes none."""
    return int(getattr(options, "n", 0))


def traced(
    suites: Sequence[Suite], edits: Sequence[EditRound], besides: Sequence[Unreadable] = ()
) -> Trace:
    """The trace of suites and edits, with what could not be read counted."""
    unreadable = _unreadable(suites, edits, besides)
    too_long = unreadable.pop(Unreadable.CONTEXT.value, 0)
    return Trace(suites=tuple(suites), edits=tuple(edits), unreadable=unreadable, too_long=too_long)


def _as_stated(attempt: Attempt) -> UnitTest | None:
    """The test as the answer states it, before any vote."""
    if attempt.call is None:
        return None
    if attempt.stated is None:
        return UnitTest(attempt.call, raises=NO_EXCEPTION)
    return UnitTest(attempt.call, attempt.stated.value, attempt.stated.raises)


def _unreadable(
    suites: Sequence[Suite], edits: Sequence[EditRound], besides: Sequence[Unreadable]
) -> Counter[str]:
    counts = Counter(kind.value for kind in besides)
    for suite in suites:
        for attempt in suite.attempts:
            if attempt.status == "unreadable" and attempt.unreadable is not None:
                counts[attempt.unreadable.value] += 1
            for kind, count in attempt.vote.unreadable if attempt.vote else ():
                counts[kind.value] += count
    for edit in edits:
        if edit.unreadable is not None:
            counts[edit.unreadable.value] += 1
    return counts


def _notes(
    options: SamplingOptions, suites: Sequence[Suite], edits: Sequence[EditRound]
) -> tuple[str, ...]:
    notes = []
    held = [one.vote for suite in suites for one in suite.attempts if one.vote is not None]
    if getattr(options, "vote_by", "") == "continuation" and not all(v.continued for v in held):
        notes.append("votes were asked for by a question: the model continues no answer")
    if suites:
        attempts = suites[0].attempts
        if len(suites[0].tests) < wanted(options):
            states = Counter(
                "too long" if one.unreadable is Unreadable.CONTEXT and one.call is None
                else str(one.status)
                for one in attempts
            )  # fmt: skip
            rest = ", ".join(
                f"{states[state]} {word}"
                for state, word in (
                    ("outvoted", "without half of the votes"),
                    ("duplicate", "repeated"),
                    ("unreadable", "unreadable"),
                    ("too long", "not asked for: too long for the model"),
                )
                if states[state]
            )
            notes.append(f"{len(suites[0].tests)} tests from {len(attempts)} answers ({rest})")
    notes += [f"round {edit.round}: {edit.reason}" for edit in edits]
    return tuple(notes)
