"""Given tests are believed where they mean what they seem to: a look at them in the sandbox.

A check that was read out of a test (`pytests`) must be a call that the test itself makes
(`testmodule`, `observed`): of the function, not of a wrapper or another object of that name, with
these arguments, and with the same outcome. Where it is not, the test counts as a whole. A whole
test that names a method must be seen to call it: many classes have one of that name. A test that
fails for want of something of its own, or differently each time, is not understood.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from refute.core.problems import Call, DoctestSession, Expression, FunctionProblem, UnitTest, Want
from refute.function.called_as import called_as
from refute.function.examples.scripts import imported_packages
from refute.function.examples.session_calls import Made, calls_made, looking_at, makes
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.doctest_check import without_addresses
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.values import MalformedValue
from refute.source.syntax import Function, parse_expression

_QUICK = Limits(cpu=0.12, wall=1.0)
"""What a test may take to be run on thousands of candidates."""
_LIMITS = Limits(cpu=3.0, wall=6.0)
_ELSEWHERE = replace(_LIMITS, seed=1, elsewhere=True)
"""What one may take to be run once more, where none of the quick ones fails."""
ENVIRONMENT = {
    "NameError": "a name of its own is missing",
    "FileNotFoundError": "a file of its own is missing",
    "ImportError": "a package is missing",
    "ModuleNotFoundError": "a package is missing",
    "PermissionError": "the sandbox does not allow what it does",
    "SkipTest": "it is skipped here",
    "Skipped": "it is skipped here",
}
"""Exceptions that say nothing about a function where they do not come out of it."""


Passes = Callable[[UnitTest], bool | None]
"""Whether a test passes in the project's own runner; None: that is not known."""


def not_asked(test: UnitTest) -> None:
    """Where no runner of the project is asked."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The tests that are believed, and remarks for people."""

    tests: tuple[UnitTest, ...]
    notes: tuple[str, ...] = ()


def is_whole(test: UnitTest) -> bool:
    """Whether this is a whole test of a file, which passes where it raises nothing."""
    return isinstance(test.expected, Want) and test.expected.text is None


def examples_in(test: UnitTest) -> int:
    """How many examples a test is: one, but a whole test as many as it has assertions."""
    if not is_whole(test) or not isinstance(test.call, DoctestSession):
        return 1
    called = {
        node.id if isinstance(node, ast.Name) else node.value
        for node in ast.walk(ast.parse(test.call.steps[-1]))
        if isinstance(node, ast.Name | ast.Constant)
    }
    count = 0
    for step in test.call.steps[:-1]:
        for function in ast.walk(ast.parse(step)):
            if isinstance(function, Function) and function.name in called:
                count += sum(map(_asserts, ast.walk(function)))
    return max(1, count)


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "raises" or node.func.attr.startswith("assert")


def unverified(tests: Sequence[UnitTest]) -> tuple[UnitTest, ...]:
    """Given tests where there is no code to look at them with (`judge`): the checks, and the whole
    tests from which none was read."""
    checks = [test for test in tests if not is_whole(test)]
    return tuple(
        test
        for test in tests
        if not is_whole(test) or not any(_holds(test, check) for check in checks)
    )


def verified(
    problem: FunctionProblem,
    *,
    box: Sandbox,
    passes: Passes = not_asked,
) -> Verified:
    """The given tests of a problem as far as they are understood.

    `passes` is asked of tests that fail here: what is green there and red here tells of the
    sandbox, not of the function. Raises `SandboxUnavailable`.
    """
    tests = problem.tests
    if not tests:
        return Verified(())
    program = Program(problem.code, problem.entry_point)
    wholes = [test for test in tests if is_whole(test)]
    looks = {id(test): look for test in tests if (look := _look(test, tests, program.entry_point))}
    outcomes, seen, slow = _run(program, tests, looks, box)
    made = {name: [one for step in calls_made(seen[name]) for one in step] for name in looks}
    if called_as(problem.entry_point).method:
        pairs = zip(tests, outcomes, strict=True)
        calling = [(t, o) for t, o in pairs if made.get(id(t)) or id(t) not in made]
        tests, outcomes = tuple(t for t, _ in calling), [o for _, o in calling]
    good = [matches(o, expect_test(t)) for o, t in zip(outcomes, tests, strict=True)]
    ran = zip(tests, outcomes, good, strict=True)
    failing = [test for test, outcome, ok in ran if not ok and not isinstance(outcome, NotRun)]
    again = box.run(program, [t.call for t in failing], _ELSEWHERE) if failing else []
    before = {id(test): outcome for test, outcome in zip(tests, outcomes, strict=True)}
    unstable = {
        id(test)
        for test, outcome in zip(failing, again, strict=True)
        if matches(outcome, expect_test(test)) or _told(outcome) != _told(before[id(test)])
    }
    unclear: list[str] = []
    lost: list[UnitTest] = []
    rows: list[tuple[UnitTest, bool]] = []
    imported = imported_packages(problem.code)
    for test, outcome, ok in zip(tests, outcomes, good, strict=True):
        if isinstance(outcome, NotRun) and id(test) in slow:
            continue
        reason = None if ok else _own_fault(outcome, imported)
        if id(test) in unstable:
            reason = "it differs from run to run, or from place to place"
        if not ok and reason is None and passes(test):
            reason = "it passes in the project's own runner"
        if reason is not None:
            if is_whole(test):
                lost.append(test)
            if is_whole(test) or not any(_holds(whole, test) for whole in wholes):
                unclear.append(reason)
        else:
            rows.append((test, ok))
    rows = [(t, ok) for t, ok in rows if ok or not any(_holds(whole, t) for whole in lost)]
    alone = {id(test): outcome for test, outcome in zip(tests, outcomes, strict=True)}
    believed: list[tuple[UnitTest, bool]] = []
    for test, ok in rows:
        around = [whole for whole in wholes if _holds(whole, test)]
        there = [one for whole in around for one in made.get(id(whole), ())]
        if is_whole(test) or not around or _is_made(test, alone[id(test)], there, made):
            believed.append((test, ok))
    kept = [
        test for test, ok in _agreeing(believed) if not (ok and is_whole(test) and id(test) in slow)
    ]
    notes: tuple[str, ...] = ()
    if unclear:
        told = "; ".join(f"{reason} ({count})" for reason, count in Counter(unclear).most_common())
        notes = (f"{len(unclear)} of {len(tests)} given tests not understood: {told}",)
    return Verified(tuple(kept), notes)


def _run(
    program: Program, tests: Sequence[UnitTest], looks: Mapping[int, DoctestSession], box: Sandbox
) -> tuple[list[Outcome], dict[int, Outcome], frozenset[int]]:
    """The outcomes of the tests, those of the looks, and the ids of the tests that take long.

    A run for all of each kind: the program is imported once. Of the tests that take long those that
    pass are of no use to a search, so that they are looked at only where no other one fails.
    """
    calls = [*(test.call for test in tests), *looks.values()]
    outcomes = box.run(program, calls, _QUICK)
    late = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, TimedOut)]
    quick = [(t, o) for t, o in zip(tests, outcomes, strict=False) if not isinstance(o, TimedOut)]
    if late and all(matches(o, expect_test(t)) for t, o in quick):
        longer = box.run(program, [calls[index] for index in late], _LIMITS)
        for index, outcome in zip(late, longer, strict=True):
            outcomes[index] = outcome
    else:
        for index in late:
            outcomes[index] = NotRun()
    slow = frozenset(id(tests[index]) for index in late if index < len(tests))
    return outcomes[: len(tests)], dict(zip(looks, outcomes[len(tests) :], strict=True)), slow


def _agreeing(rows: Sequence[tuple[UnitTest, bool]]) -> list[tuple[UnitTest, bool]]:
    """Checks without those that fail where the test they were read from passes; whole tests only
    where no check was read from them that goes alike."""
    wholes = [(test, ok) for test, ok in rows if is_whole(test)]
    checks = [(test, ok) for test, ok in rows if not is_whole(test)]
    kept = []
    for test, ok in checks:
        around = [good for whole, good in wholes if _holds(whole, test)]
        if ok or not around or not all(around):
            kept.append((test, ok))
    for whole, ok in wholes:
        if not any(good is ok for test, good in kept if _holds(whole, test)):
            kept.append((whole, ok))
    return kept


def _look(test: UnitTest, tests: Sequence[UnitTest], entry_point: str) -> DoctestSession | None:
    """What to run to see which calls a test makes; None where nothing hangs on it."""
    if is_whole(test):
        checked = any(not is_whole(one) and _holds(test, one) for one in tests)
        checked |= called_as(entry_point).method
        return looking_at(test.call) if checked and isinstance(test.call, DoctestSession) else None
    if isinstance(test.call, Expression) and not _foreign(test.call.source, entry_point):
        return looking_at(test.call)
    return None


def _is_made(
    test: UnitTest, outcome: Outcome, there: Sequence[Made], made: Mapping[int, Sequence[Made]]
) -> bool:
    """Whether a check is what its test does, and stands there as it was written."""
    if not isinstance(test.call, (Call, Expression)):
        return False
    return makes(there, test.call, outcome, made.get(id(test), ()))


def _foreign(source: str, entry_point: str) -> bool:
    """Whether an expression uses a name that may mean something else in the file of tests, or that
    was put in for what it needs there."""
    names = [one for one in ast.walk(parse_expression(source)) if isinstance(one, ast.Name)]
    own = {one.id for one in names if not isinstance(one.ctx, ast.Load)}
    own |= {one.arg for one in ast.walk(parse_expression(source)) if isinstance(one, ast.arg)}
    own |= {entry_point.partition(".")[0], *dir(builtins)} - {"__import__"}
    return any(one.id.startswith("_refute_local_") or one.id not in own for one in names)


def _holds(whole: UnitTest, test: UnitTest) -> bool:
    if whole.span is None or test.span is None or _file(whole) != _file(test):
        return False
    return whole.span[0] <= test.span[0] and test.span[1] <= whole.span[1]


def _file(test: UnitTest) -> str:
    return test.source.rpartition(":")[0]


def _told(outcome: Outcome) -> str:
    """How a test failed, as far as it says so in words."""
    match outcome:
        case Raised(type=kind, message=message):
            return without_addresses(f"{kind}: {message}")
        case Returned():
            try:
                shown = outcome.value
            except MalformedValue:
                return ""
            if isinstance(shown, tuple) and shown[1:2] and isinstance(shown[1], str):
                return without_addresses(shown[1])
    return ""


_PACKAGE = ("ImportError", "ModuleNotFoundError")


def _own_fault(outcome: Outcome, imported: frozenset[str]) -> str | None:
    """Why a failure says nothing about the function; None: it does. `imported`: the packages that
    the program asks for; one that is not there is not the function's fault either."""
    match outcome:
        case NotRun():
            return "there was no time for it"
        case Raised(type=kind, message=message, line=line, on_import=False):
            inside = line is not None
        case Returned():
            try:
                shown = outcome.value
            except MalformedValue:
                return None
            match shown:
                case (str(), str() as raised, bool() as inside):
                    kind, _, message = raised.partition(":")
                    kind = kind.strip().rpartition(".")[2]
                case _:
                    return None
        case _:
            return None
    if inside and not (kind in _PACKAGE and set(re.findall(r"\w+", message)) & imported):
        return None
    return ENVIRONMENT.get(kind)
