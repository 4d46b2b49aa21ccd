"""The result of a method from what happened on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from refute.function.contract import Candidate, MethodResult
from refute.function.llm.options import Options
from refute.function.llm.record import NO_EXCEPTION, Attempt, Edit, Suite, Trace, Unreadable
from refute.function.llm.trials import Trial
from refute.problems import FunctionProblem, UnitTest

__all__ = ["conclusion"]


def conclusion(
    problem: FunctionProblem,
    options: Options,
    codes: Sequence[str],
    suites: Sequence[Suite],
    edits: Sequence[Edit],
    first: Trial,
    certain: Trial,
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
    attempts = suites[0].attempts[: options.n] if suites else ()
    unreadable = _unreadable(suites, edits, besides)
    too_long = unreadable.pop(Unreadable.CONTEXT.value, 0)
    trace = Trace(
        sampled=tuple(map(_as_stated, attempts)),
        codes=tuple(codes),
        suites=tuple(suites),
        edits=tuple(edits),
        unreadable=unreadable,
        too_long=too_long,
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


def _as_stated(attempt: Attempt) -> UnitTest | None:
    """The test as the answer states it, before any vote."""
    if attempt.call is None:
        return None
    if attempt.stated is None:
        return UnitTest(attempt.call, raises=NO_EXCEPTION)
    return UnitTest(attempt.call, attempt.stated.value, attempt.stated.raises)


def _unreadable(
    suites: Sequence[Suite], edits: Sequence[Edit], besides: Sequence[Unreadable]
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


def _notes(options: Options, suites: Sequence[Suite], edits: Sequence[Edit]) -> tuple[str, ...]:
    notes = []
    if suites:
        attempts = suites[0].attempts
        if len(suites[0].tests) < options.n:
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
