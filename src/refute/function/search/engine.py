"""The LLM-free method: examples in, failing tests and fixes out."""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from itertools import islice

from refute.function.contract import Ask, Candidate, FailingTest, Finding, MethodResult, Question
from refute.function.examples import read_examples
from refute.function.search.choose import Cluster, clustered, differs, distinct, is_value, vote
from refute.function.search.edit import Edit, applied
from refute.function.search.inputs import Tier, propose_inputs
from refute.function.search.repair import Repair, repair
from refute.function.search.rewrite import rewrite
from refute.function.search.trial import Trial
from refute.problems import Call, FunctionProblem, Trust, UnitTest
from refute.sandbox import Limits, NotRun, Program, Returned, Sandbox
from refute.sandbox.equality import expect_test, matches

__all__ = ["search", "trusted_tests"]

INPUTS = 120
"""Inputs on which survivors are told apart and derived tests are looked for."""
SHOWN = 3
MOST_DERIVED = 5
CONFIDENT = 0.6
"""Least confidence of an emitted derived test."""


def trusted_tests(problem: FunctionProblem) -> tuple[list[UnitTest], list[UnitTest]]:
    """The tests to believe (given, stated, worded) and the hints, each call once."""
    read = read_examples(problem.description, problem.entry_point, code=problem.code)
    trusted: dict[str, UnitTest] = {}
    hints: list[UnitTest] = []
    for test in (*problem.tests, *sorted(read, key=lambda t: t.trust)):
        if test.trust <= Trust.WORDED:
            trusted.setdefault(repr(test.call), test)
        elif test.trust == Trust.HINT:
            hints.append(test)
    return list(trusted.values()), hints


def search(
    problem: FunctionProblem,
    *,
    box: Sandbox,
    budget: float = 10.0,
    seed: int = 0,
    ask: Ask | None = None,
    max_candidates: int | None = None,
) -> MethodResult:
    """Find failing tests for `problem.code`, and fixes that pass every trusted test."""
    start = time.monotonic()
    trusted, hints = trusted_tests(problem)
    found = repair(
        problem, trusted, box=box, budget=budget * 0.8, seed=seed, max_candidates=max_candidates
    )
    failing = [
        FailingTest(test, outcome)
        for test, outcome, ok in zip(found.tests, found.outcomes, found.passed, strict=True)
        if not ok
    ]
    notes = list(found.notes)
    tried = found.trial.tried if found.trial is not None else 0
    candidates: list[Candidate] = []
    question = None
    if found.survivors and found.trial is not None:
        inputs = probing_inputs(problem, trusted, seed)
        chosen = choose(found, inputs)
        candidates = [candidate(found.trial, c) for c in chosen[:SHOWN]]
        failing += derived(found.trial, chosen, inputs)
    return MethodResult(
        given=tuple(trusted),
        failing=tuple(failing),
        candidates=tuple(candidates),
        question=question,
        tried=tried,
        seconds=time.monotonic() - start,
        notes=tuple(notes),
    )


def probing_inputs(
    problem: FunctionProblem, trusted: Sequence[UnitTest], seed: int, most: int = INPUTS
) -> list[tuple[Call, Tier]]:
    known = [test.call for test in trusted]
    proposals = islice(propose_inputs(problem, known, seed=seed), most)
    return [(p.call, p.tier) for p in proposals if p.tier <= Tier.EDGE]


def choose(found: Repair, inputs: Sequence[tuple[Call, Tier]]) -> list[Cluster]:
    assert found.trial is not None
    trial = found.trial
    survivors = distinct(trial, found.survivors)
    return clustered(trial, survivors, [call for call, _ in inputs])


def derived(
    trial: Trial, clusters: Sequence[Cluster], inputs: Sequence[tuple[Call, Tier]]
) -> list[FailingTest]:
    """Failing tests that the chosen fix predicts, surest first."""
    actual = trial.behaviours([()], [call for call, _ in inputs])[0]
    drafts: list[tuple[float, int, UnitTest]] = []
    for index, ((call, tier), got) in enumerate(zip(inputs, actual, strict=True)):
        wanted = clusters[0].outcomes[index]
        if not isinstance(wanted, Returned) or not differs(wanted, got):
            continue
        confidence = vote(clusters, index) * (1.0 if tier == Tier.IN_DOMAIN else 0.7)
        if confidence < CONFIDENT:
            continue
        test = UnitTest(
            call, wanted.value, trust=Trust.PREDICTED, source="search", confidence=confidence
        )
        drafts.append((-confidence, index, test))
    drafts.sort(key=lambda draft: draft[:2])
    tests = [draft[2] for draft in drafts[:MOST_DERIVED]]
    return confirmed(trial, tests)


def confirmed(trial: Trial, tests: Sequence[UnitTest]) -> list[FailingTest]:
    """Those of `tests` that the code under test really fails, run as it is."""
    program = Program(trial.code, trial.entry_point)
    limits = Limits(cpu=0.3, wall=1.5, stop_after=1)
    outcomes = trial.box.run(program, [test.call for test in tests], limits)
    return [
        FailingTest(test, outcome)
        for test, outcome in zip(tests, outcomes, strict=True)
        if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(test))
    ]


def candidate(trial: Trial, cluster: Cluster) -> Candidate:
    """The likeliest member of a cluster, written into the user's source."""
    result = cluster.best
    code = rewrite(trial.code, trial.mutated(result.edits))
    lines = []
    for place, edit in enumerate(result.edits):
        with applied(result.edits[:place]):
            lines.append(described(edit))
    return Candidate(code, cluster.score, tuple(lines))


def described(edit: Edit) -> str:
    """One line for people about an edit that is not made yet."""
    change = edit.changes[0]
    old = getattr(change.owner, change.field)
    old = old if change.index is None else old[change.index]
    if isinstance(old, ast.expr) and isinstance(change.new, ast.expr):
        before, after = ast.unparse(old), ast.unparse(change.new)
        if len(before) + len(after) <= 100:
            return f"line {old.lineno}: `{before}` becomes `{after}` ({edit.kind})"
    return f"line {edit.line}: {edit.kind}"
