"""What comes out for an empty input, in words: "If the list is empty, return 0"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from refute.function.examples.calls import CLEAN_END
from refute.function.examples.scanner import Scanned, scan
from refute.function.examples.subject import Reading, Subject
from refute.problems import Call

__all__ = ["empty_inputs"]

_NOUN = r"(?P<noun>array|list|lst|arr|string|text|dictionary|dict|tuple)"
_GIVEN = r"(?:the\s+|an?\s+)?(?:(?:given|input|provided)\s+)*"
_NAME = r"(?:\s+(?!is\b)'?[a-z]\w?'?)?"
_BEFORE = re.compile(
    rf"\bif\s+{_GIVEN}'?{_NOUN}'?{_NAME}\s+is\s+(?:an\s+)?empty(?:\s+(?P<sort>list|string|array))?"
    r"\s*[,:]?\s*(?:then\s+)?(?:(?:the\s+function|it|you)\s+)?(?:(?:should|must|will)\s+)?"
    r"returns?\s+",
    re.I,
)
_AFTER = re.compile(
    rf"\breturns?\s+(?P<value>an\s+empty\s+\w+|[^\s,.]+)\s*,?\s+(?:if|for|when|in\s+case)\s+{_GIVEN}"
    r"(?:empty\s+(?P<sort>array|list|lst|arr|string|text|dictionary)\b"
    rf"|'?{_NOUN}'?{_NAME}\s+is\s+empty\b)(?!\s+(?:or|and)\b)",
    re.I,
)
_WORDED_VALUE = re.compile(r"an?\s+empty\s+(array|list|string|tuple|dictionary|dict)\b", re.I)
_EMPTIES: dict[str, Any] = {"string": "", "text": "", "dictionary": {}, "dict": {}, "tuple": ()}


def empty_inputs(about: Subject) -> Iterator[Reading]:
    """Readings for functions of one parameter; the noun says which empty value is meant."""
    if about.parameters is None or not about.fits(1):
        return
    text = about.plain
    for match in [*_BEFORE.finditer(text), *_AFTER.finditer(text)]:
        before = match.re is _BEFORE
        value = _worded_value(text, match.end() if before else match.start("value"))
        if value is not None:
            noun = match["sort"] or match["noun"]
            span = (match.start(), value.end) if before else match.span()
            yield Reading(Call((_empty(noun),)), value.value, "boundary", span)


def _empty(noun: str) -> Any:
    value = _EMPTIES.get(noun.lower(), [])
    return type(value)(value)


def _worded_value(text: str, start: int) -> Scanned | None:
    words = _WORDED_VALUE.match(text, start)
    if words is not None:
        return Scanned(_empty(words[1]), words.end())
    value = scan(text, start)
    return value if value is not None and CLEAN_END.match(text, value.end) else None
