"""Examples whose arguments are labelled: `Input: … Output: …`, `lst = [1], k = 3 → 5`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from refute.function.examples.calls import ARROW, CLEAN_END
from refute.function.examples.scanner import Scanned, scan
from refute.function.examples.subject import Reading, Subject
from refute.problems import Call

__all__ = ["labelled_fields", "named_arguments", "values_from"]

_MARK = r"[*_]{0,2}"
_INPUT = re.compile(
    rf"(?:^|(?<=[\s,;:*]))(?:sample |example )?inputs?(?: ?\d+)?{_MARK}\s*[:=]{_MARK}", re.I
)
_OUTPUT = re.compile(
    r"(?:^|(?<=[\s,;*]))(?:sample |example |expected )?(?:outputs?|returns?|results?|expected)"
    rf"(?: ?\d+)?{_MARK}\s*[:=]{_MARK}\s*",
    re.I,
)
_NAMED = re.compile(
    r"(?<![\w.'\"])([A-Za-z_]\w*)\s*(?:==|=(?![=>])|:|\bis\b)\s*"
    r"|(?<![\w.'\"])([A-Za-z_]\w*)(?=[\[{])"
)
_CONDITION = re.compile(r"\b(if|for|when|where|with|given)\s+(the\s+)?$", re.I)
_BLANK = re.compile(r"\s*")
_BETWEEN = re.compile(r"\s*(?:,|;|and|\n)?\s*(?:and\s+)?")
_ARROW = re.compile(rf"\s*,?\s*{ARROW}\s*")
_RESULT = re.compile(
    r"(?:(?:the\s+|expected\s+)*(?:output|result|answer|return value|function|it|you|we)\s+)?"
    r"(?:(?:should|will|must|would|shall)\s+)?"
    r"(?:be|is|are|returns?|outputs?|gives?|equals?|get|yields?)\b"
    r"(?:\s+(?:returned|equal to|get))?\s*[=:]?\s*"
    r"|\b(?:output|result|answer)\s*[=:]\s*",
    re.I,
)
_STRONG = re.compile(r"output|result|answer|return|function|gives?|yield", re.I)
_FURTHER = re.compile(r"\s*,?\s*(?:and|or|nor|but|unless)\b")
_PARAGRAPH = re.compile(r"\n[ \t]*\n|[.!?]\s+[A-Z]")
_NOT_ARGUMENTS = frozenset(
    {
        "result",
        "output",
        "return",
        "returns",
        "expected",
        "answer",
        "outputs",
        "explanation",
        "note",
    }
)


def labelled_fields(about: Subject) -> Iterator[Reading]:
    """`Input: 3` and `Output: 4`, on one line or over several, with or without argument names."""
    text = about.plain
    for given in _INPUT.finditer(text):
        result = _OUTPUT.search(text, given.end())
        following = _INPUT.search(text, given.end())
        if result is None or (following is not None and following.start() < result.start()):
            continue
        block = text[given.end() : result.start()]
        args = _field_arguments(about, block) if block.count("\n") <= 30 else None
        value = _field_value(about, result.end())
        if args and value is not None:
            yield Reading(Call(tuple(args)), value.value, "fields", (given.start(), value.end))


def _field_arguments(about: Subject, block: str) -> list[Any] | None:
    block = block.replace("**", "  ")
    named = _assignments(block, 0)
    if named is not None and not block[named[1] :].strip(" \n,;."):
        return _placed(about, named[0])
    values = values_from(block, 0)
    if values and not block[values[-1].end :].strip(" \n,;."):
        return spread(about, [one.value for one in values])
    line = block.strip()
    if line and "\n" not in line and about.parameters is not None and len(about.parameters) == 1:
        bare = re.fullmatch(r"(?:[A-Za-z_]\w*\s*=\s*)?(.*)", line)
        if bare and about.holds_text(0) and not re.match(r"[\[({'\"]", bare[1]):
            return [bare[1].rstrip(", ")]
    return None


def _field_value(about: Subject, start: int) -> Scanned | None:
    text = about.plain
    blank = _BLANK.match(text, start)
    begin = blank.end() if blank else start
    named = re.compile(r"[A-Za-z_]\w*\s*=\s*").match(text, begin)
    for at in (begin, named.end() if named else begin):
        value = scan(text, at)
        if value is not None and CLEAN_END.match(text, value.end):
            return value
    line = re.compile(r"[^\n]+").match(text, begin)
    textual = about.returns is not None and ast.unparse(about.returns) == "str"
    if line and textual and not re.match(r"[\[({'\"]", line[0]):
        return Scanned(line[0].strip(), line.end())
    return None


def values_from(text: str, start: int) -> list[Scanned]:
    """Values one after the other, separated by commas, "and" or line breaks."""
    found: list[Scanned] = []
    position = start
    while True:
        gap = (_BETWEEN if found else _BLANK).match(text, position)
        value = scan(text, gap.end() if gap else position)
        if value is None:
            return found
        found.append(value)
        position = value.end


def spread(about: Subject, values: list[Any]) -> list[Any] | None:
    """The arguments these values stand for: one tuple may hold all; None when they do not fit."""
    if len(values) == 1 and isinstance(values[0], tuple) and not about.fits(1):
        values = list(values[0])
    return values if about.fits(len(values)) else None


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
        if name in found or name.lower() in _NOT_ARGUMENTS:
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
    strangers = any(name not in about.parameters for name in named)
    displaced = any(
        name in about.parameters and about.parameters.index(name) != place
        for place, name in enumerate(named)
    )
    return list(named.values()) if strangers and not displaced else None


def named_arguments(about: Subject) -> Iterator[Reading]:
    """`For num = 4 the output should be 5`, `lst = [1, 2], k = 3 → 5`, `if n is 1 return 0`."""
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
        before = text[max(0, match.start() - 12) : match.start()]
        if match[0].split()[-1:] == ["is"] and not _CONDITION.search(before):
            continue
        if _FURTHER.match(text, named[1]):  # "if n is 3 or more", "if x = 1 and y is negative"
            continue
        args = _placed(about, named[0])
        value = _result_after(text, named[1])
        if args is None or value is None:
            continue
        wrapped = text[value.end - 1] == ")" and not isinstance(value.value, tuple)
        position = value.end
        span = (match.start(), value.end)
        yield Reading(Call(tuple(args)), value.value, "prose", span, parenthesised=wrapped)


def _result_after(text: str, start: int) -> Scanned | None:
    """The value said to come out, within the same paragraph."""
    arrow = _ARROW.match(text, start)
    if arrow is not None:
        value = scan(text, arrow.end())
        if value is not None and CLEAN_END.match(text, value.end):
            return value
    stop = _PARAGRAPH.search(text, start)
    for match in _RESULT.finditer(text, start, stop.start() + 1 if stop else len(text)):
        value = scan(text, match.end())
        if value is None or not CLEAN_END.match(text, value.end) or not _STRONG.search(match[0]):
            continue
        return value if text.count("\n", start, value.end) <= 6 else None
    return None
