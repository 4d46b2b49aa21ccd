"""The lines of `--format jsonl` (`line/1`), and baselines: problems that are known.

A baseline is a file of JSON (schema `baseline/1`), sorted, to be committed. Problems are known by
their fingerprints (`refute.results.formats`); the rest is for people.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from refute.core.storage import parse_json, read_file, write_output
from refute.errors import InputError
from refute.function.contract import FailingTest, Finding
from refute.function.parallel import Found
from refute.function.target import Module
from refute.function.verbs import Hunt
from refute.results import Count, Line
from refute.results.formats import Level, Report
from refute.results.functions import problem_of

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
    """Last line of a stream: the outcome."""

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


OF_FUNCTIONS = ("wrong-output", "predicted-output", "crash")
OF_CHANGES = ("behaviour-changed", "behaviour-changed-as-stated", "does-not-load")
"""The rules of which `hunt` and `diff` speak."""
_LARGEST = 64 << 20


def read_baseline(file: Path) -> frozenset[str]:
    """The fingerprints that are known. Raises `InputError`."""
    if not file.exists():
        raise InputError(f"{file}: does not exist; --write-baseline makes it")
    return frozenset(one.fingerprint for one in _known(file))


def write_baseline(file: Path, report: Report, rules: Collection[str]) -> int:
    """Write the problems of a report as known, and keep what is known of other functions and by
    other rules. Returns how many there are. Raises `InputError`."""
    looked_at = {(case.file, case.function) for case in report.cases}
    kept = [
        one
        for one in (_known(file) if file.exists() else ())
        if one.rule not in rules or (one.file, one.function) not in looked_at
    ]
    new = convert(report.problems, list[KnownProblem], from_attributes=True)
    rows = sorted([*kept, *new], key=lambda one: (one.file, one.function, one.rule))
    text = json.dumps(to_builtins(Baseline(problems=rows)), indent=1, ensure_ascii=False)
    try:
        write_output(file, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return len(rows)


def without_known(known: Collection[str], module: Module, one: Found) -> Found | None:
    """Drop the known problems of a function; None where no other is left."""
    if not isinstance(one, Hunt) or not one.found:
        return one

    def new(item: FailingTest | Finding) -> bool:
        return problem_of(module, one.function, item).fingerprint not in known

    failing, findings = tuple(filter(new, one.failing)), tuple(filter(new, one.findings))
    return replace(one, failing=failing, findings=findings) if failing or findings else None


def _known(file: Path) -> Sequence[KnownProblem]:
    try:
        return convert(parse_json(read_file(file, limit=_LARGEST)), Baseline).problems
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        raise InputError(f"{file}: not a baseline of refute: {error}") from None
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from None
