"""Values in the middle of a text: where one begins and ends, and what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from refute.source.literals import CONSTRUCTORS, NAMES, NotLiteral, parse_literal

LOOSE_NAMES: dict[str, Any] = {
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
    "null": None,
    "none": None,
}
"""How other languages and prose spell Python's constants."""

_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)"
)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_STRING = re.compile(
    r"(?:[rbRB]{0,2})"
    r"(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n]|\n(?!\s*\n))*?'|\"(?:\\.|[^\"\\\n]|\n(?!\s*\n))*?\")",
    re.S,
)
_ARITHMETIC = re.compile(r"[ \t]*(?:\*\*|//|[-+*/%])[ \t]*(?=[-\d.(])")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value found in a text, and the offset just past it."""

    value: Any
    end: int
    computed: bool = False
    """It was written as arithmetic: "19 - 5 - 6"."""


def read(text: str, *, loose: bool = False) -> Any:
    """The value that `text` writes. `loose`: also ``true``, ``null`` as in other languages.

    Raises `NotLiteral` for what `refute.source.literals` does not read.
    """
    return parse_literal(_one_line(text.strip()), names=LOOSE_NAMES if loose else None)


def _one_line(text: str) -> str:
    """Line breaks become escapes in strings (a docstring arrives evaluated), blanks elsewhere."""
    if "\n" not in text:
        return text
    parts, start = [], 0
    for match in _STRING.finditer(text):
        literal = match[0]
        if literal.lstrip("rbRB")[:3] not in ("'''", '"""'):
            literal = literal.replace("\n", "\\n")
        parts += [text[start : match.start()].replace("\n", " "), literal]
        start = match.end()
    return "".join([*parts, text[start:].replace("\n", " ")])


_DEEPEST = 200  # as Python's own parser


def closing(text: str, start: int) -> int | None:
    """The offset just past the bracket that closes the one at `start`.

    None if it never closes, or only around brackets that are nested deeper than any value's: a text
    of nothing but opening ones is read once, not once for each.
    """
    stack: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char in "'\"":
            match = _STRING.match(text, position)
            if match is None:
                return None
            position = match.end()
            continue
        if char in _PAIRS:
            if len(stack) >= _DEEPEST:
                return None
            stack.append(_PAIRS[char])
        elif char in ")]}":
            if not stack or stack.pop() != char:
                return None
            if not stack:
                return position + 1
        position += 1
    return None


def scan(text: str, start: int = 0, *, loose: bool = True) -> Scanned | None:
    """Read the longest value that begins at `start` (after blanks); None when none begins there."""
    while start < len(text) and text[start] in " \t":
        start += 1
    end = _primary_end(text, start)
    if end is None:
        return None
    first = end
    while True:  # arithmetic on numbers: "1 + 9 + 0", "1 + (2 / 2)"
        match = _ARITHMETIC.match(text, end)
        if match is None or not (text[start].isdigit() or text[start] in "-+.("):
            break
        further = _primary_end(text, match.end())
        if further is None:
            break
        end = further
    for stop in dict.fromkeys((end, first)):
        try:
            return Scanned(read(text[start:stop], loose=loose), stop, stop != first)
        except NotLiteral:
            continue
    return None


def _primary_end(text: str, start: int) -> int | None:
    if start >= len(text):
        return None
    if text[start] in _PAIRS:
        return closing(text, start)
    string = _STRING.match(text, start)
    if string is not None:
        return string.end()
    number = _NUMBER.match(text, start)
    if number is not None:
        end = number.end()
        if number[0].endswith(".") and not text[end : end + 1].isdigit():
            end -= 1  # "the output should be 1."
        after = text[end : end + 1]
        return None if after.isalpha() or after == "_" else end
    name = _NAME.match(text, start)
    if name is None:
        return None
    end = name.end() - (len(name[0]) - len(name[0].rstrip(".")))
    word = text[start:end]
    if word in CONSTRUCTORS and text[end : end + 1] == "(":
        return closing(text, end)
    known = word in NAMES or word in LOOSE_NAMES or word in ("True", "False", "None")
    return end if known else None
