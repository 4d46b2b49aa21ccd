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
from dataclasses import dataclass, replace
from typing import Literal

from refute.core.combinators import best_of, cross_check
from refute.core.problems import FunctionProblem, Invocation, UnitTest
from refute.function.contract import FailingTest
from refute.function.llm.generation import ProposedTest, unasked
from refute.function.llm.results import Attempt, EditRound, Suite, SuiteRun, Unreadable, try_code
from refute.function.search.choose import behaviour, differs
from refute.sandbox import Limits, NotRun, Outcome, Program, Returned
from refute.sandbox.equality import equal
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue

_LIMITS = Limits(cpu=0.3, memory=512 << 20, output=1 << 20, stop_after=3)


@dataclass(slots=True)
class Version:
    """One version of the module."""

    code: str
    origin: Literal["given", "model", "search"]
    certain: SuiteRun
    """Outcomes on the certain tests."""
    trial: SuiteRun
    """Outcomes on the generated tests."""
    answer: str = ""
    """The model's answer that it was read from."""
    edits: tuple[str, ...] = ()
    """Changes by a search, one line each."""
    behaviour: tuple[Outcome, ...] = ()
    """Outcomes on the inputs that versions are told apart by."""

    @property
    def plausible(self) -> bool:
        """Return whether it passes every certain test."""
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
        trial = SuiteRun((), (), ())
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
            version.trial = SuiteRun(
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
        """The version to continue with: the code under test, unless another passes more."""
        given = self.given
        playing = self.in_play
        agreement = cross_check([[behaviour(one.behaviour)] for one in playing])
        alike = dict(zip(map(id, playing), agreement, strict=True))
        rivals = [v for v in playing if v is not given and _beats(v, given)]
        return best_of(rivals, lambda v: (v.trial.passed, alike[id(v)]), given)

    @property
    def leaders(self) -> list[Version]:
        """The code under test, and the plausible versions that no other passes more tests than."""
        fixes = [v for v in self.in_play if v is not self.given]
        most = max((v.trial.passed for v in fixes), default=0)
        return [self.given, *(v for v in fixes if v.trial.passed == most)]

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
    """Return whether two programs returned the same value."""
    values = []
    for outcome in outcomes:
        if isinstance(outcome, Returned):
            try:
                values.append(outcome.value)
            except MalformedValue:
                continue
    return any(equal(one, other) for at, one in enumerate(values) for other in values[:at])


# -- inputs that tell them apart -------------------------------------------------------------------


@dataclass(slots=True)
class Input:
    """An input that the programs are run on, and what became of it."""

    call: Invocation
    proposal: ProposedTest
    own: bool
    """True: the model proposed it; else it is a neighbour that the engine made."""
    attempt: Attempt | None = None
    """The vote on its output, where there was one."""


def distinguishing(
    rows: Sequence[Sequence[Outcome]],
    mutants: Sequence[Sequence[Outcome]],
    *,
    own: int,
    taken: set[int],
    count: int,
) -> list[int]:
    """At most `count` numbers of inputs to ask about, most telling first.

    `rows`: what each program did on each input, the code under test first; `mutants`: the same for
    mutants of it. The first `own` inputs were proposed by the model and come first among equals.
    `taken`: inputs that were asked about before.

    An input on which the programs disagree comes before one that only mutants tell apart; inputs
    that part the programs in different ways come before a second one of the same kind; inputs on
    which all agree, mutants included, are not asked about.
    """
    given = rows[0] if rows else ()
    left = [i for i in range(len(given)) if i not in taken]
    parts = {i: _partition([row[i] for row in rows]) for i in left}
    noticed = {i: sum(differs(row[i], given[i]) for row in mutants) for i in left}
    chosen: list[int] = []
    used: list[tuple[int, ...]] = []
    while len(chosen) < count:
        worth = [i for i in left if i not in chosen and (max(parts[i]) or noticed[i])]
        if not worth:
            break

        def cost(i: int) -> tuple[int, ...]:
            part = parts[i]
            ended = sum(isinstance(row[i], Returned) for row in rows)
            return (-(max(part) > 0), used.count(part), -max(part), i >= own, -ended, -noticed[i])

        best = min(worth, key=cost)
        chosen.append(best)
        used.append(parts[best])
    return chosen


def _partition(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    """For each program the number of the first different behaviour that it shows: (0, 1, 0).

    What was not run is taken to agree with the first program.
    """
    kinds: list[object] = []
    numbers = []
    for outcome in outcomes:
        if isinstance(outcome, NotRun):
            numbers.append(0)
            continue
        kind = behaviour([outcome])
        if kind not in kinds:
            kinds.append(kind)
        numbers.append(kinds.index(kind))
    return tuple(numbers)


# -- the record ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FixAnswer:
    """An answer that was to hold a fix."""

    answer: str
    version: Version | None
    unreadable: Unreadable | None
    """Reason that there is no version."""


def suite_of(
    tries: Sequence[Attempt | Input], inputs: Sequence[Input], suspects: Sequence[UnitTest]
) -> Suite:
    """One suite: the tries of the model in their order, then the engine's inputs voted on."""
    doubted = set(map(id, suspects))
    rows = [one if isinstance(one, Attempt) else _attempt(one) for one in tries]
    rows += [_attempt(one) for one in inputs if not one.own and one.attempt is not None]
    attempts = []
    for number, row in enumerate(rows):
        if id(row.test) in doubted:
            row = replace(row, status="suspect", test=None)
        attempts.append(replace(row, number=number))
    return Suite(tuple(attempts))


def _attempt(one: Input) -> Attempt:
    if one.attempt is None:
        return unasked(one.proposal)
    return one.attempt if one.own else replace(one.attempt, unreadable=None)


def round_edits(
    number: int, readings: Sequence[FixAnswer], before: Version, best: Version, versions: Versions
) -> list[EditRound]:
    """Return a round's edits and what became of them; `best` came after `before`."""
    edits: list[EditRound] = []
    seen: list[Version] = []
    for one in readings:
        version = one.version
        if version is None:
            why = "there is none" if one.unreadable is None else one.unreadable.told
            reason = f"discarded: {why}"
            edit = EditRound(number, one.answer, None, False, reason, unreadable=one.unreadable)
            edits.append(edit)
        elif any(version is other for other in seen):
            reason = "discarded: another answer says the same"
            edits.append(EditRound(number, one.answer, version.code, False, reason))
        else:
            seen.append(version)
            edits.append(_edit(number, version, before, best, versions))
    if best is not before and not any(best is version for version in seen):
        edits.append(_edit(number, best, before, best, versions))
    return edits


def _edit(
    number: int, version: Version, before: Version, best: Version, versions: Versions
) -> EditRound:
    accepted = version is best and best is not before
    total = len(version.trial.tests) + len(version.certain.tests)
    after, was = _passed(version), _passed(before)
    if version is versions.given and not accepted:
        reason = "discarded: it changes nothing"
    elif not version.plausible and not accepted:
        [failing, *_] = version.certain.failing
        reason = f"discarded: it fails a certain test ({failing.test.source or 'given'})"
    else:
        # Others may have entered meanwhile, so that the code before it is not what it had to beat.
        rates = f"passes {after} of {total} tests, {was} before"
        reason = f"{'accepted' if accepted else 'discarded'}: {rates}"
        if accepted and version.edits:
            reason = f"accepted: {'; '.join(version.edits)}; {rates}"
    shown = versions.shown(versions.given, 0)
    return EditRound(
        number,
        version.answer,
        version.code,
        accepted,
        reason,
        None if shown is None else shown.test,
        before=was,
        after=after,
        total=total,
    )


def _passed(version: Version) -> int:
    return version.certain.passed + version.trial.passed
