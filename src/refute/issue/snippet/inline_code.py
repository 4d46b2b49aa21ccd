"""Code inside of sentences: an expression that stands in the prose with what it gives.

``The result of `total([1, 2])` is `2`, it should be `3`.`` becomes a session of one input. This
is looked at only where an issue's proper code has led nowhere: a sentence names calls for many
reasons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.issue.snippet.issue_reader import Piece, SessionStep
from refute.issue.snippet.shown_errors import shown_errors
from refute.source.syntax import readable_module

_QUOTED = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]{3,400}?)\1(?!`)")
_CALL = re.compile(r"(?<![\w.`'\"])[A-Za-z_][\w.]*\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))+\)")
"""A call without quotation marks around it, with brackets up to three deep."""
_GIVES = re.compile(
    r"^[\s,]*(?:(?:it|this|that|now|currently|the (?:result|value|output)|wrongly|incorrectly)\s+)*"
    r"(?:gives?|returns?|returned|outputs?|prints?|yields?|produces?|evaluates? to|results? in|is|"
    r"raises?|throws?|fails|crashes)\b(?:\s+(?:me|with|an?|the))*:?\s*",
    re.I,
)
_GET = re.compile(r"(?<!\bto )\b(?:get|got|gives?|returns?)\b[\s:]*`+([^`]+)`", re.I)
_VALUE = re.compile(r"`+([^`]+)`+|([^\s,;]+)")
_FAR = 300
"""Characters behind an expression in which its wrong value is looked for."""
_MOST = 4


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    stop: int
    source: str


def with_inline_code(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces, those of prose split where they hold an expression and say what it gives."""
    made: list[Piece] = []
    for piece in pieces:
        made += _split(piece.text) if piece.kind == "prose" else [piece]
    return tuple(made)


def inline_expressions(text: str) -> list[str]:
    """The expressions that a text names, in their order: sources as they stand there."""
    return [found.source for found in _expressions(text)]


def _split(text: str) -> Iterator[Piece]:
    start = number = 0
    for found in _expressions(text):
        output = _output(text[found.stop : found.stop + _FAR])
        if output is None or found.start < start or number >= _MOST:
            continue
        number += 1
        yield _prose(text[start : found.stop])
        yield Piece("session", found.source, steps=(SessionStep(found.source, output),))
        start = found.stop
    if text[start:].strip():
        yield _prose(text[start:])


def _prose(text: str) -> Piece:
    return Piece("prose", text.strip("\n"), errors=shown_errors(text))


def _output(behind: str) -> str | None:
    """What the sentence says that an expression gives; None: it says nothing of the kind."""
    gives = _GIVES.match(behind)
    if gives is not None:
        value = _VALUE.match(behind[gives.end() :])
        return "" if value is None else (value[1] or value[2]).strip(" .")
    got = _GET.search(behind)
    return got[1].strip() if got is not None else None


def _expressions(text: str) -> list[_Found]:
    found = [_Found(m.start(), m.end(), m[2]) for m in _QUOTED.finditer(text)]
    taken = [(one.start, one.stop) for one in found]
    for match in _CALL.finditer(text):
        if not any(start < match.end() and match.start() < stop for start, stop in taken):
            found.append(_Found(match.start(), match.end(), match[0]))
    kept = [one for one in found if _does_something(one.source)]
    return sorted(kept, key=lambda one: one.start)


def _does_something(source: str) -> bool:
    """Whether it is one expression that works on values, not the mere name of a function."""
    body = readable_module(source.strip()).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        return False
    value = body[0].value
    if isinstance(value, ast.Call) and re.search(r"(?:Error|Exception)$", ast.unparse(value.func)):
        return False
    parts = list(ast.walk(value))
    if any(isinstance(part, ast.Call) and (part.args or part.keywords) for part in parts):
        return not any(isinstance(p, ast.Constant) and p.value is ... for p in parts)
    return isinstance(value, ast.Compare | ast.BinOp)
