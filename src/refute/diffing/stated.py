"""Whether a change says of a function that it changed: by name, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from refute.diffing.changes import ChangedFunction, Changes
from refute.diffing.passages import Passage

__all__ = ["Stated", "stated"]

_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Stated:
    """What speaks of the function."""

    kind: Literal["test", "docstring", "changelog", "message"]
    where: str
    """`tests/test_x.py:31`; of a message, its first line."""


def stated(changes: Changes, function: ChangedFunction) -> Stated | None:
    """The best evidence that a change of the function is meant: a changed test that names it, its
    own changed docstring, a new line of a change log, a commit message; None where none does.

    In prose a name of lower-case letters alone is taken for a word unless it is written as code.
    """
    found = list(_named(changes, function))
    tests = [one for one in found if one.kind == "test"]
    if tests:
        return tests[0]
    if function.docstring_line is not None:
        line = function.docstring_line or function.after.line
        return Stated("docstring", f"{function.after.file}:{line}")
    return found[0] if found else None


def _named(changes: Changes, function: ChangedFunction) -> Iterator[Stated]:
    *owners, name = function.qualname.split(".")
    owner = owners[-1] if owners else ""
    if name.startswith("__") and name.endswith("__") and owner:
        name, owner = owner, ""  # a special method is called by using the class
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    prose = _in_prose(name, owner)
    for passage in changes.passages:
        line = _line(passage, prose if passage.kind != "test" else word, owner)
        if line is None:
            continue
        if passage.kind == "message":
            yield Stated("message", passage.where[:_MOST_CHARACTERS])
        else:
            yield Stated(passage.kind, f"{passage.where}:{line}")


def _line(passage: Passage, pattern: re.Pattern[str], owner: str) -> int | None:
    if passage.kind == "test" and owner and owner not in passage.words:
        return None  # another class's method of that name
    hits = (number for number, text in passage.lines if pattern.search(text))
    return next(hits, None)


def _in_prose(name: str, owner: str) -> re.Pattern[str]:
    """A name where it is meant as one: with its class before it, as code, called, or of a form
    that no word has."""
    escaped = re.escape(name)
    word = rf"(?<!\w){escaped}(?!\w)"
    as_code = rf"[`'\"](?:[\w.]*\.)?{escaped}(?:\([^`'\"]*\))?[`'\"]|{word}\(|^{word}:"
    if owner:
        as_code = rf"{as_code}|(?<!\w){re.escape(owner)}\.{escaped}(?!\w)"
    if re.search(r"[_\d]|[a-z][A-Z]", name.strip("_")):
        as_code = rf"{as_code}|{word}"
    return re.compile(as_code)
