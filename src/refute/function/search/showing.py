"""Display of the chosen fixes: the user's source with the edit, and the predicted tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refute.core.problems import DoctestSession, Expression, Invocation, Scenario, Trust, UnitTest
from refute.function.contract import Candidate, FailingTest
from refute.function.formatting import call_source
from refute.function.search.choose import Cluster, compared, of_test, vote
from refute.function.search.choose import differs as outcomes_differ
from refute.function.search.edit import Edit, applied
from refute.function.search.fuel import stripped
from refute.function.search.inputs import Tier
from refute.function.search.rewrite import rewrite
from refute.function.search.staged import stated
from refute.function.search.trial import Trial
from refute.sandbox import Limits, NotRun, Program, Returned
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.values import Iterated, MalformedValue, crosses

__all__ = ["SHOWN", "candidate", "derived", "one_witness", "sound", "statable"]

SHOWN = 3
MOST_DERIVED = 5
CONFIDENT = 0.65
"""Least confidence of an emitted derived test."""


def sound(trial: Trial, clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters without those among the first whose program fails a test when run as written.

    Candidates were run with fuel and without the module's own self-tests; this is the real thing.
    """
    kept: list[Cluster] = []
    limits = Limits(cpu=1.0, wall=4.0, stop_after=1)
    for place, cluster in enumerate(clusters):
        if len(kept) >= SHOWN:
            return [*kept, *clusters[place:]]
        program = Program(written(trial, cluster), trial.entry_point)
        outcomes = trial.box.run(program, trial.calls, limits)
        if all(map(matches, outcomes, trial.expected)):
            kept.append(cluster)
    return kept


def written(trial: Trial, cluster: Cluster) -> str:
    """The user's source with the edits of a cluster's likeliest member."""
    return rewrite(trial.code, trial.mutated(cluster.best.edits))


def derived(
    trial: Trial, clusters: Sequence[Cluster], inputs: Sequence[tuple[Invocation, Tier]]
) -> list[FailingTest]:
    """Failing tests that the chosen fix predicts, surest first (`confidence.of_test`), and of these
    the ones with inputs like those of the examples."""
    staged = any(isinstance(call, Scenario) for call, _ in inputs)
    edited = [(), clusters[0].best.edits] if staged else [()]
    rows = trial.behaviours(edited, [call for call, _ in inputs])
    drafts: list[tuple[float, Tier, int, UnitTest]] = []
    for index, (call, tier) in enumerate(inputs):
        got = compared(call, rows[0][index])
        wanted = clusters[0].outcomes[index]
        if (
            isinstance(call, DoctestSession)
            or not isinstance(wanted, Returned)
            or not outcomes_differ(wanted, got)
        ):
            continue
        confidence = of_test(vote(clusters, index), len(trial.tests))
        if confidence < CONFIDENT:
            continue
        found: UnitTest | None = None
        if isinstance(call, Scenario):
            found = stated(call, rows[-1][index], rows[0][index])
        elif (pair := statable(call, wanted, trial.entry_point)) is not None:
            found = UnitTest(*pair)
        if found is None:
            continue
        test = replace(found, trust=Trust.PREDICTED, source="search", confidence=confidence)
        drafts.append((-confidence, tier, index, test))
    drafts.sort(key=lambda draft: draft[:3])
    return confirmed(trial, [draft[3] for draft in drafts[:MOST_DERIVED]])


def statable(
    call: Invocation, outcome: Returned, entry_point: str
) -> tuple[Invocation, Any] | None:
    """The call and the value that a test can state; an iterator's items; None: it has no literal.

    Raises nothing, whatever the program returned.
    """
    try:
        value = outcome.value
    except MalformedValue:
        return None
    if not isinstance(value, Iterated):
        return (call, value) if crosses(value) else None
    if value.more or not crosses(list(value.items)):
        return None
    return Expression(f"list({call_source(call, entry_point)})"), list(value.items)


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


def candidate(trial: Trial, cluster: Cluster, confidence: float | None = None) -> Candidate:
    """The likeliest member of a cluster, written into the user's source."""
    result = cluster.best
    code = written(trial, cluster)
    lines = []
    for place, edit in enumerate(result.edits):
        with applied(result.edits[:place]):
            lines.append(described(edit))
    return Candidate(code, cluster.score, tuple(lines), confidence)


def one_witness(name: str) -> str:
    """Say that a single failing test asks for something that stands nowhere near."""
    return f"only one failing example asks for {name}, which stands nowhere near: give another"


def described(edit: Edit) -> str:
    """One line for people about an edit that is not made yet."""
    change = edit.changes[0]
    old = getattr(change.owner, change.field)
    old = old if change.index is None else old[change.index]
    if isinstance(old, ast.expr) and isinstance(change.new, ast.expr):
        before, after = ast.unparse(stripped(old)), ast.unparse(stripped(change.new))
        if len(before) + len(after) <= 100:
            return f"line {old.lineno}: `{before}` becomes `{after}` ({edit.kind})"
    return f"line {edit.line}: {edit.kind}"
