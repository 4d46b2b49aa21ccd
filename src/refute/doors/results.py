"""What each verb answers: the types that the output schemas are made of.

Short on purpose: what a model needs to go on. The whole document is a resource (`report`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from refute.diffing.differences import Kind, Verdict
from refute.gating.findings import Turn
from refute.issue.contract import Verdict as FixVerdict
from refute.results import functions as results
from refute.workspace.contract import Outcome

_Report = Annotated[
    str, Meta(description="URI of the resource that holds the whole document of this call.")
]
_Complete = Annotated[bool, Meta(description="False: time was up before all was looked at.")]
_Unlisted = Annotated[
    int, Meta(description="Functions that are in the report only: nothing was found of them.")
]
_Summary = Annotated[str, Meta(description="The result in one line.")]


class NotLookedAt(Struct, frozen=True, kw_only=True):
    """What was left out."""

    where: str
    reason: str


class FunctionTests(results.FunctionTests, frozen=True, kw_only=True):
    """What was found out about one function."""

    file: str
    notes: Sequence[str]


class FindFailingInputResult(Struct, frozen=True, kw_only=True):
    """Unit tests that functions fail."""

    state: results.ClaimedState
    summary: _Summary
    functions: list[FunctionTests]
    unlisted: _Unlisted
    test_file: Annotated[
        str,
        Meta(
            description="The failing tests as a pytest file; empty where there is none, or where "
            "they are of several modules."
        ),
    ]
    test_path: Annotated[str, Meta(description="Where that file has to lie: it loads from there.")]
    written: Annotated[list[str], Meta(description="Files that were written.")]
    not_looked_at: list[NotLookedAt]
    complete: _Complete
    report: _Report = ""


class FunctionFix(results.FunctionFix, frozen=True, kw_only=True):
    """What became of one function."""

    file: str
    notes: Sequence[str]


class DebugFunctionResult(Struct, frozen=True, kw_only=True):
    """Fixes of functions."""

    state: results.ClaimedState
    summary: _Summary
    diff: Annotated[str, Meta(description="All fixes as one unified diff.")]
    functions: list[FunctionFix]
    unlisted: _Unlisted
    written: Annotated[list[str], Meta(description="Files that were changed.")]
    not_looked_at: list[NotLookedAt]
    complete: _Complete
    report: _Report = ""


class TestOutcome(Struct, frozen=True, kw_only=True):
    """One test that was run."""

    __test__ = False  # not a test class of pytest

    id: str
    outcome: Outcome
    failure: Annotated[str, Meta(description="Exception and message, where it failed.")]


class ReproduceIssueResult(Struct, frozen=True, kw_only=True):
    """A test that fails now for the reason that an issue describes."""

    found: Annotated[bool, Meta(description="Whether a test was seen to fail for that reason.")]
    summary: _Summary
    patch: Annotated[str, Meta(description="The test as a unified diff; empty: none.")]
    tests: Annotated[list[TestOutcome], Meta(description="How its tests fail now.")]
    confidence: float | None
    method: str
    notes: list[str]
    written: Annotated[list[str], Meta(description="Files that were changed.")]
    report: _Report = ""


class Difference(Struct, frozen=True, kw_only=True):
    """An input on which two revisions of a function differ."""

    input: str
    before: str
    after: str
    kind: Kind


class FunctionChange(Struct, frozen=True, kw_only=True):
    """What a change does to one function."""

    file: str
    function: str
    line: int
    verdict: Verdict
    mentioned: Annotated[
        str,
        Meta(
            description="Where a changed test, docstring, change log or message names the function "
            "that differs; empty: nowhere."
        ),
    ]
    differences: list[Difference]
    inputs: Annotated[int, Meta(description="How many inputs were compared.")]
    lines_never_executed: Annotated[
        int, Meta(description="Changed lines that no input reached, of both sides.")
    ]
    reason: Annotated[str, Meta(description="Why it cannot be told.")]


class CompareBehaviourResult(Struct, frozen=True, kw_only=True):
    """What a change does."""

    summary: _Summary
    unexplained: Annotated[
        bool,
        Meta(description="Whether a function behaves otherwise that nothing in the change names."),
    ]
    functions: list[FunctionChange]
    unlisted: _Unlisted
    added: list[str]
    removed: list[str]
    complete: _Complete
    report: _Report = ""


class VetPatchResult(Struct, frozen=True, kw_only=True):
    """A verdict on a fix."""

    verdict: FixVerdict
    summary: _Summary
    reproducing: Annotated[
        list[TestOutcome], Meta(description="Tests that fail without the fix, and how.")
    ]
    still_failing: Annotated[list[TestOutcome], Meta(description="... and with it.")]
    broken: Annotated[
        list[TestOutcome], Meta(description="Tests that pass without the fix and fail with it.")
    ]
    neighbours: Annotated[list[str], Meta(description="Test files run for regressions.")]
    tests: Annotated[str, Meta(description="The test patch that was used.")]
    method: Annotated[str, Meta(description="What wrote the tests; given: you.")]
    confidence: float | None
    behaviour: Annotated[
        list[FunctionChange], Meta(description="Functions that the fix makes behave otherwise.")
    ]
    behaviour_summary: str
    notes: list[str]
    report: _Report = ""


class Standing(Struct, frozen=True, kw_only=True):
    """One test on the code before a change and on the code after it."""

    id: str
    turn: Annotated[
        Turn,
        Meta(
            description="red to green: failed and passes; green before: passed without the change, "
            "so it shows nothing of it; red now: fails as before; broken: passed and fails; not "
            "run: did not run in one of the states."
        ),
    ]
    failure_before: Annotated[str, Meta(description="How it failed; empty: it did not.")]
    failure_after: str


class CheckTestsRedGreenResult(Struct, frozen=True, kw_only=True):
    """Tests of a change, run on the code before it and after it."""

    shown: Annotated[
        bool,
        Meta(description="At least one test turned from red to green, and none is red now."),
    ]
    summary: _Summary
    tests: list[Standing]
    sound: Annotated[
        bool, Meta(description="False: a run of the tests is not to be relied on; see notes.")
    ]
    notes: list[str]
    report: _Report = ""


class CheckedFunction(Struct, frozen=True, kw_only=True):
    """A function that is wrong, for an editor."""

    function: str
    line: Annotated[int, Meta(description="Of its definition, counted from 1.")]
    message: str
    tests: Annotated[str, Meta(description="A pytest file of its failing tests.")]
    test_path: Annotated[str, Meta(description="Where that file lies.")]
    code: Annotated[str, Meta(description="The whole file with its fix; empty: none was found.")]
    fix: Annotated[str, Meta(description="What the fix changes, in a line.")]
    sure: bool = False


class CheckedFile(Struct, frozen=True, kw_only=True):
    """What is wrong in a file."""

    before: Annotated[str, Meta(description="The file's text as it was looked at.")]
    functions: list[CheckedFunction]
    summary: _Summary
    complete: _Complete
