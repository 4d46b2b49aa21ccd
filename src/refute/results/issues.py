"""What verbs over issues found: `reproduce/1`, `vet/1`, `ranking/1` (several fixes), `fix/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from refute.issue.contract import FixState, Verdict
from refute.results.changes import Difference, MaybeBehaviour
from refute.results.shared import Confidence
from refute.workspace.contract import Failure, Outcome, Phase

_TestPatch = Annotated[str, Meta(description="The test patch; empty where there is none.")]


class TestRun(Struct, frozen=True, kw_only=True):
    """One test that was run."""

    __test__ = False  # not a test class of pytest

    id: str
    outcome: Outcome
    phase: Phase
    failure: Failure | None


class Reproduce(Struct, frozen=True, kw_only=True, tag_field="schema", tag="reproduce/1"):
    """`reproduce`."""

    method: str
    found: bool
    patch: _TestPatch
    confidence: Confidence | None
    tests: Annotated[Sequence[TestRun], Meta(description="Tests of the patch that fail now.")]
    notes: Sequence[str]
    steps: Sequence[Any]


class VettedFix(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one fix."""

    verdict: Verdict
    reason: str
    reproducing: Sequence[TestRun]
    still_failing: Sequence[TestRun]
    broken: Sequence[TestRun]
    neighbours: Sequence[str]
    notes: Sequence[str]
    method: str
    tests: _TestPatch
    confidence: Confidence | None
    changes: MaybeBehaviour = UNSET


class Vet(VettedFix, frozen=True, kw_only=True, tag_field="schema", tag="vet/1"):
    """`vet` of one fix."""


class RankedFix(VettedFix, frozen=True):
    """One fix of several."""

    fix: str


class CallInTest(Struct, frozen=True):
    """A call in a test of the project, or a test, that comes out otherwise with the other fix."""

    test: str
    function: str
    given: str
    before: str
    after: str


class FixPair(Struct, frozen=True, kw_only=True):
    """What tells two fixes apart."""

    first: str
    second: str
    alike: bool
    differences: Sequence[Difference]
    observed: Sequence[CallInTest]
    reason: str | None


class Ranking(Struct, frozen=True, kw_only=True, tag_field="schema", tag="ranking/1"):
    """`vet` of several fixes."""

    fixes: Annotated[Sequence[RankedFix], Meta(description="The best first.")]
    pairs: Sequence[FixPair]


class Fix(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="fix/1"):
    """`fix`."""

    method: str
    state: FixState
    reasons: Sequence[str]
    patch: str
    tests: str
    failing: Sequence[str]
    confidence: Confidence | None
    separating: Sequence[Difference]
    steps: Sequence[Any]
    changes: MaybeBehaviour = UNSET
