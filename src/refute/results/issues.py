"""The documents of verbs over issues: `reproduce/1`, `vet/1`, `ranking/1`, `fix/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, convert
from msgspec.structs import asdict

from refute.issue.contract import FixState, Verdict
from refute.results import Confidence, rounded
from refute.results.changes import (
    CallInTest,
    Difference,
    MaybeBehaviour,
    behaviour,
    difference,
)
from refute.workspace.contract import Failure, Outcome, Phase

if TYPE_CHECKING:
    from refute.verbs.fix import FixResult
    from refute.verbs.issues import ReproduceResult, VetResult
    from refute.verbs.vet import RankedFixes

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


class _Evidence(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    reason: str
    reproducing: Sequence[TestRun]
    still_failing: Sequence[TestRun]
    broken: Sequence[TestRun]
    neighbours: Sequence[str]
    notes: Sequence[str]


class VettedFix(_Evidence, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one fix."""

    method: str
    tests: _TestPatch
    confidence: Confidence | None
    changes: MaybeBehaviour = UNSET


class Vet(VettedFix, frozen=True, kw_only=True, tag_field="schema", tag="vet/1"):
    """`vet` of one fix."""


class RankedFix(VettedFix, frozen=True):
    """One fix of several."""

    fix: str


class FixPair(Struct, frozen=True, kw_only=True):
    """Inputs on which two fixes differ."""

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


def reproduction_document(one: ReproduceResult) -> Reproduce:
    """Return the result of `reproduce` as a document."""
    prediction = one.found.prediction
    return Reproduce(
        method=one.method,
        found=bool(one.failing),
        patch=one.patch,
        confidence=rounded(prediction.confidence) if one.patch else 0.0,
        tests=convert(one.failing, list[TestRun], from_attributes=True),
        notes=prediction.notes,
        steps=one.found.steps,
    )


def vetted_document(one: VetResult) -> VettedFix:
    """The verdict on a fix, for other programs."""
    found, changes = one.reproduction, one.changes
    return VettedFix(
        **asdict(convert(one.vetted, _Evidence, from_attributes=True)),
        method=one.method,
        tests=one.tests,
        confidence=rounded(found.prediction.confidence) if found else None,
        changes=UNSET if changes is None else behaviour(changes),
    )


def ranked_document(ranked: RankedFixes) -> Ranking:
    """The fixes in order and what tells each pair apart, for other programs."""
    return Ranking(
        fixes=[
            RankedFix(ranked.fixes[place], **asdict(vetted_document(result)))
            for place, result in zip(ranked.places, ranked.results, strict=True)
        ],
        pairs=[
            FixPair(
                first=ranked.fixes[pair.first],
                second=ranked.fixes[pair.second],
                alike=pair.alike,
                differences=[difference(one) for one in pair.differences],
                observed=convert(pair.observed, list[CallInTest], from_attributes=True),
                reason=pair.reason or None,
            )
            for pair in ranked.separating
        ],
    )


def fix_document(result: FixResult) -> Fix:
    """Return the result of `fix` as a document."""
    claim, changes = result.claim, result.changes
    sure = result.found.prediction.confidence if result.patch else 0.0
    return Fix(
        method=result.method,
        state=claim.state,
        reasons=claim.reasons,
        patch=result.patch,
        tests=claim.tests,
        failing=claim.failing,
        confidence=rounded(sure),
        separating=[difference(one) for one in result.separating],
        steps=result.found.steps,
        changes=UNSET if changes is None else behaviour(changes),
    )
