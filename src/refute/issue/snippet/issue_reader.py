"""An issue's text as pieces in their order: code, sessions, outputs, exceptions, prose.

Trackers differ in how they keep code. GitHub fences it; Trac's export, which SWE-bench has of
Django, has neither fences nor blank lines, so code is told from prose by whether Python reads it.
Nothing is executed here. Code inside of sentences is taken only where an issue's proper code leads
nowhere: a sentence names calls for many reasons.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from refute.issue.snippet.shown_errors import ShownError, shown_errors
from refute.source.syntax import readable_module

Kind = Literal["code", "session", "output", "prose"]

LONGEST = 60_000
"""Characters of an issue that are read; what is longer is a pasted log."""
_LONGEST_RUN = 120
"""Lines of one unfenced piece of code."""
_PATIENCE = 30
"""Lines that an open bracket or string may span before a run of code is taken to have ended."""
_MISSES = 300
"""Lines of an issue that look like code and are none, after which no more are looked at."""

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*\{?\.?(\w*)")
_BOLD = re.compile(r"^(\s*)(\*\*|__)(?=[A-Z])([^*_\n]{1,60})\2", re.MULTILINE)
"""A label in bold type ("**Expected:** 3"), which is read like a plain one."""
_PROMPT = re.compile(r"^\s*(?:>>> ?|In ?\[\d+\]: ?)(.*)$")
_MORE = re.compile(r"^\s*\.\.\.(?::| |$)(.*)$")
_OUT = re.compile(r"^\s*Out ?\[\d+\]: ?(.*)$")
_CODE = re.compile(
    r"\s*(?:import |from [\w.]+ import|def |class |@\w|with |for |if |try:|assert |del |raise |"
    r"async |while |print\b|[\w.\[\]'\", ()*]+\s*[-+*/|&]?=(?!=)|[\w.\[\]'\"]+\(|[\w.]+\()"
)


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One input of an interactive session with what it printed."""

    source: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the issue."""

    kind: Kind
    text: str
    language: str = ""
    """The word behind the fence, in lower case."""
    fenced: bool = False
    steps: tuple[SessionStep, ...] = ()
    """Of a session."""
    errors: tuple[ShownError, ...] = ()
    """Exceptions that the piece shows."""


def read_issue_text(text: str) -> tuple[Piece, ...]:
    """The pieces of an issue. Every text can be read."""
    clean = text[:LONGEST].replace("\r\n", "\n").replace("\u200b", "").replace("\u00a0", " ")
    lines = _BOLD.sub(r"\1\3", clean).expandtabs(4).split("\n")
    pieces: list[Piece] = []
    start = number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            number += 1
            continue
        stop = _closing(lines, number, fence[1])
        pieces += _unfenced(lines[start:number])
        pieces += _fenced(lines[number + 1 : stop], fence[2].lower())
        start = number = stop + 1
    pieces += _unfenced(lines[start:])
    return tuple(pieces)


def _closing(lines: Sequence[str], opening: int, mark: str) -> int:
    for number in range(opening + 1, len(lines)):
        if lines[number].strip().startswith(mark) and not lines[number].strip(" `~"):
            return number
    return len(lines)


def _fenced(lines: Sequence[str], language: str) -> Iterator[Piece]:
    body = textwrap.dedent("\n".join(lines))
    if not body.strip():
        return
    if any(_PROMPT.match(line) for line in lines):
        yield _session(body.split("\n"), language, fenced=True)
    elif _is_code(body):
        yield Piece("code", body, language, True)
    elif language in ("", "py", "python", "python3", "pycon", "pytb", "ipython"):
        for piece in _unfenced(body.split("\n")):
            kind: Kind = "output" if piece.kind == "prose" else piece.kind
            yield Piece(kind, piece.text, language, True, piece.steps, piece.errors)
    else:
        yield Piece("output", body, language, True, errors=shown_errors(body))


def _unfenced(lines: Sequence[str]) -> Iterator[Piece]:
    """Sessions, code and outputs that stand in the text as they are."""
    prose: list[str] = []
    number = misses = 0
    while number < len(lines):
        found: Piece | None = None
        stop = number
        if _PROMPT.match(lines[number]):
            stop = _end_of_session(lines, number)
            found = _session(lines[number:stop], "", fenced=False)
        elif re.match(r"\s*Traceback \(most recent call last\)", lines[number]):
            stop = _end_of_traceback(lines, number)
            text = "\n".join(lines[number:stop])
            found = Piece("output", text, errors=shown_errors(text))
        elif misses < _MISSES and _CODE.match(lines[number]):
            stop = _end_of_code(lines, number)
            misses += stop == number
            if stop > number:
                found = Piece("code", textwrap.dedent("\n".join(lines[number:stop])).strip("\n"))
        if found is None:
            prose.append(lines[number])
            number += 1
            continue
        yield from _prose(prose)
        prose = []
        yield found
        number = stop
    yield from _prose(prose)


def _prose(lines: Sequence[str]) -> Iterator[Piece]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Piece("prose", text, errors=shown_errors(text))


def _end_of_traceback(lines: Sequence[str], start: int) -> int:
    """Index after the line that names the exception: the first one at the header's own depth."""
    margin = len(lines[start]) - len(lines[start].lstrip())
    for number in range(start + 1, len(lines)):
        line = lines[number]
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= margin and not re.match(r"\s*File \"", line):
            return number + 1
        if re.match(r"\s*[A-Za-z_][\w.]*(?:Error|Exception|Warning)\b", line):
            return number + 1
    return len(lines)


def _end_of_session(lines: Sequence[str], start: int) -> int:
    number = start + 1
    in_traceback = False
    while number < len(lines):
        line = lines[number]
        if _PROMPT.match(line) or _MORE.match(line) or _OUT.match(line):
            in_traceback = False
        elif "Traceback (most recent call last)" in line:
            in_traceback = True
        elif in_traceback:
            if re.match(r"\s*[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit)\b", line):
                in_traceback = False
        elif not line.strip():
            rest = next((other for other in lines[number:] if other.strip()), "")
            if not (_PROMPT.match(rest) or _OUT.match(rest)):
                return number
        elif _is_sentence(line):
            return number
        number += 1
    return number


def _is_sentence(line: str) -> bool:
    """Return whether a line reads as English rather than as something that a program printed."""
    words = line.split()
    plain = sum(bool(re.fullmatch(r"[A-Za-z][a-z']*[,.:;?!]?", word)) for word in words)
    return len(words) >= 3 and plain >= 0.7 * len(words) and not line.lstrip().startswith("<")


def _end_of_code(lines: Sequence[str], start: int) -> int:
    """Index after the longest run of lines from `start` that Python reads as code."""
    good = start
    margin = len(lines[start]) - len(lines[start].lstrip())
    for number in range(start, min(len(lines), start + _LONGEST_RUN)):
        line = lines[number]
        if number - good > _PATIENCE or _PROMPT.match(line) or _FENCE.match(line):
            break
        if line.strip() and len(line) - len(line.lstrip()) < margin:
            break
        if _is_code(textwrap.dedent("\n".join(lines[start : number + 1]))) and line.strip():
            good = number + 1
    return good


def _is_code(source: str) -> bool:
    """Return whether the text is Python that does or defines something; words alone are not."""
    tree = readable_module(source)
    if not tree.body or _only_words(tree.body[-1]):
        return False
    return not all(_only_words(node) for node in tree.body)


def _only_words(node: ast.stmt) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    if not isinstance(node, ast.Expr):
        return False
    kinds = (ast.Call, ast.Await, ast.Compare, ast.BinOp, ast.Subscript, ast.Attribute)
    return not any(isinstance(part, kinds) for part in ast.walk(node))


def _session(lines: Sequence[str], language: str, *, fenced: bool) -> Piece:
    steps: list[SessionStep] = []
    source: list[str] = []
    output: list[str] = []
    inside = False
    for line in lines:
        prompt, more, out = _PROMPT.match(line), _MORE.match(line), _OUT.match(line)
        if prompt is not None:
            if source:
                steps.append(_step(source, output))
            source, output, inside = [prompt[1]], [], True
        elif more is not None and inside and source:
            source.append(more[1])
        elif source:
            inside = False
            output.append(out[1] if out is not None else line)
    if source:
        steps.append(_step(source, output))
    text = "\n".join(lines)
    return Piece("session", text, language, fenced, tuple(steps), shown_errors(text))


def _step(source: Sequence[str], output: Sequence[str]) -> SessionStep:
    first, *rest = source
    # a continuation keeps the indentation that it had behind its prompt, less the common blank
    body = "\n".join([first, *rest])
    return SessionStep(body.rstrip(), textwrap.dedent("\n".join(output)).strip("\n"))


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
_BEHIND = 300
"""Characters behind an expression in which its wrong value is looked for."""
_MOST_SPLIT = 4


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
        output = _output(text[found.stop : found.stop + _BEHIND])
        if output is None or found.start < start or number >= _MOST_SPLIT:
            continue
        number += 1
        yield _prose_piece(text[start : found.stop])
        yield Piece("session", found.source, steps=(SessionStep(found.source, output),))
        start = found.stop
    if text[start:].strip():
        yield _prose_piece(text[start:])


def _prose_piece(text: str) -> Piece:
    return Piece("prose", text.strip("\n"), errors=shown_errors(text))


def _output(behind: str) -> str | None:
    """Read the value that the sentence gives for an expression; None: it gives none."""
    gives = _GIVES.match(behind)
    if gives is not None:
        value = _VALUE.match(behind[gives.end() :])
        return "" if value is None else (value[1] or value[2].rstrip(".")).strip()
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
    """Return whether it is one expression that works on values, not the mere name of a function."""
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
