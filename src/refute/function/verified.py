"""Given tests are believed where they mean what they seem to: a look at them in the sandbox.

A check that was read out of a test (`pytests`) must go as the test itself goes (`testmodule`); a
test that fails for want of something of its own, or differently each time, is not understood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from refute.problems import Expression, FunctionProblem, UnitTest, Want
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, Sandbox
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.values import MalformedValue

__all__ = ["ENVIRONMENT", "Verified", "is_whole", "unverified", "verified"]

_LIMITS = Limits(cpu=3.0, wall=6.0)
_QUICK = 0.12
"""CPU seconds that a whole test may take to be run on thousands of candidates."""
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


@dataclass(frozen=True, slots=True)
class Verified:
    """The tests that are believed, and remarks for people."""

    tests: tuple[UnitTest, ...]
    notes: tuple[str, ...] = ()


def is_whole(test: UnitTest) -> bool:
    """Whether this is a whole test of a file, which passes where it raises nothing."""
    return isinstance(test.expected, Want) and test.expected.text is None


def unverified(tests: Sequence[UnitTest]) -> tuple[UnitTest, ...]:
    """Given tests where there is no code to look at them with (`judge`): the checks, and the whole
    tests from which none was read."""
    checks = [test for test in tests if not is_whole(test)]
    return tuple(
        test
        for test in tests
        if not is_whole(test) or not any(_holds(test, check) for check in checks)
    )


def verified(problem: FunctionProblem, *, box: Sandbox) -> Verified:
    """The given tests of a problem as far as they are understood. Raises `SandboxUnavailable`."""
    tests = problem.tests
    if not tests:
        return Verified(())
    program = Program(problem.code, problem.entry_point)
    outcomes = box.run(program, [test.call for test in tests], _LIMITS)
    good = [matches(o, expect_test(t)) for o, t in zip(outcomes, tests, strict=True)]
    failing = [test for test, ok in zip(tests, good, strict=True) if not ok]
    again = box.run(program, [t.call for t in failing], replace(_LIMITS, seed=1)) if failing else []
    unstable = {
        id(test)
        for test, outcome in zip(failing, again, strict=True)
        if matches(outcome, expect_test(test))
    }
    unclear: list[str] = []
    lost: list[UnitTest] = []
    rows: list[tuple[UnitTest, bool]] = []
    wholes = [test for test in tests if is_whole(test)]
    for test, outcome, ok in zip(tests, outcomes, good, strict=True):
        reason = None if ok else _own_fault(outcome)
        if id(test) in unstable:
            reason = "two runs of it differ"
        if reason is not None:
            if is_whole(test):
                lost.append(test)
            if is_whole(test) or not any(_holds(whole, test) for whole in wholes):
                unclear.append(reason)
        else:
            rows.append((test, ok))
    rows = [(t, ok) for t, ok in rows if ok or not any(_holds(whole, t) for whole in lost)]
    kept = _agreeing(rows)
    slow = _slow([test for test, ok in kept if ok and is_whole(test)], program, box)
    notes: tuple[str, ...] = ()
    if unclear:
        told = "; ".join(f"{reason} ({count})" for reason, count in Counter(unclear).most_common())
        notes = (f"{len(unclear)} of {len(tests)} given tests not understood: {told}",)
    return Verified(tuple(test for test, _ in kept if id(test) not in slow), notes)


def _agreeing(rows: Sequence[tuple[UnitTest, bool]]) -> list[tuple[UnitTest, bool]]:
    """Checks without those that fail where the test they were read from passes; whole tests only
    where no check was read from them that goes alike."""
    wholes = [(test, ok) for test, ok in rows if is_whole(test)]
    checks = [(test, ok) for test, ok in rows if not is_whole(test)]
    kept = []
    for test, ok in checks:
        around = [good for whole, good in wholes if _holds(whole, test)]
        if around and not _is_readable(test):
            continue
        if ok or not around or not all(around):
            kept.append((test, ok))
    for whole, ok in wholes:
        if not any(good is ok for test, good in kept if _holds(whole, test)):
            kept.append((whole, ok))
    return kept


def _is_readable(test: UnitTest) -> bool:
    """Whether the check stands there as it was written, nothing put in for what it needs."""
    put_in = ("_refute_local_", "__import__(")
    return not (
        isinstance(test.call, Expression) and any(mark in test.call.source for mark in put_in)
    )


def _holds(whole: UnitTest, test: UnitTest) -> bool:
    if whole.span is None or test.span is None or _file(whole) != _file(test):
        return False
    return whole.span[0] <= test.span[0] and test.span[1] <= whole.span[1]


def _file(test: UnitTest) -> str:
    return test.source.rpartition(":")[0]


def _slow(tests: Sequence[UnitTest], program: Program, box: Sandbox) -> set[int]:
    """Those that pass and take too long for a search."""
    if not tests:
        return set()
    limits = Limits(cpu=_QUICK, wall=1.0)
    outcomes = box.run(program, [test.call for test in tests], limits)
    pairs = zip(tests, outcomes, strict=True)
    return {id(test) for test, outcome in pairs if not matches(outcome, expect_test(test))}


def _own_fault(outcome: Outcome) -> str | None:
    """Why a failure says nothing about the function; None: it does."""
    match outcome:
        case NotRun():
            return "there was no time for it"
        case Raised(type=kind, line=None, on_import=False):
            return ENVIRONMENT.get(kind)
        case Returned():
            try:
                shown = outcome.value
            except MalformedValue:
                return None
            match shown:
                case (str(), str() as raised, False):
                    return ENVIRONMENT.get(raised.partition(":")[0].strip().rpartition(".")[2])
    return None
