"""Examples told in sentences and bare arrows: `[1, 2] ==> 3`, "given 'a' return 'b'"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from refute.function.examples.calls import ARROW, CLEAN_END
from refute.function.examples.fields import spread, values_from
from refute.function.examples.scanner import scan
from refute.function.examples.subject import Reading, Subject
from refute.problems import Call

__all__ = ["bare_arrows", "sentences"]

_HEAD = re.compile(
    r"[ \t]*(?:[-*•]|\d+[.)])?[ \t]*(?:(?:for\s+)?examples?\s*\d*\s*[:.]|e\.g\.:?|input:?)?[ \t]*",
    re.I,
)
_LEADS_TO = re.compile(
    rf"[ \t]*(?:{ARROW}|\b(?:returns|gives|should return|becomes|yields)\b)[ \t]*"
)
_SENTENCE = re.compile(r"(?:[^.!?\n'\"\[]|\n(?!\s*\n)|\.(?=\w)|'[^'\n]*'|\"[^\"\n]*\"|\[[^\]]*\])+")
_CASE = re.compile(
    r"\b(?:for example|for instance|e\.?g\.?|example|given|suppose|called with|for|with|input of"
    r"|(?:if|when) the input is|input)\b",
    re.I,
)
_GIVES = re.compile(
    r"\b(?:(?:should|will|must|would) )?(?:returns?|outputs?|gives?|yields?"
    r"|(?:output|result|answer)\s+(?:should be|will be|is|would be))\b\s*:?\s*",
    re.I,
)
_OPENING = re.compile(r"(?<![\w'\"])(?=['\"\[{])")


def bare_arrows(about: Subject) -> Iterator[Reading]:
    """Lines that are nothing but values, an arrow, and a value."""
    text, offset = about.plain, 0
    for line in text.split("\n"):
        start, end = _HEAD.match(text, offset), offset + len(line)
        begin = start.end() if start else offset
        offset = end + 1
        values = values_from(text, begin)
        arrow = _LEADS_TO.match(text, values[-1].end) if values else None
        value = scan(text, arrow.end()) if arrow else None
        if value is None or value.end > end or not CLEAN_END.match(text, value.end):
            continue
        args = spread(about, [one.value for one in values])
        if args:
            yield Reading(Call(tuple(args)), value.value, "arrow", (begin, value.end))


def sentences(about: Subject) -> Iterator[Reading]:
    """A sentence with as many quoted or bracketed values as there are arguments, and a result."""
    if about.parameters is None:
        return
    for match in _SENTENCE.finditer(about.plain):
        sentence = match[0]
        case = _CASE.search(sentence)
        for verb in _GIVES.finditer(sentence) if case is not None else ():
            value = scan(sentence, verb.end())
            if case is None or value is None or not CLEAN_END.match(sentence, value.end):
                continue
            args: list[Any] = []
            if case.start() < verb.start():
                args = _inline_values(sentence[case.end() : verb.start()])
            elif not sentence[value.end : case.start()].strip(" ,("):
                args = _inline_values(sentence[case.end() :])
            if args and about.fits(len(args)) and _telling(args):
                yield Reading(Call(tuple(args)), value.value, "prose", match.span())
                break


def _inline_values(text: str) -> list[Any]:
    """Quoted strings and bracketed values in running text, in order."""
    found: list[Any] = []
    position = 0
    while (match := _OPENING.search(text, position)) is not None:
        value = scan(text, match.start())
        if value is None or text[value.end : value.end + 1].isalnum():
            position = match.start() + 1
            continue
        found.append(value.value)
        position = value.end
    return found


def _telling(args: Sequence[Any]) -> bool:
    """One quoted letter in a sentence is more often its topic than an argument."""
    return not (len(args) == 1 and isinstance(args[0], str) and len(args[0]) < 2)
