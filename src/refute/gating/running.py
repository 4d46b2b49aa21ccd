"""Tests on the old code and on the new: which were red and are green?

Each state is the base with parts of the change applied, in one workspace, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refute.errors import InputError, PatchRejected, WorkspaceUnavailable
from refute.gating.change import Change
from refute.issue.observed_calls import rows_of
from refute.workspace.contract import Failure, TestReport, TestResult, TestSelection, Workspace
from refute.workspace.patches import test_files
from refute.workspace.running import NO_TESTS, Statuses, TestStatus, run_on, statuses

GateVerdict = Literal["proven", "not proven", "nothing against it", "nothing to prove"]
"""`nothing against it`: no rule is broken, and `red-first` was left out; `nothing to prove`: no
code changed."""
Turn = Literal["red to green", "green before", "red now", "broken", "not run"]
"""Course of a test: failed and passes; passed already; fails as before; passed and fails; it did
not run in one of the states (skipped, not there, the run ended before it)."""
Rule = Literal[
    "red-first", "green-now", "no-regression", "no-test-lost", "no-skip", "not-weakened",
    "expected-said", "no-runner-change", "not-vacuous", "no-patching", "no-special-case",
    "one-example", "nothing-else", "issue-fixed",
]  # fmt: skip

RULES: dict[Rule, str] = {
    "red-first": "a change of code brings a test that was red and is green, by what the code does",
    "green-now": "the tests that the change adds or changes pass on the new code",
    "no-regression": "no test that passed on the old code fails on the new",
    "no-test-lost": "no test is gone without a word, unless others notice what it noticed",
    "no-skip": "no test that ran is skipped, and none is expected to fail",
    "not-weakened": "what a test noticed is noticed still, or somebody says why not",
    "expected-said": "an expected value changes only where docstring, issue or message says so",
    "no-runner-change": "no test passes by what decides how tests run (fixtures may be added)",
    "not-vacuous": "no new test passes whatever its calls return",
    "no-patching": "no test turns by another function in the place of the changed one",
    "no-special-case": "the change is for more than the tests' own values, and not for tests alone",
    "one-example": "near the tests' own calls the change does not only cover the old fault",
    "nothing-else": "no other function behaves otherwise without a test or a word of it",
    "issue-fixed": "with --issue: a test of the issue's own fails on the old code and passes now",
}
"""Each rule, with what it asks for."""
ALWAYS: frozenset[Rule] = frozenset({"green-now"})
"""Rules that cannot be left out: without them nothing is shown."""


ASKED: frozenset[Rule] = frozenset({"one-example"})
"""Rules that hold only where they are named: else what is against them is a note."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something against a rule."""

    rule: Rule
    where: str
    """A test's id, or `path:line`."""
    what: str
    """One line for people, and for the agent that is to fix it."""
    shown: bool = False
    """True: tests that were run show it; else it was found by reading."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Behaviour that a test noticed and no test notices any more."""

    test: str
    what: str
    called: str
    """The function's name."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """Behaviour that the tests noticed as they were, beside what they notice now."""

    lost: tuple[Lost, ...] = ()
    kept: frozenset[str] = frozenset()
    """Names of tests of whose calls everything is noticed that was."""


def chosen_rules(without: Collection[str] = (), only: Collection[str] = ()) -> frozenset[Rule]:
    """The rules that hold. Raises `InputError` for a name that is none."""
    names = {str(rule): rule for rule in RULES}
    for name in (*without, *only):
        if name not in names:
            import difflib

            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
            raise InputError(f"{name}: unknown rule of the gate{hint}")
    dropped = ALWAYS & set(without)
    if dropped:
        raise InputError(f"{', '.join(sorted(dropped))}: this rule cannot be left out")
    chosen = {rule for name, rule in names.items() if (name in only if only else rule not in ASKED)}
    kept = chosen | ALWAYS
    return frozenset(kept - {names[name] for name in without})


State = Literal["old", "red", "kept", "new", "bare"]
"""The old code; with the tests of the change and how they run; with its code; with all of it; with
all but how tests run."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One test on the code before the change and on the code after it."""

    id: str
    file: str
    before: TestStatus
    """On the old code with the tests of the change applied."""
    after: TestStatus
    failure_before: Failure | None = None
    failure_after: Failure | None = None
    imported: bool = True
    """True: the file could be imported on the old code; else that is why it failed there."""

    @property
    def turn(self) -> Turn:
        """Return how it turned."""
        match self.before, self.after:
            case "fail", "pass":
                return "red to green"
            case "pass", "pass":
                return "green before"
            case "fail", "fail":
                return "red now"
            case _, "fail":
                return "broken" if self.before == "pass" else "red now"
        return "not run"


def changed_test_files(change: Change) -> tuple[str, ...]:
    """The Python files of tests that the change adds or changes, sorted."""
    return test_files(change.tests)


def selection_of(tests: Sequence[str]) -> TestSelection:
    """Return the selection for test files and ids as people name them (`tests/test_x.py::test`)."""
    files = dict.fromkeys(one.partition("::")[0] for one in tests)
    ids = [one for one in tests if "::" in one]
    if not ids:
        return TestSelection(tuple(files))
    whole = [one for one in tests if "::" not in one]
    return TestSelection(tuple(files), (*ids, *whole))


def alone(tests: Iterable[Standing | TestResult]) -> TestSelection:
    """These tests, and none beside them."""
    chosen = list(tests)
    files = tuple(dict.fromkeys(one.file for one in chosen if one.file))
    return TestSelection(files, tuple(one.id for one in chosen))


@dataclass(frozen=True, slots=True)
class Runs:
    """Test runs on the states of a change, in one workspace, one after another."""

    change: Change
    workspace: Workspace
    timeout: float
    """Seconds for each run."""

    def run(
        self, state: State, tests: TestSelection,
        prepare: Callable[[Workspace], TestSelection | None] | None = None,
        calls: list[dict[str, Any]] | None = None,
    ) -> TestReport:  # fmt: skip
        """Run the tests in a state; one whose parts do not apply by themselves holds no test.

        `prepare`: as `run_on` has it. `calls`: receives what was watched. Raises
        `WorkspaceUnavailable`."""
        if not tests.files:
            return NO_TESTS
        found = [] if calls is None else calls
        try:
            return run_on(
                self.workspace, self.patches(state), tests, timeout=self.timeout, prepare=prepare,
                after=lambda tree: found.extend(rows_of(tree)),
            )  # fmt: skip
        except PatchRejected as error:
            if state == "new":
                raise WorkspaceUnavailable(f"the change does not apply here: {error}") from None
            return NO_TESTS

    def patches(self, state: State) -> tuple[str, ...]:
        """Return the patches to apply to the base."""
        change = self.change
        return {
            "old": (),
            "red": (change.tests, change.runner),
            "kept": (change.code,),
            "new": (change.patch,),
            "bare": (change.tests, change.code),
        }[state]


def standings(before: TestReport, after: TestReport) -> tuple[Standing, ...]:
    """Every test that either report knows, in the order of the report after the change."""
    was, now = statuses(before), statuses(after)
    files = {**was.files, **now.files}
    failures = _failures(before), _failures(after)
    found = []
    for id in dict.fromkeys((*now.tests, *was.tests)):
        file = files.get(id, "")
        one = Standing(
            id,
            file,
            was.of(id, file),
            now.of(id, file),
            failures[0].get(id) or _of_file(failures[0], was, file),
            failures[1].get(id) or _of_file(failures[1], now, file),
            file not in was.broken,
        )
        found.append(one)
    return tuple(found)


def _failures(report: TestReport) -> dict[str, Failure]:
    return {one.id: one.failure for one in report.results if one.failure is not None}


def _of_file(failures: Mapping[str, Failure], known: Statuses, file: str) -> Failure | None:
    """Return why a file could not be imported."""
    return failures.get(file) if file in known.broken else None
