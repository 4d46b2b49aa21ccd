"""Put synthesised programs in front of what the search for edits found, where that is weak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refute.function.contract import Candidate, FailingTest, MethodResult
from refute.function.search.arguments import crosses
from refute.function.search.choose import Cluster, differs, question_for
from refute.function.search.inputs import Tier
from refute.function.search.synthesis import Synthesised, synthesize
from refute.problems import FunctionProblem, Invocation, Trust, UnitTest
from refute.sandbox import Limits, Outcome, Program, Returned, Sandbox
from refute.sandbox.equality import expect_test, matches

__all__ = ["UNLIKELY", "expressed"]

UNLIKELY = -1.75
"""An edited program that scores no higher is right about once in six (development data)."""
SHOWN = 3
MOST_DERIVED = 5
CONFIDENCE = 0.6
PER_COST = -0.25
"""Log score of a unit of cost."""
LIMITS = Limits(cpu=0.3, wall=1.5, memory=400 << 20, output=1 << 20, stop_after=2)


def expressed(
    problem: FunctionProblem,
    result: MethodResult,
    inputs: Sequence[tuple[Invocation, Tier]],
    *,
    box: Sandbox,
    hints: Sequence[UnitTest],
    seconds: float,
    seed: int,
    most: int | None = None,
) -> MethodResult:
    """`result` with synthesised programs first, where it has no fix or none that is likely.

    Arguments as `synthesize`; `inputs` are those on which candidates are told apart. Unchanged
    where there is a likely fix, nothing to mend, or no expression is found.
    """
    likely = result.candidates and result.candidates[0].score > UNLIKELY
    if likely or seconds < 0.3 or not any(f.test.trust < Trust.PREDICTED for f in result.failing):
        return result
    made = synthesize(
        problem,
        result.given,
        box=box,
        hints=hints,
        seconds=seconds,
        seed=seed,
        most=most,
    )
    if not made:
        return result
    best = max((c.score for c in result.candidates), default=PER_COST * made[0].cost)
    fresh = [_candidate(one, max(best, PER_COST * made[0].cost)) for one in made]
    calls = [call for call, _ in inputs]
    kept: list[Candidate] = []
    rows: list[tuple[Outcome, ...]] = []
    for candidate in (*fresh, *result.candidates):
        row = tuple(box.run(Program(candidate.code, problem.entry_point), calls, LIMITS))
        if row not in rows and len(kept) < SHOWN:
            kept.append(candidate)
            rows.append(row)
    question, _ = question_for([Cluster([], row) for row in rows], inputs)
    given = [f for f in result.failing if f.test.trust < Trust.PREDICTED]
    notes = tuple(note for note in result.notes if "no fix is proposed" not in note)
    return replace(
        result,
        failing=(*given, *_derived(problem, rows[0], inputs, box)),
        candidates=tuple(kept),
        question=question,
        notes=(*notes, "no likely edit was found: the function is written anew"),
        reservations=("the function is written anew",),
    )


def _candidate(one: Synthesised, best: float) -> Candidate:
    text = f"line {one.line}: the body becomes `return {one.expression}` (synthesis)"
    return Candidate(one.code, best + 0.01 / one.cost, (text,))


def _derived(
    problem: FunctionProblem,
    wanted: Sequence[Outcome],
    inputs: Sequence[tuple[Invocation, Tier]],
    box: Sandbox,
) -> list[FailingTest]:
    """Failing tests that the first synthesised program predicts."""
    program = Program(problem.code, problem.entry_point)
    actual = box.run(program, [call for call, _ in inputs], LIMITS)
    tests: list[FailingTest] = []
    for (call, tier), right, got in zip(inputs, wanted, actual, strict=True):
        if (
            tier != Tier.IN_DOMAIN
            or not isinstance(right, Returned)
            or not differs(right, got)
            or not crosses(right.value)
        ):
            continue
        test = UnitTest(
            call, right.value, trust=Trust.PREDICTED, source="synthesis", confidence=CONFIDENCE
        )
        if not matches(got, expect_test(test)):
            tests.append(FailingTest(test, got))
        if len(tests) >= MOST_DERIVED:
            break
    return tests
