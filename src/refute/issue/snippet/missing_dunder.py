"""A special method that an issue says a class lacks: a claim that needs no example."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refute.issue.snippet.evidence import Claim
from refute.issue.snippet.script import Statement
from refute.syntax import parse_module

__all__ = ["Promise", "missing_attribute"]

_LACKS = re.compile(
    r"\b`?([A-Z]\w+)`?(?:\(\))?(?: \w+)? (?:doesn't|does not|should|lacks|misses|is missing)"
    r"(?: (?:implement|support|define|have|provide))?(?: (?:an?|the|its))? `?(__\w+__)`?"
)
_NOT_ABLE = re.compile(
    r"\b`?([A-Z]\w+[a-z]\w*)`?(?: \w+)? (?:isn't|is not|aren't|are not|should be)"
    r"(?: currently)? (hashable|reversible|iterable|subscriptable|callable)\b"
)
_METHODS = {
    "hashable": "__hash__",
    "reversible": "__reversed__",
    "iterable": "__iter__",
    "subscriptable": "__getitem__",
    "callable": "__call__",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """A class and a special method that it should have."""

    owner: str
    method: str

    def claim(self) -> Claim:
        """That the class has the method."""
        source = f"callable(getattr({self.owner}, {self.method!r}, None))"
        node = parse_module(source).body[0]
        why = f"the issue says that {self.owner} lacks {self.method}"
        focus = Statement(source, node, 0)
        return Claim((), focus, "equals", 0.6, why, expected="True")


def missing_attribute(text: str) -> Promise | None:
    """What the issue says is missing."""
    match = _LACKS.search(text)
    if match is not None:
        return Promise(match[1], match[2])
    match = _NOT_ABLE.search(text)
    return Promise(match[1], _METHODS[match[2]]) if match is not None else None
