"""An issue's text as pieces in their order: code, sessions, outputs, exceptions, prose.

Trackers differ in how they keep code: some fence it, some exports have neither fences nor blank
lines. So code is told from prose by whether Python reads it.
Nothing is executed here. Code inside of sentences is taken only where an issue's proper code leads
nowhere: a sentence names calls for many reasons.
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from refute.source.syntax import readable_module

_NAME = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|NotFound)"
_LINE = re.compile(rf"^\s*(?:E\s+)?({_NAME})(?::[ \n](.*))?$")
_DOTTED = re.compile(r"^((?:[a-z_]\w*\.)+\w*[Ee]rror)(?:: (.*))?$")
"""Exceptions of lower case, such as `re.error` and `socket.error`."""
_ANYWHERE = re.compile(rf"\b({_NAME}): ([^\n]+)")
_MADE = re.compile(rf"\b({_NAME})\((?:\"([^\"\n]+)\"|'([^'\n]+)')\)")
"""As Python shows an exception, and as it is raised."""
_WORD = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
_EXPECTED = re.compile(
    r"^[\s#*_>-]*expected(?:[ ]\w+){0,3}[*_]*:?[*_]*\s+(?!Error\b)(?:an?\s+)?[`*]*"
    r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*)[`*]*(?:\(\))?"
    r"\s*(?:$|[.,(]|exception|error|(?:is |to be |be )?raised)",
    re.MULTILINE | re.I,
)
"""Under a heading or behind a colon, one name of a class and nothing else."""
_DEMAND = re.compile(
    r"(?:(?<!not )(?<!n't )\bexpect(?:ed|s|ing)?\b[^.\n]*?(?:\n\s*[^.\n]*?)?"
    r"|\b(?:should|must|ought to)\b(?:\s+\w+){0,2}?\s+)"
    r"\b(?:rais(?:es?|ing)|throws?|reject(?:s|ed)?|be (?:raised|thrown|rejected))\b",
    re.I,
)
"""A demand that something raises."""
_REFUSED = re.compile(
    r"\b(?:no|not|never|without|instead|but|unexpected\w*|nothing|actual\w*|got|currently)\b|n't\b",
    re.I,
)
_NO_ERROR = frozenset({"None", "True", "False", "Output", "Result", "Behavior", "Behaviour"})
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+|[\"'`]|<[^>]*>")
"""Parts of a message that differ from run to run, or from one version to the next."""


@dataclass(frozen=True, slots=True)
class ShownError:
    """An exception with its message, as the issue shows it."""

    type: str
    """Without its module."""
    message: str = ""
    """Its first line; "" where none is shown."""


def shown_errors(text: str) -> tuple[ShownError, ...]:
    """The exceptions that a text shows with their messages, in order, each once."""
    found: list[ShownError] = []
    for line in text.split("\n"):
        match = _LINE.match(line) or _DOTTED.match(line.strip())
        if match is not None:
            found.append(ShownError(_bare(match[1]), (match[2] or "").strip()))
            continue
        found += [ShownError(_bare(m[1]), m[2].strip()) for m in _ANYWHERE.finditer(line)]
        found += [ShownError(_bare(m[1]), m[2] or m[3]) for m in _MADE.finditer(line)]
    return tuple(dict.fromkeys(found))


def named_errors(text: str) -> frozenset[str]:
    """Exceptions that are named anywhere, in prose as well."""
    return frozenset(_WORD.findall(text))


def wanted_errors(prose: str) -> set[str]:
    """Names that stand alone as what is expected ("Expected: `InvalidMetadata`"): exceptions."""
    found = {_bare(match[1]) for match in _EXPECTED.finditer(prose)}
    return {name for name in found - _NO_ERROR if name[0].isupper() and not name.isupper()}


def demands_error(prose: str) -> bool:
    """Return whether an issue says that something should raise, and not that it should not."""
    return any(_REFUSED.search(match[0]) is None for match in _DEMAND.finditer(prose))


def likeness(type_: str, message: str, shown: Iterable[ShownError]) -> float:
    """Rate how much a failure is one of the shown exceptions: 1 the same, 0 none of them.

    0.5: the type is the same, and one of the two has no message or an unlike one.
    """
    best = 0.0
    for one in shown:
        if one.type != _bare(type_):
            continue
        best = max(best, 0.5)
        ours, theirs = _plain(message), _plain(one.message)
        if not theirs or not ours:
            continue
        if theirs in ours or ours in theirs:
            return 1.0
        ratio = difflib.SequenceMatcher(None, ours[:400], theirs[:400]).ratio()
        if ratio >= 0.75:
            best = max(best, ratio)
    return best


def _plain(message: str) -> str:
    first = message.strip().split("\n", 1)[0]
    return " ".join(_VARIABLE.sub(" ", first).split()).casefold().rstrip(".… ")


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


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
