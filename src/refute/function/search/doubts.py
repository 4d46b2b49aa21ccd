"""Fixes of programs that pass all of their examples, but break what the description implies.

Such a fix must pass every trusted test, mend the broken property on every input tried, and leave
the program's other outputs as they are: a program that passes its examples is mostly right. It is
proposed only where nearly all of the prior's weight among those edits says the same.
"""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refute.function.contract import Finding
from refute.function.search.arguments import crosses
from refute.function.search.choose import Cluster, clustered, differs, distinct
from refute.function.search.cues import cues
from refute.function.search.edit import Edit
from refute.function.search.inputs import Tier
from refute.function.search.mutants import singles
from refute.function.search.properties import Property, deliberate, properties, prose
from refute.function.search.properties.base import value_of
from refute.function.search.repair import GUARDED
from refute.function.search.suspicion import ELSEWHERE
from refute.function.search.trial import OutOfBudget, Result, Trial
from refute.problems import Call, FunctionProblem, Invocation, UnitTest
from refute.sandbox import Limits, Outcome, Program, Raised, Sandbox

__all__ = ["Doubt", "doubtful"]

BROKEN = 8
"""Inputs that break a property, at most, on which its fixes are tried."""
KEPT = 16
"""Inputs whose outputs a fix must leave as they are."""
CANDIDATES = 2_500
MOST_SURVIVORS = 200
AGREED = 0.5
"""Least share of the survivors' weight that the first cluster must have."""
LEAST = -4.0
"""Least score of a fix."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A property that the program breaks, and the edits that mend it."""

    finding: Finding
    because: str
    trial: Trial
    clusters: list[Cluster]


@dataclass(frozen=True, slots=True)
class _Broken:
    """What a program does on the inputs of one property."""

    about: Property
    broken: list[tuple[Call, tuple[Invocation, ...], Outcome]]
    kept: list[UnitTest]


def doubtful(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    inputs: Sequence[tuple[Invocation, Tier]],
    *,
    box: Sandbox,
    seconds: float,
    most: int | None = None,
) -> Doubt | None:
    """The likeliest mend of an implied property that the code breaks; None: no likely one.

    `tests`: the trusted tests, all of which the code passes. `inputs`: where it is looked at.
    `most`: this many candidates whatever the time. Raises `SandboxUnavailable`.
    """
    if most is None and seconds <= 0:
        return None
    deadline = time.monotonic() + seconds
    best = _told(problem, tests, inputs, box, deadline, most)
    meant = deliberate(problem)
    for about in properties(problem, tests):
        seen = _looked_at(problem, about, inputs, meant, box)
        if seen is None:
            continue
        found = _mended(problem, tests, seen, inputs, box, deadline, most)
        if found is not None and (best is None or found.clusters[0].score > best.clusters[0].score):
            best = found
    return best


def _looked_at(
    problem: FunctionProblem,
    about: Property,
    inputs: Sequence[tuple[Invocation, Tier]],
    meant: Collection[int],
    box: Sandbox,
) -> _Broken | None:
    """The inputs on which the program breaks the property; None: none, or suspiciously many.

    `meant`: the lines that refuse arguments on purpose.
    """
    tried = [call for call, _ in inputs if isinstance(call, Call) and not call.kwargs]
    if about.everywhere:
        tried += [_negated(call) for call in tried[:20]]
    asked = [(call, about.calls(call)) for call in tried]
    flat = [one for _, calls in asked if calls is not None for one in calls]
    limits = Limits(cpu=0.3, wall=2.0, stop_after=3)
    outcomes = iter(box.run(Program(problem.code, problem.entry_point), flat, limits))
    broken: list[tuple[Call, tuple[Invocation, ...], Outcome]] = []
    kept: list[UnitTest] = []
    for call, calls in asked:
        if calls is None:
            continue
        row = [next(outcomes) for _ in calls]
        refused = any(isinstance(one, Raised) and one.line in meant for one in row)
        verdict = None if refused else about.holds(call, row)
        if verdict is False:
            broken.append((call, calls, row[0]))
        if verdict:
            value = value_of(row[0])
            if value is not None and value[0] is not None and crosses(value[0]):
                kept.append(UnitTest(call, value[0]))
    if not broken or (not about.certain and len(broken) > len(kept)):
        return None
    return _Broken(about, broken, kept)


def _negated(value: Any) -> Any:
    """A call or a value with the sign of its numbers turned."""
    if isinstance(value, Call):
        return Call(tuple(map(_negated, value.args)))
    if isinstance(value, list | tuple):
        return type(value)(map(_negated, value))
    return -value if type(value) in (int, float) else value


def _told(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    inputs: Sequence[tuple[Invocation, Tier]],
    box: Sandbox,
    deadline: float,
    most: int | None,
) -> Doubt | None:
    """A bound that the description states in words; nothing where its edit is implausible."""
    if not tests:
        return None
    trial = Trial(problem.code, problem.entry_point, tuple(tests), box, deadline, most)
    trial.survey()
    found = list(cues(trial.focus, prose(problem)))
    if len(found) != 1:
        return None
    said, edit = found[0]
    fitting = [result for result in trial.run([((edit,), edit.weight)]) if result.fits]
    clusters = clustered(trial, fitting, inputs)
    if not clusters or clusters[0].score < edit.weight - 0.3:
        return None
    calls = [call for call, _ in inputs]
    before = trial.behaviours([()], calls)[0]
    changed = [
        (call, old)
        for call, old, new in zip(calls, before, clusters[0].outcomes, strict=True)
        if differs(old, new)
    ]
    if not changed or len(changed) > 0.5 * len(calls):
        return None
    because = f"“{said}”: the code draws the line elsewhere"
    call, outcome = changed[0]
    return Doubt(Finding(call, "contradiction", outcome, because), because, trial, clusters)


def _mended(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    seen: _Broken,
    inputs: Sequence[tuple[Invocation, Tier]],
    box: Sandbox,
    deadline: float,
    most: int | None,
) -> Doubt | None:
    broken = [*seen.broken[: BROKEN // 2], *seen.broken[BROKEN // 2 :][-BROKEN // 2 :]]
    asked = tuple(UnitTest(calls[0]) for _, calls, _ in broken)
    trial = Trial(problem.code, problem.entry_point, asked, box, deadline, most)
    _, reached = trial.survey()
    trial.order((*tests, *seen.kept[:KEPT]))
    trial.fuel = max(trial.fuel, 20_000)
    facts = trial.facts(problem.description)
    kinds = seen.about.kinds
    own, others = trial.parts()
    edits = singles(own, facts, _Reached(reached), until=trial.listing())
    edits += singles(others, facts, _Reached(reached, ELSEWHERE), until=trial.listing())
    edits = [edit for edit in edits if not kinds or edit.kind in kinds]
    edits = sorted(edits, key=lambda edit: -edit.weight)[:CANDIDATES]
    survivors: list[Result] = []
    try:
        for result in trial.run(((edit,), edit.weight) for edit in edits):
            if result.fits:
                survivors.append(result)
    except OutOfBudget:
        pass
    candidates = distinct(trial, survivors)[:MOST_SURVIVORS]
    mending = list(_mending(trial, candidates, seen, broken))
    trial.order(tuple(tests))
    clusters = clustered(trial, mending, inputs)
    if not clusters or not _sure(clusters, LEAST):
        return None
    call, _, outcome = broken[0]
    finding = Finding(
        call,
        "crash" if isinstance(outcome, Raised) else "contradiction",
        outcome,
        seen.about.because,
    )
    return Doubt(finding, seen.about.because, trial, clusters)


@dataclass(frozen=True, slots=True)
class _Reached:
    """An edit must be where every breaking input comes by."""

    reached: Sequence[set[int] | None]
    base: float = 0.0

    def __call__(self, stmts: tuple[ast.stmt, ...]) -> float | None:
        ids = {id(stmt) for stmt in stmts}
        if stmts and any(hits is not None and ids.isdisjoint(hits) for hits in self.reached):
            return None
        return self.base


def _mending(
    trial: Trial,
    candidates: Sequence[Result],
    seen: _Broken,
    broken: Sequence[tuple[Call, tuple[Invocation, ...], Outcome]],
) -> Iterator[Result]:
    """The candidates that keep the property wherever the program broke it."""
    flat = [one for _, calls, _ in broken for one in calls]
    edited: list[Sequence[Edit]] = [result.edits for result in candidates]
    verdict = seen.about.mends or seen.about.holds
    for result, row in zip(candidates, trial.behaviours(edited, flat), strict=True):
        outcomes = iter(row)
        rows = [[next(outcomes) for _ in calls] for _, calls, _ in broken]
        guard = any(edit.kind == "early return" for edit in result.edits)
        if guard and len(broken) < GUARDED:
            continue
        if all(verdict(call, row) is True for (call, _, _), row in zip(broken, rows, strict=True)):
            yield result


def _sure(clusters: Sequence[Cluster], least: float) -> bool:
    share = 1.0 / sum(math.exp(c.score - clusters[0].score) for c in clusters)
    return share >= AGREED and clusters[0].score >= least
