"""Run a version of the module on unit tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.core.problems import FunctionProblem, Trust, UnitTest
from refute.function.contract import FailingTest
from refute.function.search.engine import trusted_tests
from refute.sandbox import Limits, Outcome, Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import AsyncSandbox

_LIMITS = Limits(cpu=1.0, memory=512 << 20)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """Results of a version of the code on a suite."""

    tests: tuple[UnitTest, ...]
    outcomes: tuple[Outcome, ...]
    verdicts: tuple[bool, ...]
    """Whether it passes each test."""

    @property
    def passed(self) -> int:
        """Return how many tests it passes; the pass rate is this over the size of the suite."""
        return sum(self.verdicts)

    @property
    def failing(self) -> tuple[FailingTest, ...]:
        """The tests that it fails, in the order of the suite."""
        rows = zip(self.tests, self.outcomes, self.verdicts, strict=True)
        return tuple(FailingTest(test, outcome) for test, outcome, passed in rows if not passed)

    def breaks(self, before: SuiteRun) -> list[UnitTest]:
        """The tests that were passed in `before`, a trial on the same tests, and no longer are."""
        rows = zip(self.tests, before.verdicts, self.verdicts, strict=True)
        return [test for test, was, still in rows if was and not still]

    def restricted(self, tests: Sequence[UnitTest]) -> SuiteRun:
        """The trial on some of its tests (the same objects), in their order."""
        places = {id(test): place for place, test in enumerate(self.tests)}
        rows = [places[id(test)] for test in tests]
        return SuiteRun(
            tuple(tests),
            tuple(self.outcomes[row] for row in rows),
            tuple(self.verdicts[row] for row in rows),
        )


async def try_code(
    code: str, entry_point: str, tests: Sequence[UnitTest], box: AsyncSandbox
) -> SuiteRun:
    """Run `code` on `tests`, one second of CPU time each. Raises `SandboxUnavailable`."""
    program = Program(code, entry_point)
    outcomes = await box.run(program, [t.call for t in tests], _LIMITS) if tests else []
    verdicts = [matches(o, expect_test(t)) for t, o in zip(tests, outcomes, strict=True)]
    return SuiteRun(tuple(tests), tuple(outcomes), tuple(verdicts))


def certain_tests(problem: FunctionProblem) -> tuple[UnitTest, ...]:
    """The tests that need no vote: given ones, and those that the description states formally."""
    trusted, _ = trusted_tests(problem)
    given = set(map(id, problem.tests))
    stated = (test for test in trusted if test.trust is Trust.STATED)
    return tuple(
        test for test in stated if id(test) in given or not _unfinished(test, problem.description)
    )


def _unfinished(test: UnitTest, description: str) -> bool:
    """A doctest ``>>> f(1) == 2`` that does not say ``True``: as it stands it expects no output.

    Some descriptions of HumanEval hold such lines, and not all of them are right (number 116).
    """
    if test.span is None:
        return False
    number = description.count("\n", 0, test.span[0])
    line, after, *_ = [*description.split("\n")[number : number + 2], "", ""]
    return line.lstrip().startswith(">>>") and "==" in line and after.strip() != "True"
