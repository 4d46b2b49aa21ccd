"""Work of `hunt` and `debug` on a file, function by function, with any method."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from refute.core.methods import Context, MethodSpec, finished
from refute.core.problems import FunctionProblem, UnitTest
from refute.errors import reason_to_skip
from refute.function.contract import (
    Ask,
    FailingTest,
    Finding,
    MethodResult,
    Ran,
    Seen,
    State,
    passes_note,
)
from refute.function.examples import replayed, understood
from refute.function.given_tests import believed
from refute.function.search.engine import TIME_UP, unbound_names
from refute.function.source import unified_diff
from refute.function.target import Module, problem_of
from refute.sandbox import Limits, Program, Sandbox
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import Timed

if TYPE_CHECKING:
    from refute.function.search.backwards import ProjectRepair

Solver = Callable[[FunctionProblem, Ask | None, float], MethodResult]
"""A method with its options and its context, driven to its end. The `Ask` answers its questions,
where it has any and somebody is there to answer; the number is how many seconds of the budget are
left for it (a method with a model takes as long as its model does)."""

BUDGET = 10.0
"""Seconds for one function."""
LEAST = 0.25
"""Share of the budget, at least, that is left where a module takes as long to load."""
REPLAYING = 0.8
"""Share of the budget, at most, for a look at what examples and given tests do."""
_ONCE = Limits(cpu=1.0, wall=4.0)
_NO_ORACLE = (
    "no oracle: neither the description nor a test says what it should return, so only a name "
    "that nothing binds can be found"
)


@dataclass(frozen=True, slots=True)
class Hunt:
    """Result of the hunt for one function."""

    function: str
    failing: tuple[FailingTest, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    state: State
    """Of the code as it is: wrong, passes or cannot tell."""
    known: int = 0
    """Number of trusted tests."""

    @property
    def found(self) -> bool:
        """Return whether anything wrong was found."""
        return self.state is State.WRONG

    @property
    def trouble(self) -> bool:
        """Return whether the method broke, so that nothing is known about the function."""
        return any(note.startswith(TROUBLE) for note in self.notes)


@dataclass(frozen=True, slots=True)
class Fix:
    """Fix for one function. `code` is the whole module with its fix or proposal, if any."""

    hunt: Hunt
    before: str
    code: str
    result: MethodResult
    rounds: int
    """Searches made: one, and one more for each answer of the user."""

    @property
    def state(self) -> State:
        """Return the claim about the function now."""
        late = self.hunt.state is State.OUT_OF_DATE
        return self.hunt.state if late else self.result.state

    @property
    def trouble(self) -> bool:
        """Return whether the method broke, so that nothing is known about the function."""
        return self.hunt.trouble

    @property
    def fixed(self) -> bool:
        """Return whether there is a fix that is believed to be right."""
        return self.state is State.FIXED

    def diff(self, name: str) -> str:
        """The fix as a unified diff of the file `name`."""
        return unified_diff(self.before, self.code, name)


def hunt(
    module: Module,
    *,
    solver: Solver,
    box: Sandbox,
    budget: float = BUDGET,
    count: int = 3,
    description: str | None = None,
    tests: dict[str, tuple[UnitTest, ...]] | None = None,
    spent: float = 0.0,
    brief: bool = False,
    seen: Mapping[str, Seen] = MappingProxyType({}),
) -> Iterator[Hunt]:
    """At most `count` failing tests of each of the module's functions, one function at a time.

    `box`, in which the module loads, replays the examples of its docstrings. `budget`: seconds for
    one function, that included, and its part of those `spent` on loading the module. `brief`: the
    solver is not asked about a function whose doctests pass. `seen`: what the project's own runner
    saw of each function.
    """
    budget = _left(budget, spent, module)
    solver = _understanding(solver, box, docstrings=description is None, brief=brief)
    for name in module.functions:
        ask_for = partial(problem_of, module, name, description=description)
        given = (tests or {}).get(name, ())
        result = _guarded(solver, ask_for, given, None, budget)
        yield _hunt(name, _with(seen.get(name, Seen()), result), count)


def debug(
    module: Module,
    *,
    solver: Solver,
    box: Sandbox,
    budget: float = BUDGET,
    description: str | None = None,
    tests: dict[str, tuple[UnitTest, ...]] | None = None,
    ask: Callable[[str], Ask] | None = None,
    proposed: bool = False,
    spent: float = 0.0,
    seen: Mapping[str, Seen] = MappingProxyType({}),
    project: ProjectRepair | None = None,
) -> Iterator[Fix]:
    """Fix the module's functions one after the other, each on top of the fixes before it.

    What is only proposed for one function is in the code in which the next one is looked at where
    `proposed` is set.

    `box`, `budget`, `spent` and `seen` as in `hunt`. `ask` gives, for a function's name,
    what answers its questions. `project` searches where the project's own tests are red.
    """
    budget = _left(budget, spent, module)
    solver = _understanding(solver, box, docstrings=description is None)
    code = module.source.text
    for name in module.functions:
        given = (tests or {}).get(name, ())
        ask_for = partial(problem_of, module, name, code=code, description=description)
        answers = _Counting(None if ask is None else ask(name))
        asking = answers if ask is not None else None
        known = seen.get(name, Seen())
        if known.red and project is not None:
            own = partial(_by_suite, project, known, box)
            result = _guarded(own, ask_for, given, None, budget)
            if not result.candidates:
                ask_more = partial(ask_for, description=_with_failures(ask_for, known.red))
                left = max(LEAST * budget, budget - result.seconds)
                other = _guarded(solver, ask_more, given, asking, left)
                result = _confirmed(project, known, result, other)
        else:
            result = _with(known, _guarded(solver, ask_for, given, asking, budget))
            if project is not None and result.candidates:
                first = result.candidates[0].code
                told = project.confirmed(first, known.green, foreign=True)
                result = replace(result, reservations=(*result.reservations, *filter(None, told)))
        after = result.candidates[0].code if result.candidates else code
        found = _hunt(name, result, len(result.failing) + len(result.findings))
        fix = Fix(found, code, after, result, 1 + answers.count)
        if fix.fixed or proposed:
            code = after
        yield fix


def _with_failures(ask_for: Callable[..., FunctionProblem], red: Sequence[Ran]) -> str:
    """The description, and what the project's red tests say, for a method that reads it."""
    told = "\n".join(f"{test.id} fails: {test.kind}: {test.message}" for test in red)
    return f"{ask_for(tests=()).description}\n\n{told}"


def _confirmed(
    project: ProjectRepair, seen: Seen, result: MethodResult, other: MethodResult
) -> MethodResult:
    """The result with the candidates of another search that turn all red tests green."""
    red = [test.id for test in seen.red]
    runs = [
        (one, project.confirmed(one.code, seen.green, red, foreign=True))
        for one in other.candidates
    ]
    kept = [(one, unrun) for one, (lost, unrun) in runs if not lost]
    if not kept:
        return replace(result, seconds=result.seconds + other.seconds, trace=other.trace)
    more = (*result.failing, *other.failing)
    reservations = (*other.reservations, *filter(None, [kept[0][1]]))
    candidates = tuple(one for one, _ in kept)
    return replace(other, failing=more, candidates=candidates, reservations=reservations)


def _by_suite(
    project: ProjectRepair, seen: Seen, box: Sandbox, problem: FunctionProblem, ask: Ask | None,
    seconds: float,
) -> MethodResult:  # fmt: skip
    """Fixes that the project's tests show, without those that spoil an example of the docstring."""
    result = project.repaired(problem, seen, seconds)
    if not result.candidates:
        return result
    problem, _ = understood(problem, box=box)
    examples = problem.examples or ()
    calls = [test.call for test in examples]

    def failing(code: str) -> set[int]:
        outcomes = box.run(Program(code, problem.entry_point), calls, _ONCE)
        pairs = enumerate(zip(outcomes, map(expect_test, examples), strict=True))
        return {place for place, (outcome, want) in pairs if not matches(outcome, want)}

    before = failing(problem.code)
    kept = tuple(one for one in result.candidates if failing(one.code) <= before)
    if kept[:1] != result.candidates[:1]:
        told = "the likeliest fix spoils an example of the docstring"
        result = replace(result, reservations=(*result.reservations, told))
    return replace(result, candidates=kept)


def _with(seen: Seen, result: MethodResult) -> MethodResult:
    """The result with the project's own tests that execute the function."""
    if not (seen.red or seen.green):
        return result
    return replace(
        result,
        given=(*(test.unit for test in (*seen.red, *seen.green)), *result.given),
        failing=(*(test.failing for test in seen.red), *result.failing),
        notes=tuple(note for note in result.notes if "no oracle" not in note),
    )


def _left(budget: float, spent: float, module: Module) -> float:
    """Seconds that are left for each function where so many went on the module."""
    return max(LEAST * budget, budget - spent / max(1, len(module.functions)))


def _understanding(
    solver: Solver, box: Sandbox, *, docstrings: bool, brief: bool = False
) -> Solver:
    """The solver, given problems whose tests are understood, and whose docstrings are where they
    describe them."""

    def solve(problem: FunctionProblem, ask: Ask | None, seconds: float) -> MethodResult:
        timed = Timed(box, time.monotonic() + REPLAYING * seconds)
        tests, notes = believed(problem, box=timed)
        problem = replace(problem, tests=tests)
        if docstrings and timed.over:  # to read a large module again would take as long
            problem = replace(problem, examples=())
        elif docstrings:
            quick = brief and not problem.tests and not unbound_names(problem.code)
            found = replayed(problem, box=timed, brief=quick)
            notes = (*notes, *found.notes)
            if found.green:
                return MethodResult(found.tests, (), notes=(*notes, passes_note(len(found.tests))))
            problem = replace(problem, examples=found.tests, unending=found.unending)
        else:
            problem, told = understood(problem, box=timed, described=True)
            notes = (*notes, *told)
        if timed.spent or timed.over:
            notes = (*notes, TIME_UP)
        end = timed.deadline + (1 - REPLAYING) * seconds
        result = solver(problem, ask, max(0.0, end - time.monotonic()))
        return replace(result, notes=(*notes, *result.notes))

    return solve


def fixed_code(fixes: Sequence[Fix], *, proposed: bool = False) -> str:
    """The whole module with every fix; with what is only proposed where `proposed` is set."""
    taken = [fix.code for fix in fixes if fix.fixed or proposed]
    return taken[-1] if taken else fixes[0].before


def inline(spec: MethodSpec[Any, MethodResult], options: Any, box: Sandbox, *, seed: int) -> Solver:
    """A method that asks no model, in this thread and this sandbox. `options` None: its own."""
    from refute.sandbox.pool import InlineSandbox

    def solver(problem: FunctionProblem, ask: Ask | None, seconds: float) -> MethodResult:
        ctx = Context(sandbox=InlineSandbox(box), seed=seed, ask=ask, seconds=seconds)
        return finished(spec(problem, ctx=ctx, options=options))

    return solver


TROUBLE = "given up, for trouble of refute's own"
"""Start of the note on a function on which the method broke."""


def _guarded(
    solver: Solver,
    problem_with: Callable[..., FunctionProblem],
    tests: tuple[UnitTest, ...],
    ask: Ask | None,
    seconds: float,
) -> MethodResult:
    """Return the method's result; a note if it breaks, so that the other functions continue.

    Raises what is wrong with the input or with what we depend on (sandbox, model, disk); with
    REFUTE_TRACEBACK in the environment everything.
    """
    try:
        return solver(problem_with(tests=tests), ask, seconds)
    except Exception as error:
        return MethodResult((), (), notes=(f"{TROUBLE}: {reason_to_skip(error)}",))


def _hunt(name: str, result: MethodResult, count: int) -> Hunt:
    failing = result.failing[:count]
    shown = [test.test.call for test in failing]
    findings: Sequence[Finding] = [f for f in result.findings if f.call not in shown]
    notes = result.notes
    known = any("oracle" in note or note.startswith((TROUBLE, TIME_UP)) for note in notes)
    if not result.given and not failing and not known:
        notes = (*notes, _NO_ORACLE)
    findings = tuple(findings[: count - len(failing)])
    return Hunt(name, failing, findings, notes, result.shown, len(result.given))


class _Counting:
    """An `Ask` that counts the answers."""

    def __init__(self, ask: Ask | None) -> None:
        self.count = 0
        self._ask = ask

    def __call__(self, question: object) -> object:
        assert self._ask is not None
        answer = self._ask(question)  # type: ignore[arg-type]
        self.count += 1
        return answer
