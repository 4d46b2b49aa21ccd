"""Examples told in words: `Input: … Output: …`, "for k = 3 the result is 5", what comes out for an
empty input, and round trips.

A form stays here that at least two tasks of HumanEval+, MBPP+ and HumanEvalFix are written in
(`benchmarks/examples_accuracy.py`); docstrings of released packages use none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from refute.function.examples.calls import CLEAN_END
from refute.function.examples.scanner import Scanned, scan
from refute.function.examples.subject import Reading, Subject
from refute.problems import Call, Expression

__all__ = ["empty_inputs", "labelled_fields", "named_arguments", "round_trips"]

_INPUT = re.compile(
    r"(?:^|(?<=[\s,;:*]))(?:sample |example )?inputs?(?: ?\d+)?[*_]{0,2}\s*[:=][*_]{0,2}", re.I
)
_OUTPUT = re.compile(
    r"(?:^|(?<=[\s,;*]))(?:sample |example |expected )?(?:outputs?|returns?|results?|expected)"
    r"(?: ?\d+)?[*_]{0,2}\s*[:=][*_]{0,2}\s*",
    re.I,
)
_NAMED = re.compile(
    r"(?<![\w.'\"])([A-Za-z_]\w*)\s*(?:=(?![=>])|:)\s*"
    r"|(?<![\w.'\"])([A-Za-z_]\w*)(?=[\[{])"
)
_BLANK = re.compile(r"\s*")
_BETWEEN = re.compile(r"\s*(?:,|;|and|\n)?\s*(?:and\s+)?")
_RESULT = re.compile(
    r"(?:(?:the\s+|expected\s+)*(?:output|result|answer|return value|function|it|you|we)\s+)?"
    r"(?:(?:should|will|must|would|shall)\s+)?"
    r"(?:be|is|are|returns?|outputs?|gives?|equals?|get|yields?)\b"
    r"(?:\s+(?:returned|equal to|get))?\s*[=:]?\s*"
    r"|\b(?:output|result|answer)\s*[=:]\s*",
    re.I,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|[.!?]\s+[A-Z]")
_NOT_ARGUMENT = re.compile(r"results?|outputs?|returns?|expected|answer|explanation|note", re.I)
_STRONG = re.compile(r"output|result|answer|return|function|gives?|yield", re.I)
_FURTHER = re.compile(r"\s*,?\s*(?:and|or|nor|but|unless)\b")
_NOUN = r"(?P<noun>array|list|lst|arr|string|text|dictionary|dict|tuple)"
_GIVEN = r"(?:the\s+|an?\s+)?(?:(?:given|input|provided)\s+)*"
_NAME = r"(?:\s+(?!is\b)'?[a-z]\w?'?)?"
_IF_EMPTY = re.compile(
    rf"\bif\s+{_GIVEN}'?{_NOUN}'?{_NAME}\s+is\s+(?:an\s+)?empty(?:\s+(?:list|string|array))?"
    r"\s*[,:]?\s*(?:then\s+)?(?:(?:the\s+function|it|you)\s+)?(?:(?:should|must|will)\s+)?"
    r"returns?\s+",
    re.I,
)
_EMPTIES: dict[str, Any] = {"string": "", "text": "", "dictionary": {}, "dict": {}, "tuple": ()}
_UNDOES = re.compile(
    r"(?:encoded|encrypted|compressed|serialized|serialised|shifted|packed|escaped|encode)\s+"
    r"(?:with|by|using|via)\s+(?:the\s+)?(?:function\s+)?'?(?P<one>\w+)"
    r"|(?:inverse|opposite|reverse)\s+(?:operation\s+)?(?:of|to)\s+(?:the\s+)?(?:function\s+)?"
    r"'?(?P<two>\w+)"
    r"|(?:undoes|reverts|reverses|inverts)\s+(?:what\s+)?(?:the\s+)?(?:function\s+)?'?(?P<three>\w+)",
    re.I,
)
_INPUTS = ("", "a", "ab", "abc", "hello", "abcdefgh", "zyxwvut", "aabbccdd", "mississippi")
"""Lower-case words only: legal for any codec of text that is worth the name."""


def labelled_fields(about: Subject) -> Iterator[Reading]:
    """`Input: 3` and `Output: 4`, on one line or over several, with or without argument names."""
    text = about.plain
    for given in _INPUT.finditer(text):
        result = _OUTPUT.search(text, given.end())
        following = _INPUT.search(text, given.end())
        if result is None or (following is not None and following.start() < result.start()):
            continue
        block = text[given.end() : result.start()]
        args = _field_arguments(about, block)
        value = scan(text, result.end())
        if args and value is not None and CLEAN_END.match(text, value.end):
            yield Reading(Call(tuple(args)), value.value, "fields", (given.start(), value.end))


def _field_arguments(about: Subject, block: str) -> list[Any] | None:
    block = block.replace("**", "  ")
    named = _assignments(block, 0)
    if named is not None and not block[named[1] :].strip(" \n,;."):
        return _placed(about, named[0])
    values = _values(block)
    if not values or block[values[-1].end :].strip(" \n,;."):
        return None
    return [one.value for one in values] if about.fits(len(values)) else None


def _values(text: str) -> list[Scanned]:
    """Values one after the other, separated by commas, "and" or line breaks."""
    found: list[Scanned] = []
    position = 0
    while True:
        gap = (_BETWEEN if found else _BLANK).match(text, position)
        value = scan(text, gap.end() if gap else position)
        if value is None:
            return found
        found.append(value)
        position = value.end


def _assignments(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Named values from `start` on, and the offset past the last."""
    found: dict[str, Any] = {}
    position = start
    while True:
        gap = (_BETWEEN if found else _BLANK).match(text, position)
        match = _NAMED.match(text, gap.end() if gap else position)
        value = scan(text, match.end()) if match is not None else None
        if match is None or value is None:
            break
        name = match[1] or match[2]
        if name in found or _NOT_ARGUMENT.fullmatch(name):
            break
        found[name] = value.value
        position = value.end
    return (found, position) if found else None


def _placed(about: Subject, named: dict[str, Any]) -> list[Any] | None:
    """Named values in the order of the parameters; other names go by position."""
    if about.parameters is None:
        return list(named.values())
    if not about.fits(len(named)):
        return None
    wanted = about.parameters[: len(named)]
    if set(named) == set(wanted):
        return [named[name] for name in wanted]
    return None if set(named) <= set(about.parameters) else list(named.values())


def named_arguments(about: Subject) -> Iterator[Reading]:
    """`For num = 4 the output should be 5`, `lst = [1, 2], k = 3: the result is 5`."""
    if about.parameters is None:
        return
    text, position = about.plain, 0
    while True:
        match = _NAMED.search(text, position)
        if match is None:
            return
        position = match.end()
        named = _assignments(text, match.start())
        if named is None or not any(name in about.parameters for name in named[0]):
            continue
        if _FURTHER.match(text, named[1]):  # "if x = 1 and y is negative"
            continue
        args = _placed(about, named[0])
        value = _result_after(text, named[1])
        if args is None or value is None:
            continue
        position = value.end
        yield Reading(Call(tuple(args)), value.value, "prose", (match.start(), value.end))


def _result_after(text: str, start: int) -> Scanned | None:
    """The value said to come out, within the same paragraph."""
    stop = _PARAGRAPH.search(text, start)
    for match in _RESULT.finditer(text, start, stop.start() + 1 if stop else len(text)):
        value = scan(text, match.end()) if _STRONG.search(match[0]) else None
        if value is not None and CLEAN_END.match(text, value.end):
            return value
    return None


def empty_inputs(about: Subject) -> Iterator[Reading]:
    """ "If the list is empty, return 0", for functions of one parameter; the noun says which empty
    value is meant."""
    if about.parameters is None or not about.fits(1):
        return
    for match in _IF_EMPTY.finditer(about.plain):
        value = scan(about.plain, match.end())
        if value is not None and CLEAN_END.match(about.plain, value.end):
            empty = _EMPTIES.get(match["noun"].lower(), [])
            call = Call((type(empty)(empty),))
            yield Reading(call, value.value, "boundary", (match.start(), value.end))


def round_trips(about: Subject) -> Iterator[Reading]:
    """Expression tests over a function of the same module that the description says is undone."""
    if about.method or about.parameters is None or not about.fits(1):
        return
    for match in _UNDOES.finditer(about.plain):
        other = match["one"] or match["two"] or match["three"]
        if other not in about.defined or other == about.name:
            continue
        for value in _INPUTS:
            source = f"{about.name}({other}({value!r}))"
            yield Reading(Expression(source), value, "inverse", match.span())
        return
