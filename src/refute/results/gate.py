"""Documents about a change: `gate` (`gate/1`), and the tests that it lacks (`harden/1`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, convert, field

from refute.gating.running import GateVerdict, Rule, Turn
from refute.issue.contract import Verdict
from refute.results import Count, Line
from refute.results.changes import Behaviour, behaviour

if TYPE_CHECKING:
    from refute.gating.judging import Judged
    from refute.hardening.mutants import Mutant
    from refute.hardening.service import Hardened, Offer


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
    """Verdict of a test made from the issue."""

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


class Mutants(Struct, frozen=True, kw_only=True):
    """Counts of mutants by outcome."""

    possible: Count
    drawn: Count
    killed: Count
    timeout: Count
    survived: Count
    unreached: Count
    not_run: Count


class ProjectTests(Struct, frozen=True, kw_only=True):
    """The project's own tests on the code as it is."""

    files: Sequence[str]
    passing: Count = field(name="pass")
    do_not_pass: Count
    not_run: Count
    not_collected: Mapping[str, str]


class KilledMutant(Struct, frozen=True, kw_only=True):
    """A mutant that no test of the project kills, and an offered one does."""

    file: str
    line: Line
    function: str
    operator: str
    before: str
    after: str


class OfferedTest(Struct, frozen=True, kw_only=True):
    """A test that pins what the code does today."""

    module: str
    target: str
    file: str
    test: str
    reached_by_tests: bool
    kills: Sequence[KilledMutant]


class Harden(Struct, frozen=True, kw_only=True, tag_field="schema", tag="harden/1"):
    """`harden`."""

    functions: Count
    score: Annotated[
        float | None, Meta(description="Share of the mutants that the project's tests kill.")
    ]
    mutants: Mutants
    project_tests: ProjectTests
    looked_for_input: Count
    no_input_differs: Count
    not_offered: Mapping[str, Count]
    tests: Sequence[OfferedTest]
    patch: str
    interrupted: bool


def hardened_document(hardened: Hardened) -> Harden:
    """Return the result of `harden` as a document."""
    from refute.results.text.changes import patch_of

    counts, trial = hardened.counts, hardened.trial
    return Harden(
        functions=hardened.functions,
        score=hardened.score,
        mutants=Mutants(
            possible=hardened.possible,
            drawn=len(hardened.mutants),
            killed=counts["killed"],
            timeout=counts["timeout"],
            survived=counts["survived"],
            unreached=counts["unreached"],
            not_run=counts["not run"],
        ),
        project_tests=ProjectTests(
            files=hardened.test_files,
            passing=trial.tests,
            do_not_pass=trial.failing,
            not_run=trial.left,
            not_collected=trial.broken,
        ),
        looked_for_input=hardened.tried,
        no_input_differs=hardened.alike,
        not_offered=hardened.dropped,
        tests=[_offer(one, hardened) for one in hardened.offers],
        patch=patch_of(hardened),
        interrupted=hardened.interrupted,
    )


def _offer(one: Offer, hardened: Hardened) -> OfferedTest:
    return OfferedTest(
        module=one.test.module,
        target=one.test.target,
        file=one.test.placement.path.relative_to(hardened.root).as_posix(),
        test=one.test.text,
        reached_by_tests=not one.covers,
        kills=[_mutant(mutant) for mutant in one.kills],
    )


def _mutant(one: Mutant) -> KilledMutant:
    before, after = one.shown
    return KilledMutant(
        file=one.file,
        line=one.line,
        function=one.qualname,
        operator=one.edit.operator,
        before=before,
        after=after,
    )
