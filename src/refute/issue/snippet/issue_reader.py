"""An issue's text as pieces in their order: code, sessions, outputs, exceptions, prose.

Trackers differ in how they keep code. GitHub fences it; Trac's export, which SWE-bench has of
Django, has neither fences nor blank lines, so code is told from prose by whether Python reads it.
Nothing is executed here.
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
    """The pieces of an issue. Whatever the text is, this is no error."""
    clean = text[:LONGEST].replace("\r\n", "\n").replace("\u200b", "").replace("\u00a0", " ")
    lines = clean.expandtabs(4).split("\n")
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
    """Whether a line reads as English rather than as something that a program printed."""
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
    """Whether the text is Python that does or defines something; words alone are not."""
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


# -- calls that an issue tells of in words: a function, and the kind of value that it fails on -----
# "`Price.parse()` raises TypeError on dict values" names all that a call needs. Several ways to
# write the call are tried; which of them fails as the issue says is for the run to tell.

_NAMED = re.compile(r"(?<![\w.(])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(\)")
_OWN = re.compile(r"^test|__")
"""The reporter's own, and what nobody calls by its name."""
_FAILS = re.compile(
    r"\b(?:crash\w*|rais\w*|throw\w*|fail\w*|produc\w*|error\w*|\w+(?:Error|Exception))\b"
)
_LITERAL = re.compile(
    r"\b(?:on|with|for|when|given|of|to|is|like)\s+`{0,2}(\"[^\"\n]{0,40}\"|'[^'\n]{0,40}'|-?\d+(?:\.\d+)?|None|\[\]|\{\})(?!\w)"
)
_KINDS = (
    (r"empty str\w*", "''"),
    (r"non-str\w*", "1"),
    (r"empty list\w*|lists?", "[]"),
    (r"dict\w*|mappings?", "{}"),
    (r"tuples?", "()"),
    (r"sets?", "set()"),
    (r"None", "None"),
    (r"bytes\w*", "b'a'"),
    (r"memoryviews?", "memoryview(b'a')"),
    (r"floats?", "1.5"),
    (r"bool\w*", "True"),
    (r"int\w*", "1"),
    (r"strings?", "'a'"),
)
_MOST = 4
_FAR = 600
"""Characters of the first words of an issue."""


def spoken_calls(pieces: Sequence[Piece]) -> list[Piece]:
    """A session for each way to write a call that the first words of an issue tell of."""
    first = next((piece.text for piece in pieces if piece.kind == "prose"), "")
    sources = dict.fromkeys(source for part in _sentences(first) for source in _calls(part))
    return [Piece("session", s, steps=(SessionStep(s),)) for s in list(sources)[:_MOST]]


def _sentences(text: str) -> list[str]:
    """The title and the first sentences of a text that begins with it."""
    title, _, body = text.strip().partition("\n")
    return [title, *re.split(r"(?<=[.!?])\s|\n\n", body[:_FAR])]


def _calls(sentence: str) -> Iterator[str]:
    names = [n for n in dict.fromkeys(_NAMED.findall(sentence)) if not _OWN.search(n)]
    if not names or not _FAILS.search(sentence):
        return
    behind = sentence[sentence.rindex("()") + 2 :]
    values = dict.fromkeys(match[1] for match in _LITERAL.finditer(behind))
    if not values:
        values = dict.fromkeys(
            value for kind, value in _KINDS if re.search(rf"(?<![\w-])(?:{kind})\b", behind)
        )
    for name in names:
        for value in values:
            for function in _ways(name):
                yield f"{function}({value})"


def _ways(name: str) -> list[str]:
    """How a function may be reached: as it stands, or of an object of its class."""
    owner, _, method = name.rpartition(".")
    if not owner.rpartition(".")[2][:1].isupper():
        return [name]
    return [f"{owner}().{method}", name]
