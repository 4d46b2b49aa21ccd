"""What `hunt` (`hunt/1`) and `debug` (`debug/1`) found: of one function, of one file, of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from refute.function.contract import State, Status
from refute.results.shared import Confidence, Count, Known, NotLookedAt

ClaimedState = Annotated[
    State,
    Meta(
        description="wrong: shown by a failing test; proposed: there is a fix, and a reason not "
        "to call it right; fixed; passes: passes what is known about it; cannot tell: nothing is "
        "known about it."
    ),
]
_States = Annotated[
    Mapping[State, Count], Meta(extra_json_schema={"propertyNames": {"enum": [*State]}})
]
_TestsRead = Annotated[
    float,
    Meta(
        ge=0, le=1, description="Share of the tests in --tests about these functions that was read."
    ),
]
_Function = Annotated[str, Meta(description="Qualified name.")]
_Found = Annotated[bool, Meta(description="Whether anything wrong was found.")]
_Fixed = Annotated[bool, Meta(description="Whether the fix is believed to be right.")]
_Code = Annotated[str, Meta(description="The whole file with its fixes.")]
_Diff = Annotated[str, Meta(description="Unified diff; empty where there is no fix.")]


class FailingCall(Struct, frozen=True, kw_only=True):
    """An input on which a function is wrong."""

    call: Annotated[str, Meta(description="The call as Python source.")]
    expected: Annotated[
        str | None,
        Meta(
            description="What it should do, as Python source or in words; null where nothing says "
            "what is right."
        ),
    ]
    actual: Annotated[str, Meta(description="What the function did.")]
    status: Annotated[
        Status | Literal["crash", "contradiction"],
        Meta(description="How it fails."),
    ]
    source: Annotated[str, Meta(description="Where the expected output comes from.")]
    confidence: Confidence | None


class FunctionTests(Struct, frozen=True, kw_only=True):
    """What was found out about one function."""

    function: _Function
    state: ClaimedState
    tests: Sequence[FailingCall]
    found: _Found


class HuntedFile(Struct, frozen=True, kw_only=True):
    """What was found out about the functions of one file."""

    functions: Sequence[FunctionTests]
    state: ClaimedState
    found: _Found


class FileTests(HuntedFile, frozen=True):
    """One file among others."""

    file: str


class _OfFiles(Struct, frozen=True, kw_only=True, omit_defaults=True):
    state: ClaimedState
    states: _States
    skipped: Sequence[NotLookedAt]
    tests_read: _TestsRead | UnsetType = UNSET
    known: Known = 0


class HuntOfFunction(
    FunctionTests, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="hunt/1"
):
    """`hunt` of one function."""

    tests_read: _TestsRead | UnsetType = UNSET
    known: Known = 0


class HuntOfFile(
    HuntedFile, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="hunt/1"
):
    """`hunt` of several functions of one file."""

    tests_read: _TestsRead | UnsetType = UNSET
    known: Known = 0


class HuntOfFiles(_OfFiles, frozen=True, tag_field="schema", tag="hunt/1"):
    """`hunt` of folders and of several targets."""

    files: Sequence[FileTests]


class Alternative(Struct, frozen=True):
    """Another fix, which behaves otherwise."""

    score: float
    confidence: Confidence | None
    edits: Sequence[str]
    diff: str


class OpenQuestion(Struct, frozen=True):
    """A call on which the candidate fixes differ: say with a test which output is right."""

    call: str
    outputs: Annotated[Sequence[str], Meta(description="Of the fix, then of each alternative.")]


class FunctionFix(Struct, frozen=True, kw_only=True):
    """What became of one function."""

    function: _Function
    state: ClaimedState
    fixed: _Fixed
    edits: Sequence[str]
    confidence: Confidence | None
    diff: _Diff
    tests: Annotated[Sequence[FailingCall], Meta(description="What the function failed as it was.")]
    rounds: Count
    alternatives: Sequence[Alternative]
    reservations: Annotated[Sequence[str], Meta(description="Why the fix is only proposed.")]
    question: OpenQuestion | None


class FixedFile(Struct, frozen=True, kw_only=True):
    """What became of the functions of one file."""

    functions: Sequence[FunctionFix]
    state: ClaimedState
    fixed: _Fixed
    code: _Code
    diff: _Diff


class FileFixes(FixedFile, frozen=True):
    """One file among others."""

    file: str


class DebugOfFunction(
    FunctionFix, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="debug/1"
):
    """`debug` of one function."""

    code: _Code
    tests_read: _TestsRead | UnsetType = UNSET
    known: Known = 0


class DebugOfFile(
    FixedFile, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="debug/1"
):
    """`debug` of several functions of one file."""

    tests_read: _TestsRead | UnsetType = UNSET
    known: Known = 0


class DebugOfFiles(_OfFiles, frozen=True, tag_field="schema", tag="debug/1"):
    """`debug` of folders and of several targets."""

    files: Sequence[FileFixes]


class SuspectedFunctions(Struct, frozen=True):
    """A failing test."""

    test: str
    suspects: Sequence[str]


class FixOfTests(Struct, frozen=True, kw_only=True):
    """A fix that turns failing tests green."""

    function: str
    state: ClaimedState
    diff: str
    turns_green: Sequence[str]
    stay_green: Count


class NotSearched(Struct, frozen=True):
    """A suspect without a search."""

    function: str
    reason: str


class DebugFailing(Struct, frozen=True, kw_only=True, tag_field="schema", tag="failing/1"):
    """`debug --failing`."""

    state: ClaimedState
    failing: Sequence[SuspectedFunctions]
    fixes: Sequence[FixOfTests]
    not_searched: Sequence[NotSearched]
