"""Versions of the code that compete, and how they and the tests validate each other.

- A version that fails a certain test (given, or stated formally by the description) is out, as soon
  as it is a fix; the code under test stays as what any fix must improve on.
- A generated test that every plausible version fails is *suspect* when two fixes that the model
  wrote agree on another output: it is then no evidence of a fault.
- The best version passes the most tests; of equals the one that behaves as most others do, then the
  one that came first. It replaces the code only if it passes more than the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from refute.function.contract import FailingTest
from refute.function.llm.trials import Trial, try_code
from refute.function.search.choose import behaviour
from refute.problems import FunctionProblem, Invocation, UnitTest
from refute.sandbox import Limits, Outcome, Program, Returned
from refute.sandbox.equality import equal
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue

__all__ = ["Version", "Versions"]

_LIMITS = Limits(cpu=0.3, memory=512 << 20, output=1 << 20, stop_after=3)


@dataclass(slots=True)
class Version:
    """One version of the module."""

    code: str
    origin: Literal["given", "model", "search"]
    certain: Trial
    """What it does on the certain tests."""
    trial: Trial
    """What it does on the generated tests."""
    answer: str = ""
    """The model's answer that it was read from."""
    edits: tuple[str, ...] = ()
    """What a search has changed, one line each."""
    behaviour: tuple[Outcome, ...] = ()
    """What it does on the inputs that versions are told apart by."""

    @property
    def plausible(self) -> bool:
        """Whether it passes every certain test."""
        return all(self.certain.verdicts)


class Versions:
    """The versions in the order in which they came, the code under test first."""

    def __init__(
        self, problem: FunctionProblem, certain: Sequence[UnitTest], box: AsyncSandbox
    ) -> None:
        self._name = problem.entry_point
        self._certain = tuple(certain)
        self._box = box
        self._tests: tuple[UnitTest, ...] = ()
        self.all: list[Version] = []

    @property
    def given(self) -> Version:
        """The code under test."""
        return self.all[0]

    async def enter(
        self,
        code: str,
        origin: Literal["given", "model", "search"],
        answer: str = "",
        *,
        edits: Sequence[str] = (),
    ) -> Version:
        """Let a version in, or find it there. Raises `SandboxUnavailable`."""
        for known in self.all:
            if known.code == code:
                return known
        certain = await try_code(code, self._name, self._certain, self._box)
        trial = Trial((), (), ())
        version = Version(code, origin, certain, trial, answer, tuple(edits))
        if version.plausible or not self.all:
            version.trial = await try_code(code, self._name, self._tests, self._box)
        self.all.append(version)
        return version

    async def test(self, tests: Sequence[UnitTest]) -> None:
        """Run the versions that are not out on further generated tests."""
        if not tests:
            return
        self._tests += tuple(tests)
        for version in self.in_play:
            more = await try_code(version.code, self._name, tests, self._box)
            old = version.trial
            version.trial = Trial(
                old.tests + more.tests, old.outcomes + more.outcomes, old.verdicts + more.verdicts
            )

    async def observe(self, calls: Sequence[Invocation]) -> None:
        """See what the versions that are not out do on `calls`, always the same ones."""
        for version in self.in_play:
            if len(version.behaviour) != len(calls):
                program = Program(version.code, self._name)
                version.behaviour = tuple(await self._box.run(program, calls, _LIMITS))

    @property
    def in_play(self) -> list[Version]:
        """The code under test, and the plausible versions."""
        return [v for v in self.all if v is self.given or v.plausible]

    @property
    def best(self) -> Version:
        """The version to go on with: the code under test, unless another passes more."""
        given = self.given
        rivals = [v for v in self.in_play if v is not given and _beats(v, given)]
        return max(rivals, key=self._rank, default=given)

    @property
    def leaders(self) -> list[Version]:
        """The code under test, and the plausible versions that no other passes more tests than."""
        fixes = [v for v in self.in_play if v is not self.given]
        most = max((v.trial.passed for v in fixes), default=0)
        return [self.given, *(v for v in fixes if v.trial.passed == most)]

    def _rank(self, version: Version) -> tuple[int, int]:
        alike = sum(
            behaviour(version.behaviour) == behaviour(other.behaviour) for other in self.in_play
        )
        return version.trial.passed, alike

    @property
    def suspects(self) -> list[UnitTest]:
        """The generated tests that are no evidence of a fault (see the module)."""
        playing = [v for v in self.all if v.plausible]
        written = [v for v in playing if v.origin == "model"]
        return [
            test
            for number, test in enumerate(self._tests)
            if not any(v.trial.verdicts[number] for v in playing)
            and _agree([v.trial.outcomes[number] for v in written])
        ]

    @property
    def believed(self) -> list[UnitTest]:
        """The other generated tests."""
        suspects = list(map(id, self.suspects))
        return [test for test in self._tests if id(test) not in suspects]

    def shown(self, version: Version, turn: int) -> FailingTest | None:
        """The failing test that is the feedback on a version; None where it passes all.

        Certain tests come first; suspects are shown only where no other test fails. `turn`: how
        often there was feedback before.
        """
        suspects = list(map(id, self.suspects))
        believed = [f for f in version.trial.failing if id(f.test) not in suspects]
        doubted = [f for f in version.trial.failing if id(f.test) in suspects]
        failing = [*version.certain.failing, *believed] or doubted
        return failing[turn % len(failing)] if failing else None


def _beats(version: Version, given: Version) -> bool:
    if not given.plausible:
        return version.plausible
    return version.trial.passed > given.trial.passed


def _agree(outcomes: Sequence[Outcome]) -> bool:
    """Whether two programs returned the same value."""
    values = []
    for outcome in outcomes:
        if isinstance(outcome, Returned):
            try:
                values.append(outcome.value)
            except MalformedValue:
                continue
    return any(equal(one, other) for at, one in enumerate(values) for other in values[:at])
