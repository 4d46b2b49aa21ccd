"""Search for edits of a program that make it pass all of its tests."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from refute.core.problems import FunctionProblem, UnitTest
from refute.function.search.edit import Edit
from refute.function.search.mutants import singles
from refute.function.search.trial import OutOfBudget, Trial, TrialResult
from refute.sandbox import (
    Limits,
    NotRun,
    Outcome,
    Program,
    Sandbox,
    TimedOut,
)
from refute.sandbox.equality import expect_test, matches

__all__ = ["Repair", "repair", "starting"]

HEAD = -3.0
"""Log weight of the edits of the function that are tried before those of what it uses."""
ONCE = Limits(cpu=0.3, wall=2.0, stop_after=1)
"""For a look at the tests before anything is prepared: one that does not end says enough."""
PATIENT = Limits(cpu=2.0, wall=4.0, stop_after=2)
"""For what the survey has no time for: a test that is merely slow is no failing one."""
LISTING = 0.5
LISTING_OTHERS = 0.15
"""Shares of the time left, at most, for listing the edits of the function, and of what it uses."""
RIVAL = 5.0
"""Log weight by which an edit may be less likely than one that fits to be worth comparing."""
ELSEWHERE = -2.5
"""Log weight of an edit outside of the function that was asked about: others may rely on it."""
REACH_BONUS = 1.0
"""Log weight of a statement that failing tests reach and no passing test does."""


@dataclass(slots=True)
class Repair:
    """Result of the search for a fix."""

    tests: tuple[UnitTest, ...]
    """Failing ones first."""
    outcomes: tuple[Outcome, ...]
    """Outcomes of the code under test on each of `tests`."""
    passed: tuple[bool, ...]
    survivors: list[TrialResult] = field(default_factory=list)
    """Every edited program that passed all tests, in the order found."""
    unrun: tuple[UnitTest, ...] = ()
    """Tests that there was no time for; they are not among `tests`."""
    trial: Trial | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Return whether the code under test fails a test."""
        return not all(self.passed)


def repair(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    *,
    box: Sandbox,
    budget: float = 10.0,
    seed: int = 0,
    max_candidates: int | None = None,
) -> Repair:
    """Find edits of `problem.code` that pass all `tests`, within `budget` seconds.

    The order of the candidates is fixed; with `max_candidates` the clock plays no part and the
    result is fully deterministic. `seed` is unused so far: nothing here is drawn at random.
    """
    deadline = time.monotonic() + budget
    code, entry_point = problem.code, problem.entry_point
    # To prepare the search costs more than the tests: only where one of them fails.
    expected = [expect_test(test) for test in tests]
    outcomes = box.run(Program(code, entry_point), [t.call for t in tests], ONCE) if tests else []
    if all(matches(o, e) for o, e in zip(outcomes, expected, strict=True)):
        return Repair(tuple(tests), tuple(outcomes), (True,) * len(tests))
    try:
        trial = Trial(code, entry_point, tuple(tests), box, deadline, max_candidates)
    except SyntaxError as error:
        outcomes = box.run(Program(code, entry_point), [t.call for t in tests])
        found = Repair(tuple(tests), tuple(outcomes), (False,) * len(tests))
        found.notes.append(f"the code does not parse: {error}")
        return found
    outcomes, reached = trial.survey()
    replayed = problem.examples is not None  # then each test was seen to end, or not to
    late = [i for i, o in enumerate(outcomes) if replayed and isinstance(o, TimedOut | NotRun)]
    for i in [i for i in late if tests[i].call in problem.unending]:
        outcomes[i] = TimedOut()
        late.remove(i)
    calls = [tests[i].call for i in late]
    in_time = box.run(Program(code, entry_point), calls, PATIENT) if calls else []
    for i, outcome in zip(late, in_time, strict=True):
        outcomes[i] = outcome
    passed = [matches(o, e) for o, e in zip(outcomes, trial.expected, strict=True)]
    # What passes only when it is given time takes too long for a search.
    slow = {i for i in late if passed[i]}
    ran = [i for i, o in enumerate(outcomes) if not isinstance(o, NotRun) and i not in slow]
    order = sorted(ran, key=lambda i: passed[i])
    trial.order(tuple(tests[i] for i in order))
    found = Repair(
        trial.tests,
        tuple(outcomes[i] for i in order),
        tuple(passed[i] for i in order),
        trial=trial,
    )
    found.unrun = tuple(tests[i] for i, o in enumerate(outcomes) if isinstance(o, NotRun))
    if found.unrun:
        found.notes.append(f"time was up before {len(found.unrun)} of {len(tests)} examples ran")
    if found.fails:
        try:
            _search(trial, found, problem, [reached[i] for i in order], budget)
        except OutOfBudget:
            found.notes.append(f"out of budget after {trial.tried} candidates")
    return found


def _search(
    trial: Trial,
    found: Repair,
    problem: FunctionProblem,
    reached: list[set[int] | None],
    budget: float,
) -> None:
    trial.deadline -= starting(trial, budget)
    trial.check_budget()
    facts = trial.facts(problem.description)
    own, others = trial.parts()

    def listed(part: ast.Module, base: float, share: float) -> list[Edit]:
        bonus = _Bonus(reached, found.passed, base)
        return singles(part, facts, bonus, until=trial.listing(share))

    edits = listed(own, 0.0, LISTING)
    head = sum(edit.weight > HEAD for edit in edits)

    def singly(some: Iterable[Edit]) -> Iterator[tuple[tuple[Edit, ...], float]]:
        return (((edit,), edit.weight) for edit in some)

    def rest(least: float = -math.inf) -> Iterator[Edit]:
        """Listed when they are asked for: in a large module they are many."""
        more = listed(others, ELSEWHERE, LISTING_OTHERS)
        for edit in sorted([*edits[head:], *more], key=lambda edit: -edit.weight):
            if edit.weight < least:
                break
            yield edit

    _collect(trial.run(singly(edits[:head])), found)
    least = max((r.weight - RIVAL for r in found.survivors), default=-math.inf)
    _collect(trial.run(singly(rest(least))), found)


def _collect(ran: Iterator[TrialResult], found: Repair) -> None:
    for result in ran:
        if result.fits:
            found.survivors.append(result)


def starting(trial: Trial, budget: float) -> float:
    """Seconds to keep back for loading fixes as they are written: a package may take long."""
    return min(2 * trial.once, 0.2 * budget)


@dataclass(slots=True)
class _Bonus:
    """The spectrum: which statements failing and passing tests reach."""

    reached: list[set[int] | None]
    passed: Sequence[bool]
    base: float
    """Of every edit."""

    def __call__(self, stmts: tuple[ast.stmt, ...]) -> float | None:
        if not stmts:
            return self.base
        ids = {id(stmt) for stmt in stmts}
        failing = passing = failing_hits = passing_hits = 0
        for hits, ok in zip(self.reached, self.passed, strict=True):
            hit = hits is None or not ids.isdisjoint(hits)
            if ok:
                passing += 1
                passing_hits += hit
            else:
                failing += 1
                failing_hits += hit
        if failing_hits < failing:
            return None  # it alone must turn them all green
        share = passing_hits / passing if passing else 1.0
        return self.base + REACH_BONUS * (1.0 - share)
