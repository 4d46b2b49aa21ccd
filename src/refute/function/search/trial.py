"""Run edited versions of one program on its tests, many at a time."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType

from refute.function.search.edit import Edit, applied
from refute.function.search.fuel import (
    FUEL_LEFT,
    REFUEL,
    TAKE_HITS,
    after_future,
    fuelled,
    marked,
    prelude,
    refuelling,
    stripped,
)
from refute.problems import Expression, Invocation, UnitTest
from refute.sandbox import Limits, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.equality import Expected, expect_test, matches
from refute.syntax import parse_module

__all__ = ["OutOfBudget", "Result", "Trial"]

FIRST_BATCH = 60
BATCH = 250
AMPLE = 30_000
"""Rounds allowed to the code under test, once."""


class OutOfBudget(Exception):
    """Time or the allowed number of candidates is used up."""


@dataclass(frozen=True, slots=True)
class Result:
    """An edited program and what it did on the tests."""

    edits: tuple[Edit, ...]
    weight: float
    outcomes: tuple[Outcome, ...]
    passed: tuple[bool, ...]

    @property
    def fits(self) -> bool:
        """Whether it passed every test."""
        return all(self.passed)


@dataclass(slots=True)
class Trial:
    """One program, its trusted tests and the budget; counts what it runs."""

    code: str
    entry_point: str
    tests: tuple[UnitTest, ...]
    """Failing ones first: most candidates fall at the first."""
    box: Sandbox
    deadline: float
    """`time.monotonic()` at which to stop."""
    max_candidates: int | None = None
    fuel: int = 20_000
    tried: int = 0
    tree: ast.Module = field(init=False)
    expected: tuple[Expected, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = fuelled(parse_module(self.code))
        self.order(self.tests)

    def order(self, tests: tuple[UnitTest, ...]) -> None:
        """Set the tests and their order."""
        self.tests = tests
        self.expected = tuple(expect_test(test) for test in tests)

    @property
    def calls(self) -> list[Invocation]:
        """What the tests run, in their order."""
        return [test.call for test in self.tests]

    @property
    def limits(self) -> Limits:
        """Limits of one candidate, tight: thousands run."""
        return Limits(cpu=0.15, wall=1.0, memory=400 << 20, output=1 << 20, stop_after=1)

    def check_budget(self) -> None:
        """Raises `OutOfBudget`."""
        if self.max_candidates is not None:
            if self.tried >= self.max_candidates:
                raise OutOfBudget
        elif time.monotonic() >= self.deadline:
            raise OutOfBudget

    def compiled(self, edits: Sequence[Edit], *, refuel: bool = False) -> CodeType | None:
        """The tree with `edits` made, as a code object; None where it does not compile."""
        with applied(edits):
            body = [stmt for stmt in self.tree.body if self._needed(stmt)]
            place = after_future(self.tree)
            body[place:place] = refuelling(self.fuel) if refuel else prelude(self.fuel)
            return compiled(ast.Module(body=body, type_ignores=[]))

    def _needed(self, stmt: ast.stmt) -> bool:
        """Self-tests and prints at module level are left out of what is run thousands of times."""
        if isinstance(stmt, ast.Assert):
            return False
        if isinstance(stmt, ast.Expr):
            if isinstance(stmt.value, ast.Constant):
                return False
            names = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}
            return not names & {"print", self.entry_point}
        return not (isinstance(stmt, ast.If) and "__name__" in ast.dump(stmt.test))

    def run(self, candidates: Iterable[tuple[tuple[Edit, ...], float]]) -> Iterator[Result]:
        """Run candidates (edits, weight) on all tests, in order. Raises `OutOfBudget`."""
        pending: list[tuple[tuple[Edit, ...], float]] = []
        programs: list[Program] = []
        size = FIRST_BATCH
        for edits, weight in candidates:
            code = self.compiled(edits)
            if code is None:
                continue
            pending.append((edits, weight))
            programs.append(Program(code, self.entry_point))
            if len(programs) >= size:
                start = time.monotonic()
                yield from self._flush(pending, programs)
                # Slow candidates go in small batches, so that the budget is looked at in time.
                took = time.monotonic() - start
                size = max(8, size // 4) if took > 0.8 else min(BATCH, size * 2)
                pending, programs = [], []
                self.check_budget()
        yield from self._flush(pending, programs)

    def _flush(
        self, pending: list[tuple[tuple[Edit, ...], float]], programs: list[Program]
    ) -> Iterator[Result]:
        rows = self.box.run_variants(programs, self.calls, self.limits)
        self.tried += len(programs)
        for (edits, weight), outcomes in zip(pending, rows, strict=True):
            passed = tuple(map(matches, outcomes, self.expected))
            yield Result(edits, weight, tuple(outcomes), passed)

    def survey(self) -> tuple[list[Outcome], list[set[int] | None]]:
        """Run the code under test with ample fuel; set the candidates' fuel by what it used.

        Returns what it did on each test (`TimedOut`: it went round and round), and for each test
        the ids of the statements of `tree` that it reached; None where unknown.
        """
        copy, statements = marked(self.tree)
        place = after_future(copy)
        body = [stmt for stmt in copy.body if self._needed(stmt)]
        body[place:place] = prelude(AMPLE)
        code = compiled(ast.Module(body=body, type_ignores=[]))
        unknown: list[set[int] | None] = [None] * len(self.tests)
        limits = Limits(cpu=0.3, wall=2.0, memory=400 << 20, stop_after=1)
        take, left = Expression(TAKE_HITS), Expression(FUEL_LEFT)
        outcomes: list[Outcome] = []
        reached = unknown
        used = stuck = 0
        for number, test in enumerate(self.tests):
            if code is None:
                outcomes.append(TimedOut())
                continue
            calls: list[Invocation] = [take, test.call, take, left]
            _, outcome, hits, rest = self.box.run(Program(code, self.entry_point), calls, limits)
            if isinstance(hits, Returned) and isinstance(hits.value, list):
                numbers = [n for n in hits.value if isinstance(n, int) and n < len(statements)]
                reached[number] = {id(statements[n]) for n in numbers}
            left_over = rest.value if isinstance(rest, Returned) else 0
            if isinstance(left_over, int) and left_over > 0:
                used += AMPLE - left_over
            elif stuck < 2:
                # Out of fuel: without it the program may still end, or is stuck indeed.
                plain = Program(self.code, self.entry_point)
                outcome = self.box.run(plain, [test.call], Limits(cpu=0.5, wall=2.0))[0]
                stuck += isinstance(outcome, TimedOut)
                used += 0 if isinstance(outcome, TimedOut) else AMPLE
            else:
                outcome = TimedOut()
            outcomes.append(outcome)
        self.fuel = 2_000 + 1_000 * len(self.tests) + min(10 * used, max(3 * used, 30_000))
        return outcomes, reached

    def behaviours(
        self, edited: Sequence[Sequence[Edit]], inputs: Sequence[Invocation]
    ) -> list[list[Outcome]]:
        """What edited programs do on `inputs`, each with a full tank; `TimedOut`: it ran dry."""
        programs: list[Program] = []
        for edits in edited:
            code = self.compiled(edits, refuel=True)
            assert code is not None
            programs.append(Program(code, self.entry_point))
        calls = [call for one in inputs for call in (Expression(REFUEL), one)]
        limits = Limits(cpu=0.15, wall=1.0, memory=400 << 20, output=1 << 20, stop_after=2)
        rows = self.box.run_variants(programs, calls, limits) if calls else [[] for _ in programs]
        return [[_ended(outcome) for outcome in row[1::2]] for row in rows]

    def mutated(self, edits: Sequence[Edit]) -> ast.Module:
        """The edited program's tree, without fuel, as a copy."""
        with applied(edits):
            return stripped(self.tree)


def _ended(outcome: Outcome) -> Outcome:
    dry = isinstance(outcome, Raised) and outcome.type == "StopIteration"
    return TimedOut() if dry else outcome


def compiled(tree: ast.Module) -> CodeType | None:
    """Compile quietly; None for a program that the compiler rejects."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(tree, "<program>", "exec", dont_inherit=True)
            return code
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, OverflowError):
        return None
