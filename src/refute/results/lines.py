"""The lines of `--format jsonl` (`line/1`), and the file of known problems (`baseline/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from refute.results.formats import Level
from refute.results.shared import Count, Line

_Fingerprint = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class ShownProblem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a function."""

    rule: str
    level: Level
    message: str
    others: Annotated[Count, Meta(description="Further inputs that show the same.")]
    fingerprint: _Fingerprint


class FunctionLine(Struct, frozen=True, kw_only=True, tag_field="schema", tag="line/1"):
    """One function, or one test, that was looked at."""

    verb: str
    type: Literal["function"]
    file: str
    line: Line
    function: str
    state: str
    problems: Sequence[ShownProblem]
    reason: str | None
    proposal: str | None


class SkippedLine(Struct, frozen=True, kw_only=True, tag_field="schema", tag="line/1"):
    """Something that was asked for and was not looked at."""

    verb: str
    type: Literal["skipped"]
    where: str
    kind: str
    reason: str


class LastLine(Struct, frozen=True, kw_only=True, tag_field="schema", tag="line/1"):
    """How it came out."""

    verb: str
    type: Literal["summary"]
    functions: Count
    problems: Count
    skipped: Count
    known: Count
    interrupted: bool
    text: str


class KnownProblem(Struct, frozen=True, kw_only=True):
    """A problem that is not shown again."""

    fingerprint: _Fingerprint
    rule: str
    file: str
    function: str
    message: str


class Baseline(Struct, frozen=True, kw_only=True, tag_field="schema", tag="baseline/1"):
    """A file of known problems."""

    problems: Sequence[KnownProblem]
