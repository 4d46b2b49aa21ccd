"""Run edited versions of one program on its tests, many at a time."""

from __future__ import annotations

import ast
import math
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import CodeType

from refute.core.problems import Call, Expression, Invocation, UnitTest
from refute.errors import LimitReached
from refute.function.search.edit import Edit, applied
from refute.function.search.facts import (
    CodeFacts,
    gather,
    names_in,
    neighbours,
    reachable,
    vocabulary,
)
from refute.function.search.fuel import (
    FUEL_LEFT,
    REFUEL,
    STATE,
    TAKE_HITS,
    fuelled,
    marked,
    prelude,
    refuelling,
    stripped,
)
from refute.function.search.variants import Parts, Variants, compiled
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.contract import Code, takes_code
from refute.sandbox.equality import Expected, expect_test, matches
from refute.sandbox.values import MalformedValue
from refute.source.syntax import (
    Function,
    functions_in,
    parse_expression,
    parse_module,
)

__all__ = ["OutOfBudget", "Trial", "TrialResult", "starved"]

FIRST_BATCH = 60
BATCH = 250
AMPLE = 30_000
"""Rounds allowed to the code under test, once."""


class OutOfBudget(LimitReached):
    """Time or the allowed number of candidates is used up."""


_Made = tuple[tuple[Edit, ...], float, Program]
"""Edits, their weight and the program that they make."""


_TIGHT = Limits(cpu=0.15, wall=1.0, memory=400 << 20, output=1 << 20, stop_after=1, retry=False)
"""Of one candidate: thousands run."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """An edited program and what it did on the tests."""

    edits: tuple[Edit, ...]
    weight: float
    outcomes: tuple[Outcome, ...]
    passed: tuple[bool, ...]

    @property
    def fits(self) -> bool:
        """Return whether it passed every test."""
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
    """True: candidates get ten times as much time."""
    tried: int = 0
    focus: ast.Module = field(init=False)
    """The part of `tree` that the function may use: what is worth editing."""
    late: bool = False
    """True: time was up before all that was asked for had run."""
    once: float = 0.0
    """Seconds that loading the code under test and running the tests took."""
    tree: ast.Module = field(init=False)
    expected: tuple[Expected, ...] = field(init=False)
    _variants: Variants | None = None
    """Known after `survey`; None too where the module must be loaded for each candidate."""
    _parts: Parts | None = None
    _setups: dict[tuple[int, bool], Code] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = fuelled(parse_module(self.code))
        self.focus = reachable(self.tree, self._names())
        self.order(self.tests)

    def facts(self, description: str) -> CodeFacts:
        """Return facts for edits: of the relevant part of the module, and its neighbours' names."""
        near = neighbours(self.tree, self.entry_point)
        return gather(self.focus, description, near, vocabulary(self.tree, self.entry_point))

    def parts(self) -> tuple[ast.Module, ast.Module]:
        """Return what is worth editing: the requested function or class, and the rest.

        The rest begins with the other methods of its class, then what it names. Code that makes
        the arguments of the tests is taken as right and left out.
        """
        own = self.entry_point.partition(".")[0]
        mine = [stmt for stmt in self.focus.body if getattr(stmt, "name", None) == own]
        if not mine:
            return self.focus, ast.Module([], [])
        makers = {name for test in self.tests for name in _makers(test.call)}
        rest = [
            stmt
            for stmt in self.focus.body
            if stmt not in mine and not (isinstance(stmt, Function) and stmt.name in makers)
        ]
        named = names_in(ast.Module(mine, []))
        rest.sort(key=lambda stmt: getattr(stmt, "name", None) not in named)
        methods = functions_in(ast.Module(mine, []))
        if "." in self.entry_point and self.entry_point in methods:
            method = methods.pop(self.entry_point)
            mine, rest = [method], [*methods.values(), *rest]
        return ast.Module(mine, []), ast.Module(rest, [])

    def _names(self) -> set[str]:
        """The names that the tests' calls start from."""
        found = {self.entry_point.partition(".")[0]}
        for test in self.tests:
            if not isinstance(test.call, Call):
                found |= set(_NAME.findall(repr(test.call)))
        return found

    def order(self, tests: tuple[UnitTest, ...]) -> None:
        """Set the tests and their order."""
        self.tests = tests
        self.expected = tuple(expect_test(test) for test in tests)

    @property
    def calls(self) -> list[Invocation]:
        """Return what the tests run, in their order."""
        return [test.call for test in self.tests]

    def check_budget(self) -> None:
        """Raises `OutOfBudget`."""
        if self.max_candidates is not None:
            if self.tried >= self.max_candidates:
                raise OutOfBudget
        elif time.monotonic() >= self.deadline:
            raise OutOfBudget

    def listing(self, part: float = 0.5) -> float:
        """Return when to stop listing edits, so that the rest of the time is left to run them."""
        if self.max_candidates is not None:
            return math.inf
        now = time.monotonic()
        return now + part * (self.deadline - now)

    def within(self, limits: Limits) -> Limits:
        """The limits with what is left of the time, unless candidates are counted."""
        if self.max_candidates is not None:
            return limits
        return replace(limits, run_wall=max(0.0, self.deadline - time.monotonic()))

    def program(self, edits: Sequence[Edit], *, refuel: bool = False) -> Program | None:
        """The tree with `edits` made, as a program; None where it does not compile.

        A variant of the module as it is where that is the same, else the whole module.
        """
        if self._variants is not None:
            bodies = self._variants.bodies(edits)
            if bodies is not None:
                setup = self._setup(refuel)
                return Program(self._variants.base, self.entry_point, setup=setup, bodies=bodies)
        codes = self._whole(edits, _tank(self.fuel, refuel, not takes_code(self.box)))
        return None if codes is None else Program(codes, self.entry_point)

    def _setup(self, refuel: bool) -> Code:
        key = self.fuel, refuel
        if key not in self._setups:
            as_text = not takes_code(self.box)
            self._setups[key] = _tank(self.fuel, refuel, as_text)
        return self._setups[key]

    def _whole(self, edits: Sequence[Edit], tank: Code) -> tuple[Code, ...] | None:
        """A module of candidates: with fuel, without what need not run thousands of times."""
        if self._parts is None:
            self._parts = Parts(self.tree, self._needed, not takes_code(self.box))
        codes = self._parts.codes(edits)
        return None if codes is None else (tank, *codes)

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

    def run(self, candidates: Iterable[tuple[tuple[Edit, ...], float]]) -> Iterator[TrialResult]:
        """Run candidates (edits, weight) on all tests, in order. Raises `OutOfBudget`.

        While the sandbox runs a batch, the next candidates are compiled; between two batches, when
        results are handed out, nothing runs.
        """
        made = self._made(candidates)
        ready: list[_Made] = []
        size, last = FIRST_BATCH, False
        while not last:
            began = time.monotonic()
            while not last and len(ready) < size:
                last = not _take(made, ready)
                if self._waited(time.monotonic() - began):
                    break
            batch, ready = ready[:size], ready[size:]
            # The sandbox is another process. Leaving the block waits for it: one run at a time.
            with ThreadPoolExecutor(1, thread_name_prefix="candidates") as thread:
                running = thread.submit(self._ran, batch)
                while len(ready) < BATCH and not running.done() and _take(made, ready):
                    pass
            rows, took = running.result()
            yield from self._results(batch, rows)
            # Slow candidates go in small batches, so that the budget is looked at in time.
            slow = took > 0.8 and self.max_candidates is None
            size = max(8, size // 4) if slow else min(BATCH, size * 2)
            if not last:
                self.check_budget()

    def _made(self, candidates: Iterable[tuple[tuple[Edit, ...], float]]) -> Iterator[_Made]:
        for edits, weight in candidates:
            program = self.program(edits)
            if program is not None:
                yield edits, weight, program

    def _waited(self, seconds: float) -> bool:
        """Return whether compiling what is pending took so long that it is run at once."""
        if self.max_candidates is not None:
            return False
        return seconds > max(0.1, 0.5 * (self.deadline - time.monotonic()))

    def _ran(self, batch: Sequence[_Made]) -> tuple[list[list[Outcome]], float]:
        """The outcomes of each, and the seconds that they took."""
        start = time.monotonic()
        limits = self.within(_TIGHT)
        rows = self._run_all([program for *_, program in batch], self.calls, limits)
        return rows, time.monotonic() - start

    def _results(
        self, batch: Sequence[_Made], rows: Sequence[Sequence[Outcome]]
    ) -> Iterator[TrialResult]:
        for (edits, weight, _), outcomes in zip(batch, rows, strict=True):
            if outcomes and isinstance(outcomes[0], NotRun):
                continue  # no time was left for it
            self.tried += 1
            passed = tuple(map(matches, outcomes, self.expected))
            yield TrialResult(edits, weight, tuple(outcomes), passed)

    def _run_all(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits
    ) -> list[list[Outcome]]:
        """Outcomes of each program: variants first, so that the module is loaded once for them."""
        order = sorted(range(len(programs)), key=lambda i: programs[i].setup is None)
        rows: list[list[Outcome]] = [[] for _ in programs]
        ran = self.box.run_variants([programs[i] for i in order], calls, limits)
        for place, row in zip(order, ran, strict=True):
            rows[place] = row
        return rows

    def survey(self) -> tuple[list[Outcome], list[set[int] | None]]:
        """Run the code under test with ample fuel; set the candidates' fuel by what it used.

        Returns what it did on each test (`TimedOut`: it went round and round), and for each test
        the ids of the statements of `tree` that it reached; None where unknown.
        """
        if self.max_candidates is None and time.monotonic() >= self.deadline:
            self.late = True  # to read a large module took all of it
            return [NotRun() for _ in self.tests], [None] * len(self.tests)
        copy, statements = marked(self.tree)
        as_text = not takes_code(self.box)
        parts = Parts(copy, self._needed, as_text).codes(())
        if parts is None:
            return [TimedOut() for _ in self.tests], [None] * len(self.tests)
        limits = Limits(cpu=0.3, wall=2.0, memory=400 << 20)
        take, refuel, left = Expression(TAKE_HITS), Expression(REFUEL), Expression(FUEL_LEFT)
        calls: list[Invocation] = [take, Expression(STATE)]
        for test in self.tests:
            calls += [refuel, take, test.call, take, left]
        program = Program((_tank(AMPLE, True, as_text), *parts), self.entry_point)
        start = time.monotonic()
        ran = self.box.run(program, [*calls, Expression(STATE)], self.within(limits))
        imported, before, *rows, after = ran
        self.once = time.monotonic() - start
        at_import = _hits(imported, statements)
        # A second program in the same module would find the caches and registries of the first.
        stateful = not isinstance(before, Returned) or before != after
        outcomes: list[Outcome] = []
        reached: list[set[int] | None] = []
        used = stuck = 0
        for number, test in enumerate(self.tests):
            _, _, outcome, hits, rest = rows[5 * number : 5 * number + 5]
            reached.append(_hits(hits, statements))
            left_over = rest.value if isinstance(rest, Returned) else 0
            if isinstance(outcome, NotRun):
                self.late = True
            elif isinstance(left_over, int) and left_over > 0:
                used += AMPLE - left_over
                if stateful and number:  # the tests before it may have changed what it does
                    outcome = self._alone(test)
            elif stuck < 2:
                # Out of fuel: without it the program may still end, or is stuck indeed.
                outcome = self._alone(test)
                stuck += isinstance(outcome, TimedOut)
                used += 0 if isinstance(outcome, TimedOut) else AMPLE
            else:
                outcome = TimedOut()
            outcomes.append(outcome)
        if self.late and self.max_candidates is None:
            return outcomes, reached  # what follows is for candidates, which there is no time for
        hit = frozenset[int]().union(*(one for one in reached if one is not None))
        self.focus = reachable(self.tree, self._names(), hit)
        self.fuel = 2_000 + 1_000 * len(self.tests) + min(10 * used, max(3 * used, 30_000))
        base = self._whole((), _tank(sys.maxsize, False, as_text))
        if base is not None and at_import is not None and not stateful:
            codes = tuple(code for code in base if isinstance(code, CodeType))
            if len(codes) == len(base):  # no source, which would be compiled elsewhere
                self._variants = Variants(self.tree, codes, frozenset(at_import))
        return outcomes, reached

    def _alone(self, test: UnitTest) -> Outcome:
        """Run a test on the unchanged code under test, in a process of its own."""
        limits = self.within(Limits(cpu=0.5, wall=2.0))
        return self.box.run(Program(self.code, self.entry_point), [test.call], limits)[0]

    def behaviours(
        self, edited: Sequence[Sequence[Edit]], inputs: Sequence[Invocation]
    ) -> list[list[Outcome]]:
        """Run edited programs on `inputs`, each with a full tank; `TimedOut`: it ran dry.

        The deadline is of the search for candidates: to compare those found, time is kept back.
        """
        programs: list[Program] = []
        for edits in edited:
            program = self.program(edits, refuel=True)
            assert program is not None
            programs.append(program)
        calls = [call for one in inputs for call in (Expression(REFUEL), one)]
        limits = Limits(cpu=0.15, wall=1.0, memory=400 << 20, output=1 << 20, stop_after=2)
        rows = self._run_all(programs, calls, limits) if calls else [[] for _ in programs]
        return [[_ended(outcome) for outcome in row[1::2]] for row in rows]

    def mutated(self, edits: Sequence[Edit]) -> ast.Module:
        """The edited program's tree, without fuel, as a copy."""
        with applied(edits):
            return stripped(self.tree)


def _makers(call: Invocation) -> Iterator[str]:
    """The functions whose results are arguments in an expression."""
    if isinstance(call, Expression):
        for node in ast.walk(parse_expression(call.source)):
            for one in node.args if isinstance(node, ast.Call) else ():
                if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                    yield one.func.id


def _take(made: Iterator[_Made], ready: list[_Made]) -> bool:
    """Compile one more candidate; False when there is none."""
    for one in made:
        ready.append(one)
        return True
    return False


def starved(outcome: Outcome) -> bool:
    """Return whether a candidate was stopped midway, in a call or in an example as a whole.

    Inside of a generator or a coroutine `StopIteration` becomes a `RuntimeError`.
    """
    match outcome:
        case Raised(type="StopIteration") | TimedOut():
            return True
        case Raised(type="RuntimeError", message=message):
            return message.endswith("raised StopIteration")
        case Returned():
            try:
                shown = outcome.value
            except MalformedValue:
                return False
            match shown:
                case (str(), str() as raised, bool()):
                    kind, _, message = raised.strip().partition(": ")
                    inside = kind == "RuntimeError" and message.endswith("raised StopIteration")
                    return raised.strip() == "StopIteration" or inside
    return False


def _ended(outcome: Outcome) -> Outcome:
    dry = isinstance(outcome, Raised) and outcome.type == "StopIteration"
    return TimedOut() if dry else outcome


def _tank(fuel: int, refuel: bool, as_text: bool) -> Code:
    """Code that defines the fuel."""
    tree = ast.Module(refuelling(fuel) if refuel else prelude(fuel), [])
    code = compiled(tree)
    assert code is not None
    return ast.unparse(tree) if as_text else code


def _hits(outcome: Outcome, statements: Sequence[ast.stmt]) -> set[int] | None:
    """The ids of the statements whose numbers an evaluation of `TAKE_HITS` returned."""
    if not isinstance(outcome, Returned) or not isinstance(outcome.value, list):
        return None
    numbers = [n for n in outcome.value if isinstance(n, int) and 0 <= n < len(statements)]
    return {id(statements[n]) for n in numbers}


_NAME = re.compile(r"[^\W\d]\w*")
