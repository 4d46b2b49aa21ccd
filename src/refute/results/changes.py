"""What a change does to functions: `diff` (`diff/1`), and in the documents of other verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, UnsetType, field

from refute.diffing.differences import Intent, Kind, Verdict
from refute.results.shared import Count, Known, Line


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


class ChangedLines(Struct, frozen=True, kw_only=True):
    """How many lines changed, and which of them no input reached."""

    before: Count
    after: Count
    not_executed_before: Sequence[Line]
    not_executed_after: Sequence[Line]


class Mention(Struct, frozen=True):
    """Where the change says that the function behaves otherwise."""

    kind: str
    where: str


class ComparedFunction(Struct, frozen=True, kw_only=True):
    """What came of one changed function."""

    function: str
    file: str
    line: Count
    changed: Sequence[str]
    verdict: Verdict
    called: Annotated[
        str | None, Meta(description="What was called, where that is not the function itself.")
    ]
    within: Sequence[str]
    differences: Sequence[Difference]
    other_differences: Count
    inputs: Annotated[Count, Meta(description="Inputs that ran on both sides.")]
    written_by_model: Count
    changed_lines: ChangedLines
    intent: Intent | None
    stated: Mention | None
    broken: str | None
    reason: str | None


class OfClass(Struct, frozen=True, kw_only=True):
    """What changed of a class besides its methods."""

    name: str = field(name="class")
    changed: Sequence[str]


class NotRead(Struct, frozen=True, kw_only=True):
    """A file of which one side could not be read."""

    file: str
    side: str
    line: int | None
    reason: str


class Comparison(Struct, frozen=True, kw_only=True):
    """What a change does."""

    before: str
    after: str
    unexplained: Annotated[
        bool, Meta(description="Whether a function behaves otherwise without a word of it.")
    ]
    interrupted: bool
    functions: Sequence[ComparedFunction]
    added: Sequence[str]
    removed: Sequence[str]
    classes: Sequence[OfClass]
    unreadable: Sequence[NotRead]


class Diff(
    Comparison, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="diff/1"
):
    """`diff`."""

    known: Known = 0


class NotCompared(Struct, frozen=True):
    """Why it cannot be told what a change does."""

    reason: str


if TYPE_CHECKING:
    Behaviour = Comparison | NotCompared
    MaybeBehaviour = Behaviour | UnsetType
else:  # msgspec writes a struct out of several, and describes none
    _REFS = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in (Comparison, NotCompared)]
    Behaviour = MaybeBehaviour = Annotated[Any, Meta(extra_json_schema={"oneOf": _REFS})]
