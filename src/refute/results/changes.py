"""The document of `diff` (`diff/1`), and changes of behaviour in the documents of other verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, UnsetType, convert

from refute.diffing.comparison import Difference as Differing
from refute.diffing.comparison import Intent, Kind, Verdict, observed_source
from refute.results import Count, Known, Line

if TYPE_CHECKING:
    from refute.diffing.service import Compared, Diffed


class Difference(Struct, frozen=True, kw_only=True):
    """An input on which two revisions of a function differ."""

    kind: Kind
    setup: Sequence[str]
    expression: str
    imports: Mapping[str, str]
    before: str
    after: str
    lines_before: Sequence[Line]
    lines_after: Sequence[Line]


class CallInTest(Struct, frozen=True):
    """A call in a test of the project, or a test, that comes out otherwise with the other fix."""

    test: str
    function: str
    given: str
    before: str
    after: str


class ChangedLines(Struct, frozen=True, kw_only=True):
    """Number of changed lines, and those that no input reached."""

    before: Count
    after: Count
    not_executed_before: Sequence[Line]
    not_executed_after: Sequence[Line]


class Mention(Struct, frozen=True):
    """Place where the change itself says that the function behaves otherwise."""

    kind: str
    where: str


class ComparedFunction(Struct, frozen=True, kw_only=True):
    """Comparison of one changed function."""

    function: str
    file: str
    line: Count
    changed: Sequence[str]
    verdict: Verdict
    called: Annotated[str | None, Meta(description="The callee, if it is not the function itself.")]
    within: Sequence[str]
    differences: Sequence[Difference]
    in_tests: Annotated[
        Sequence[CallInTest], Meta(description="Differences in tests, if no input shows one.")
    ]
    other_differences: Count
    inputs: Annotated[Count, Meta(description="Inputs that ran on both sides.")]
    written_by_model: Count
    changed_lines: ChangedLines
    intent: Intent | None
    stated: Mention | None
    broken: str | None
    reason: str | None


class NotRead(Struct, frozen=True, kw_only=True):
    """A file of which one side could not be read."""

    file: str
    side: str
    line: int | None
    reason: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Comparison of two revisions."""

    before: str
    after: str
    unexplained: Annotated[
        bool, Meta(description="True: a function behaves otherwise without a word of it.")
    ]
    interrupted: bool
    functions: Sequence[ComparedFunction]
    added: Sequence[str]
    removed: Sequence[str]
    unreadable: Sequence[NotRead]


class Diff(
    Comparison, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="diff/1"
):
    """`diff`."""

    known: Known = 0


class NotCompared(Struct, frozen=True):
    """Reason why two revisions were not compared."""

    reason: str


if TYPE_CHECKING:
    Behaviour = Comparison | NotCompared
    MaybeBehaviour = Behaviour | UnsetType
else:  # msgspec writes a struct out of several, and describes none
    _REFS = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in (Comparison, NotCompared)]
    Behaviour = MaybeBehaviour = Annotated[Any, Meta(extra_json_schema={"oneOf": _REFS})]


def comparison(diffed: Diffed) -> Comparison:
    """Return the comparison as a document."""
    changes = diffed.changes
    return Comparison(
        before=diffed.before,
        after=diffed.after,
        unexplained=diffed.unexplained,
        interrupted=diffed.interrupted,
        functions=[_function(one) for one in diffed.functions],
        added=[f"{place.file}::{place.qualname}" for place in changes.added],
        removed=[f"{place.file}::{place.qualname}" for place in changes.removed],
        unreadable=[
            NotRead(file=one.path, side=one.side, line=one.line, reason=one.reason)
            for one in changes.unreadable
        ],
    )


def behaviour(changes: Diffed | str) -> Behaviour:
    """Return what else a fix changes in behaviour, or the reason why that is unknown."""
    return NotCompared(changes) if isinstance(changes, str) else comparison(changes)


def _function(one: Compared) -> ComparedFunction:
    found, function = one.comparison, one.function
    return ComparedFunction(
        function=function.qualname,
        file=function.after.file,
        line=function.after.line,
        changed=function.aspects,
        verdict=found.verdict,
        called=found.called or None,
        within=found.within,
        differences=[difference(each) for each in found.differences],
        in_tests=convert(found.in_tests, list[CallInTest], from_attributes=True),
        other_differences=found.others,
        inputs=found.ran,
        written_by_model=found.written,
        changed_lines=ChangedLines(
            before=len(function.lines_before),
            after=len(function.lines_after),
            not_executed_before=found.missed_before,
            not_executed_after=found.missed_after,
        ),
        intent=one.intent,
        stated=convert(one.stated, Mention | None, from_attributes=True),
        broken=found.broken or None,
        reason=found.reason or None,
    )


def difference(one: Differing) -> Difference:
    """An input on which two revisions differ."""
    return Difference(
        kind=one.kind,
        setup=one.scenario.setup,
        expression=one.scenario.expression,
        imports=dict(one.scenario.imports),
        before=observed_source(one.before, one.kind),
        after=observed_source(one.after, one.kind),
        lines_before=sorted(one.lines_before),
        lines_after=sorted(one.lines_after),
    )
