"""Whether a change is shown to be done: `gate` (`gate/1`), and tests on both sides of a change
(`red-green/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, convert

from refute.gating.findings import GateVerdict, Rule, Turn
from refute.issue.contract import Verdict
from refute.results import Count
from refute.results.changes import Behaviour, behaviour

if TYPE_CHECKING:
    from refute.gating.judging import Judged
    from refute.verbs.red_green import RedGreenResult


class BrokenRule(Struct, frozen=True, kw_only=True):
    """Something against a rule of the gate."""

    rule: Rule
    where: str
    what: str
    shown: Annotated[bool, Meta(description="By tests that were run; else by reading.")]


class HowItFailed(Struct, frozen=True, kw_only=True):
    """An exception that ended a test."""

    type: str
    message: str


class TestOnBothSides(Struct, frozen=True, kw_only=True):
    """One test on the code before a change and on the code after it."""

    __test__ = False  # not a test class of pytest

    id: str
    file: str
    before: str
    after: str
    turn: Turn
    failure_before: HowItFailed | None
    failure_after: HowItFailed | None


class OnTheIssue(Struct, frozen=True, kw_only=True):
    """What a test of the issue's own says."""

    verdict: Verdict
    reason: str
    tests: str


class Gate(Struct, frozen=True, kw_only=True, tag_field="schema", tag="gate/1"):
    """`gate`."""

    verdict: GateVerdict
    reason: str
    base: str
    head: str
    findings: Sequence[BrokenRule]
    red_to_green: Sequence[str]
    tests: Sequence[TestOnBothSides]
    near: Sequence[str]
    kept: Count
    issue: OnTheIssue | None
    behaviour: Behaviour | None
    notes: Sequence[str]


class RunOfTests(Struct, frozen=True, kw_only=True):
    """How a run of tests ended."""

    status: Literal["finished", "timeout", "memory", "crashed"]
    trusted: bool
    remark: str | None


class RedGreen(Struct, frozen=True, kw_only=True, tag_field="schema", tag="red-green/1"):
    """Tests of a change, run on the code before it and after it."""

    base: str
    head: str
    tests: Sequence[TestOnBothSides]
    before: RunOfTests
    after: RunOfTests


def gate_document(judged: Judged) -> Gate:
    """The verdict on a change, for other programs."""
    issue, found = judged.issue, judged.behaviour
    return Gate(
        verdict=judged.verdict,
        reason=judged.reason,
        base=judged.base,
        head=judged.head,
        findings=convert(judged.findings, list[BrokenRule], from_attributes=True),
        red_to_green=[one.id for one in judged.turned],
        tests=convert(judged.tests, list[TestOnBothSides], from_attributes=True),
        near=judged.near,
        kept=judged.kept,
        issue=None
        if issue is None
        else OnTheIssue(verdict=issue.verdict, reason=issue.reason, tests=judged.issue_tests),
        behaviour=None if found is None else behaviour(found),
        notes=judged.notes,
    )


def red_green_document(found: RedGreenResult) -> RedGreen:
    """Tests on both sides of a change, for other programs."""
    before, after = (
        RunOfTests(status=one.status, trusted=one.trusted, remark=one.remark or None)
        for one in (found.before, found.after)
    )
    tests = convert(found.tests, list[TestOnBothSides], from_attributes=True)
    return RedGreen(base=found.base, head=found.head, tests=tests, before=before, after=after)
