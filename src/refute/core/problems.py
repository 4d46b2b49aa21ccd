"""The words of the project as types: problems, answer keys, unit tests, predictions.

Blind by type (docs/architecture.md, rule 1): a method takes a `FunctionProblem` and returns a
prediction; only a grader takes a `FunctionKey`. Nothing in this module executes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, Literal

from msgspec import Meta

from refute.workspace.contract import Recipe

Number = Annotated[float, Meta(gt=-(2.0**53), lt=2.0**53)]
"""Neither infinite nor NaN, nor a long integer that no float holds."""
Count = Annotated[int, Meta(ge=0, lt=2**53)]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a problem's entry point with argument values (see `refute.sandbox.values`)."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expression:
    """Source of an expression over the program's names, e.g. ``decode(encode("ab"))``.

    It is evaluated inside the sandbox only, in the program's global namespace.
    """

    source: str


@dataclass(frozen=True, slots=True)
class DoctestSession:
    """Doctest examples that run in order in one namespace, as `doctest` runs them.

    It returns what its last example showed: (text printed, last line of the exception or None,
    whether the exception passed the program); for more than one `watched`, a list of these.
    """

    steps: tuple[str, ...]
    """Source of each example, without prompts, each ending in a line feed."""
    watched: int = 1
    """Number of the last steps that come back."""
    observed: bool = False
    """True if all that comes back is whether the program's function ran."""

    @property
    def source(self) -> str:
        """The examples with their prompts, as a docstring would hold them."""
        lines = []
        for step in self.steps:
            first, *rest = step.rstrip("\n").split("\n")
            lines += [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A call as a small program over the program's names: set-up, then one observed expression.

    It runs inside the sandbox only, in a namespace and a directory of its own, and returns a record
    of what the expression did (see `refute.sandbox.observing`; `function.scenarios` reads it).
    """

    expression: str
    """``c.total()``: of its outermost call the receiver and the arguments are watched."""
    setup: tuple[str, ...] = ()
    """Statements before it, one simple statement each: ``c = Cart(tax=0.2)``, ``c.add("a", 2)``."""
    imports: tuple[tuple[str, str], ...] = ()
    """Names that are not the program's own: ("Decimal", "decimal:Decimal"), ("math", "math")."""
    lines: tuple[int, ...] = ()
    """Lines whose execution is recorded."""
    file: str = ""
    """Absolute path of the file that the lines are of; "": the program's own."""

    @property
    def source(self) -> str:
        """The statements and the expression, as code."""
        return "\n".join((*self.setup, self.expression))


@dataclass(frozen=True, slots=True)
class ProjectTest:
    """A test of a project, which its own runner runs, as it stands; its outcome is known."""

    source: str
    """The runner's own name for it."""


Invocation = Call | Expression | DoctestSession | Scenario | ProjectTest
"""Program parts that a unit test runs."""


@dataclass(frozen=True, slots=True)
class Want:
    """Expected output of the last example of a `DoctestSession`, compared by `doctest`'s rules."""

    text: str | None
    """Expected output, ending in a line feed; "": none; None: it does not matter."""
    raised: str | None = None
    """The last line of the expected traceback; None: no exception."""
    options: int = 0
    """Flags of `doctest` that the example's directives set."""


class Trust(IntEnum):
    """Source of an expected output, most trusted first."""

    STATED = 0
    """The user gave it as a test, or the description states it formally (doctest, assert, ==)."""
    WORDED = 1
    """Read from the prose or arrows of a benchmark's task."""
    HINT = 2
    """Found inside the faulty code (its comments, its self-test): may be as wrong as the code."""
    PREDICTED = 3
    """Derived by a method: voted by surviving candidates or by a model."""


@dataclass(frozen=True, slots=True)
class UnitTest:
    """A unit test (UT): an input and its expected output (UTGen, section 2).

    `expected` is a plain value (see `refute.sandbox.values`), for a `DoctestSession` a `Want`.
    `raises`, when set, is the name of the exception type that the call must raise, and `expected`
    is then ignored.
    """

    call: Invocation
    expected: Any = None
    raises: str | None = None
    trust: Trust = Trust.STATED
    source: str = ""
    """Origin, for people: "description line 4", "tests.jsonl:3", "search"."""
    span: tuple[int, int] | None = None
    """Character offsets [start, end) in the text it was read from."""
    confidence: float = 1.0
    """Estimated probability that `expected` is right, in [0, 1]."""
    typed: bool = False
    """True if the types of numbers count: ``4`` is not ``4.0``, as where a doctest shows it."""


@dataclass(frozen=True, slots=True)
class FunctionProblem:
    """Problem of the function level, for methods: a description and the code under test."""

    id: str
    description: str
    """Purpose of the function, in words; may hold worked examples."""
    signature: str
    """`name(params) -> annotation`, as the dataset or the source states it."""
    entry_point: str
    code: str
    """Source of a whole module that defines `entry_point`: the code under test."""
    tests: tuple[UnitTest, ...] = ()
    """Unit tests that are given with the problem (visible tests, `--tests`)."""
    examples: tuple[UnitTest, ...] | None = None
    """Examples of the description, understood by replaying them (see `function.examples`).
    None: they are yet to be."""
    unending: tuple[Invocation, ...] = ()
    """Calls of `examples` that were seen not to end."""
    editor_lines: tuple[str, ...] = ()
    """Lines added to the description where code is edited, and nowhere else: the released code of
    UTGen shows a visible assert there, which neither the tester nor any suite knows."""
    whole: bool = False
    """The program of an edit replaces all of the code, as in UTGen; else its definitions are put
    into the module, whose docstrings and other definitions stay."""


@dataclass(frozen=True, slots=True)
class FunctionKey:
    """Answer key of the function level, for graders: reference code and private unit tests."""

    id: str
    entry_point: str
    reference: str
    """Source of a whole module that defines `entry_point` rightly."""
    inputs: tuple[tuple[Any, ...], ...]
    """Arguments of each private unit test."""
    expected: tuple[Any, ...] | None = None
    """Expected output of each input; None: what the reference returns (computed in the sandbox)."""
    atol: float = 0.0
    """Absolute tolerance for floats, as EvalPlus's `atol`."""
    checker: str | None = None
    """Name of a special checker in `refute.sandbox.equality`, where equality is not the rule."""
    contract: str | None = None
    """Statements that raise on invalid arguments, first in the entry point's body; None: no
    contract is known (then an input is valid when the reference returns)."""
    seconds: float | None = None
    """CPU seconds that every call may use; None: as much as the reference's needs allow."""


@dataclass(frozen=True, slots=True)
class FunctionPrediction:
    """Prediction of a function-level method for one problem."""

    problem: str
    """The problem's id."""
    status: Literal["fixed", "abstained", "passes"]
    """`fixed`: there is a first candidate, whether the method calls it fixed or only proposed (a
    benchmark grades both alike). `passes`: no test that the method believes in fails on the code.
    """
    candidates: tuple[str, ...] = ()
    """Module sources of the fixes, best first; behaviourally distinct; empty: abstained."""
    tests: tuple[UnitTest, ...] = ()
    """The unit tests that the method generated (not the given ones)."""


@dataclass(frozen=True, slots=True)
class IssueProblem:
    """Problem of the issue level, for methods: a repository at the commit before the fix, and the
    issue."""

    id: str
    """The instance's id, e.g. `django__django-11001`."""
    repo: str
    """`owner/name`, or the path of a user's own repository."""
    base_commit: str
    text: str
    """Title, a line feed and the body of the issue; no later comments."""
    recipe: Recipe | None = None
    """Recipe to run its tests; names no test. None: inferred from the repository."""
    created_at: str = ""
    """ISO time at which the issue was opened; "" where unknown."""
    version: str = ""
    prompt: str = field(default="", repr=False)
    """A prompt about the issue that the dataset brings along; "" where it brings none."""


@dataclass(frozen=True, slots=True)
class IssueKey:
    """Answer key of the issue level, for graders: the golden patch and the golden tests."""

    id: str
    patch: str
    """The golden patch, without test files."""
    test_patch: str
    fail_to_pass: tuple[str, ...] = ()
    """Test ids as the dataset writes them."""
    pass_to_pass: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuePrediction:
    """Prediction of a reproducer for one issue."""

    problem: str
    patch: str
    """Unified diff against the base commit; "": it abstained."""
    confidence: float | None = None
    """Estimated probability that a test of the patch fails now and passes once fixed, in [0, 1];
    None: the method has no evidence for an estimate."""
    tests: tuple[str, ...] = ()
    """Ids of the tests that were seen to fail on the original code for the issue's reason."""
    notes: tuple[str, ...] = ()
    """One-line remarks for people: why it abstained, what the evidence is."""
