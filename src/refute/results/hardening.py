"""The tests that a change lacks: `harden` (`harden/1`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from refute.results.shared import Count, Line


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
