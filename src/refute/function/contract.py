"""Results of function-level methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from refute.core.problems import Invocation, ProjectTest, Trust, UnitTest, Want
from refute.sandbox import Outcome, Raised
from refute.source.syntax import Function

if TYPE_CHECKING:
    from refute.function.llm.results import Trace


class State(StrEnum):
    """Claim about a function. For several functions, the first in this order is chosen."""

    WRONG = "wrong"
    """An example that is independent of the code shows it, or a crash on a legal input does."""
    PROPOSED = "proposed"
    """There is a fix, and a reason not to call it right."""
    FIXED = "fixed"
    OUT_OF_DATE = "out of date"
    """The code fails an example of its documentation, and the project's tests, which pass, notice
    when the code does otherwise."""
    PASSES = "passes"
    """It passes what is known about it: at least one example."""
    CANNOT_TELL = "cannot tell"
    """Nothing is known about it."""


Status = Literal["wrong", "raised", "timeout", "memory", "killed", "not-run"]
"""Failure of a call, in one word for scripts."""


def overall(states: Iterable[State]) -> State:
    """The claim about several functions: the first of `State` that occurs; none: `CANNOT_TELL`."""
    found = set(states)
    return next((state for state in State if state in found), State.CANNOT_TELL)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was asked for and is not looked at."""

    where: str
    """`FILE.py` or `FILE.py::FUNCTION`."""
    kind: str
    """Heading under which such cases are counted: "cannot be loaded", "no function"..."""
    reason: str
    """One line for people."""


@dataclass(frozen=True, slots=True)
class FailingTest:
    """A unit test together with what the code under test did with its input."""

    test: UnitTest
    actual: Outcome


Line = tuple[str, int]
"""A file of the project and a line of it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of one test."""

    id: str
    line: int
    """First line in its file."""
    passed: bool
    failed: bool
    """Neither: it was skipped, or is expected to fail."""
    lines: Mapping[str, frozenset[int]]
    """Lines of the project's functions that it executed, by file."""
    cpu: float
    wall: float
    """Seconds."""
    kind: str = ""
    """Of the exception that ended it."""
    message: str = ""
    trail: tuple[Line, ...] = ()
    """The exception's way through the project, outermost first."""
    lacks: bool = False
    """True if the project raised it because an import had failed."""

    def executes(self, file: str, node: Function) -> bool:
        """Return whether it executed a line of the function's body."""
        body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        return not self.lines.get(file, frozenset()).isdisjoint(body)

    @property
    def unit(self) -> UnitTest:
        """The test, as results show it."""
        return UnitTest(ProjectTest(self.id), Want(None), source=self.id.partition("::")[0])

    @property
    def failing(self) -> FailingTest:
        """With what came of it."""
        first = next(iter(self.message.splitlines()), "")
        return FailingTest(self.unit, Raised(self.kind, first))


@dataclass(frozen=True, slots=True)
class Seen:
    """The project's tests that execute a function."""

    green: Sequence[Ran] = ()
    red: Sequence[Ran] = ()
    """Those that accuse it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that can be shown without knowing the right output."""

    call: Invocation
    kind: Literal["crash"]
    actual: Outcome
    reason: str
    """One line for people: "raises NameError at line 3: name 'lenght' is not defined"."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fix that passes every trusted test."""

    code: str
    """Source of the whole module, formatted as the user's file outside the edit."""
    score: float
    """Higher is better; comparable within one problem only."""
    edits: tuple[str, ...]
    """One line per edit for people: "line 7: `<` becomes `<=`"."""
    confidence: float | None = None
    """Estimated probability that it is right, in [0, 1]; None: nobody estimated it."""


@dataclass(frozen=True, slots=True)
class Question:
    """An input on which the first candidates differ, for the user to answer (`--ask`)."""

    call: Invocation
    outputs: tuple[Outcome, ...]
    """Outcome of each shown candidate, in the order of the candidates."""


@dataclass(frozen=True, slots=True)
class MethodResult:
    """Result of a method for one problem: tests, and fixes if it has any."""

    given: tuple[UnitTest, ...]
    """The trusted tests it started from (given, and read from the description), hints excluded."""
    failing: tuple[FailingTest, ...]
    """Tests that the code under test fails, given ones first, derived ones (PREDICTED) after."""
    candidates: tuple[Candidate, ...] = ()
    """Fixes, best first, at most three, behaviourally distinct; empty: abstained."""
    findings: tuple[Finding, ...] = ()
    question: Question | None = None
    tried: int = 0
    """Candidate programs executed."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """One-line remarks for people, such as "no oracle: ..."."""
    generated: tuple[UnitTest, ...] | None = None
    """Every unit test that it generated for the code under test, also those that the code passes;
    None: the derived ones of `failing`."""
    trace: Trace | None = None
    """Record of what happened, where a model was asked."""
    reservations: tuple[str, ...] = ()
    """Reasons that the first candidate is *proposed* and not *fixed*, one line each; empty: no
    reason."""

    @property
    def derived(self) -> tuple[UnitTest, ...]:
        """The unit tests that it generated; given and stated ones are not counted."""
        if self.generated is not None:
            return self.generated
        return tuple(one.test for one in self.failing if one.test.trust is Trust.PREDICTED)

    @property
    def shown(self) -> State:
        """Return the claim about the code as given: wrong, passes or cannot tell."""
        if self.failing or self.findings:
            return State.WRONG
        return State.PASSES if self.given else State.CANNOT_TELL

    @property
    def state(self) -> State:
        """Return the claim, with the candidates taken into account.

        *fixed* needs a failing test that the method did not make up itself, no open question among
        the candidates and no reservation.
        """
        if not self.candidates:
            return self.shown
        independent = any(failed.test.trust < Trust.HINT for failed in self.failing)
        sure = independent and self.question is None and not self.reservations
        return State.FIXED if sure else State.PROPOSED


Ask = Callable[[Question], Any]
"""Returns the right output of the question's call, or raises `KeyError` when unanswered."""


def passes_note(count: int) -> str:
    """The note on a function that passes so many examples."""
    examples = f"{count} example{'s' * (count > 1)}"
    return f"the code passes its {examples}; no oracle for outputs on other inputs"
