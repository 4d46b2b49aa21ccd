"""Search for edits of a program that make it pass all of its tests."""

from __future__ import annotations

import ast
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from refute.core.problems import FunctionProblem, UnitTest
from refute.function.search.closeness import progress
from refute.function.search.edit import Edit, applied, same
from refute.function.search.facts import CodeFacts
from refute.function.search.mutants import frontier, singles
from refute.function.search.trial import OutOfBudget, Trial, TrialResult, starved
from refute.sandbox import (
    Limits,
    NotRun,
    Outcome,
    Program,
    Sandbox,
    TimedOut,
)
from refute.sandbox.equality import expect_test, matches

__all__ = ["WEAK", "Repair", "look_further", "repair", "starting"]

FIRSTS = 60
"""First halves of pairs that are followed up."""
WEAK = -3.0
"""Single edits no likelier than this do not end the search: a pair may be likelier."""
ONCE = Limits(cpu=0.3, wall=2.0, stop_after=1)
"""For a look at the tests before anything is prepared: one that does not end says enough."""
PATIENT = Limits(cpu=2.0, wall=4.0, stop_after=2)
"""For what the survey has no time for: a test that is merely slow is no failing one."""
LISTING = 0.5
LISTING_OTHERS = 0.15
"""Shares of the time left, at most, for listing the edits of the function, and of what it uses."""
RIVAL = 5.0
"""Log weight by which an edit may be less likely than one that fits to be worth comparing."""
ONCE_MORE = 40
"""Single edits, at most, that are tried with more fuel and time."""
RETRYING = 0.3
"""Share of the time left for that."""
STANDING = 5_000
"""Single edits kept as second halves."""
PAIR_PENALTY = -2.5
"""Log weight of a second edit's existence."""
ELSEWHERE = -1.5
"""Log weight of an edit outside of the function that was asked about: others may rely on it."""
REACH_BONUS = 1.0
"""Log weight of a statement that failing tests reach and no passing test does."""


@dataclass(slots=True)
class Repair:
    """Result of the search for a fix."""

    tests: tuple[UnitTest, ...]
    """Failing ones first."""
    outcomes: tuple[Outcome, ...]
    """What the code under test did with each of `tests`."""
    passed: tuple[bool, ...]
    survivors: list[TrialResult] = field(default_factory=list)
    """Every edited program that passed all tests, in the order found."""
    unrun: tuple[UnitTest, ...] = ()
    """Tests that there was no time for; they are not among `tests`."""
    trial: Trial | None = None
    notes: list[str] = field(default_factory=list)
    pairs: Callable[[], Iterator[tuple[tuple[Edit, ...], float]]] | None = None
    """The pairs of edits, best first, while they are untried."""

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
        bonus = _Bonus(reached, found.passed, every=True, base=base)
        return singles(part, facts, bonus, until=trial.listing(share))

    edits = listed(own, 0.0, LISTING)
    head = sum(edit.weight > WEAK for edit in edits)
    results: list[TrialResult] = []
    found.pairs = lambda: _pairs(trial, own, facts, found, results, reached)

    def singly(some: Iterable[Edit]) -> Iterator[tuple[tuple[Edit, ...], float]]:
        return (((edit,), edit.weight) for edit in some)

    def rest(least: float = -math.inf) -> Iterator[Edit]:
        """Listed when they are asked for: in a large module they are many."""
        more = listed(others, ELSEWHERE, LISTING_OTHERS)
        for edit in sorted([*edits[head:], *more], key=lambda edit: -edit.weight):
            if edit.weight < least:
                break
            yield edit

    _collect(trial.run(singly(edits[:head])), found, results)
    if not found.survivors:
        _once_more(trial, found, results)
    if not found.survivors:
        # What is left of the single edits is no likelier than the first pairs.
        pairs, found.pairs = found.pairs(), None
        _follow(trial, found, _in_turns(singly(rest()), pairs))
        return
    least = max(result.weight for result in found.survivors) - RIVAL
    _collect(trial.run(singly(rest(least))), found, results)
    if max(r.weight for r in found.survivors) <= WEAK:
        trial.deadline = min(trial.deadline, time.monotonic() + 0.3 * budget)
        _try_pairs(trial, found)


def _collect(ran: Iterator[TrialResult], found: Repair, results: list[TrialResult]) -> None:
    for result in ran:
        results.append(result)
        if result.fits:
            found.survivors.append(result)


def _in_turns(
    one: Iterator[tuple[tuple[Edit, ...], float]], other: Iterator[tuple[tuple[Edit, ...], float]]
) -> Iterator[tuple[tuple[Edit, ...], float]]:
    """One of each in turn, and what is left of the longer."""
    for pair in zip_longest(one, other):
        yield from (item for item in pair if item is not None)


def starting(trial: Trial, budget: float) -> float:
    """Seconds to keep back for loading fixes as they are written: a package may take long."""
    return min(2 * trial.once, 0.2 * budget)


def look_further(found: Repair, seconds: float) -> bool:
    """Try pairs although single edits survived, where those proved implausible.

    True: there are new survivors. Does nothing where pairs were tried already.
    """
    trial, before = found.trial, len(found.survivors)
    if trial is None or found.pairs is None or seconds <= 0:
        return False
    trial.deadline = time.monotonic() + seconds
    try:
        _try_pairs(trial, found)
    except OutOfBudget:
        pass
    return len(found.survivors) > before


def _try_pairs(trial: Trial, found: Repair) -> None:
    assert found.pairs is not None
    pairs, found.pairs = found.pairs, None
    _follow(trial, found, pairs())


def _follow(
    trial: Trial,
    found: Repair,
    candidates: Iterator[tuple[tuple[Edit, ...], float]],
) -> None:
    """Run candidates; once one fits, only some more of them."""
    before = len(found.survivors)
    for result in trial.run(candidates):
        if result.fits:
            found.survivors.append(result)
            if len(found.survivors) == 1 + before:
                # The frontier goes best first: what comes much later is much less likely.
                now = time.monotonic()
                trial.deadline = min(trial.deadline, now + max(0.5, 0.25 * (trial.deadline - now)))


def _once_more(trial: Trial, found: Repair, results: list[TrialResult]) -> None:
    """Give single edits that ran out of fuel, or of time, ten times as much."""
    weak = [r for r in results if any(map(starved, r.outcomes))]
    # Only those that fail in no other way are worth it.
    weak = [
        r
        for r in weak
        if all(
            ok or isinstance(o, NotRun) or starved(o)
            for o, ok in zip(r.outcomes, r.passed, strict=True)
        )
    ][:ONCE_MORE]
    if not weak:
        return
    fuel, trial.fuel = trial.fuel, 10 * trial.fuel
    now, deadline = time.monotonic(), trial.deadline
    trial.patient, trial.deadline = True, now + RETRYING * max(0.0, deadline - now)
    try:
        _collect(trial.run((r.edits, r.weight) for r in weak), found, [])
    except OutOfBudget:
        if trial.max_candidates is not None:
            raise
    finally:
        trial.patient, trial.deadline = False, deadline
    if not found.survivors:
        trial.fuel = fuel


def _pairs(
    trial: Trial,
    own: ast.Module,
    facts: CodeFacts,
    found: Repair,
    results: list[TrialResult],
    reached: list[set[int] | None],
) -> Iterator[tuple[tuple[Edit, ...], float]]:
    """Pairs of edits of `own`, best first: promising first halves, then the prior's product."""
    some = _Bonus(reached, found.passed, every=False)
    scored: list[tuple[float, Edit]] = []
    seen: set[tuple[Outcome, ...]] = set()
    expected = trial.expected
    enough: dict[tuple[object, ...], list[Edit]] = defaultdict(list)
    for result in found.survivors:
        enough[_places(result.edits[0])].append(result.edits[0])
    for result in results:
        if result.fits:
            continue
        gain = progress(found.outcomes, result.outcomes, found.passed, result.passed, expected)
        if gain > 0:
            fresh = 0.0 if result.outcomes not in seen else -1.0
            seen.add(result.outcomes)
            scored.append((result.weight + 3.0 * gain + fresh, result.edits[0]))
        else:
            # What changes nothing at all is seldom one half of a fix.
            idle = gain < 0 or result.outcomes == found.outcomes
            scored.append((result.weight - 1.0 * idle, result.edits[0]))
    scored.sort(key=lambda pair: -pair[0])
    firsts = scored[:FIRSTS]
    standing = singles(own, facts, some, until=trial.listing())[:STANDING]

    def seconds(i: int) -> Sequence[Edit]:
        first = firsts[i][1]
        touched = set(map(id, first.stmts))
        lists = set()
        for change in first.changes:
            if isinstance(change.new, list):
                lists.add((id(change.owner), change.field))
                touched.update(map(id, change.new))
        with applied([first]):
            fresh = singles(own, facts, some, frozenset(touched), trial.listing())
        others = [
            edit
            for edit in standing
            if touched.isdisjoint(map(id, edit.stmts))
            and not any((id(c.owner), c.field) in lists for c in edit.changes)
        ]
        return sorted([*fresh, *others], key=lambda edit: -edit.weight)

    done: set[frozenset[int]] = set()
    for i, second in frontier(firsts, seconds):
        first = firsts[i][1]
        # The gain decides the order of the search, not how likely a fix is.
        weight = first.weight + second.weight + PAIR_PENALTY
        key = frozenset((id(first), id(second)))
        if key in done or any(_alike(second, e) for e in enough[_places(second)]):
            continue
        done.add(key)
        yield (first, second), weight


def _places(edit: Edit) -> tuple[object, ...]:
    return tuple((id(change.owner), change.field, change.index) for change in edit.changes)


def _alike(one: Edit, other: Edit) -> bool:
    """Return whether two edits of the same places are the same edit, listed twice."""
    return all(same(a.new, b.new) for a, b in zip(one.changes, other.changes, strict=True))


@dataclass(slots=True)
class _Bonus:
    """The spectrum: which statements failing and passing tests reach."""

    reached: list[set[int] | None]
    passed: Sequence[bool]
    every: bool
    """Whether an edit alone must fix all failing tests: it must then be reached by all of them."""
    base: float = 0.0
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
        if failing_hits < failing and self.every:
            return None
        if not failing_hits:
            return self.base - 1.5
        share = passing_hits / passing if passing else 1.0
        return self.base + REACH_BONUS * (1.0 - share) * failing_hits / failing
