"""The tests that a change lacks: `harden` (`harden/1`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from refute.results import Count, Line

if TYPE_CHECKING:
    from refute.hardening.mutants import Mutant
    from refute.hardening.offering import Offer
    from refute.hardening.service import Hardened


class Mutants(Struct, frozen=True, kw_only=True):
    """How many mutants came to what."""

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
    """What was found, for other programs."""
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
