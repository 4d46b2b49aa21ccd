"""Examples told in a text: `f(1) == 2`, `f(1) ➞ 2`, "f(1) should return 2", `Input: … Output: …`,
"for k = 3 the result is 5", and what undoes another function.

A form stays here that at least two tasks of HumanEval+, MBPP+ and HumanEvalFix are written in;
docstrings of released packages use hardly any.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from refute.core.problems import Call, Expression, Invocation
from refute.function.examples.scanner import LOOSE_NAMES, Scanned, closing, scan
from refute.function.examples.subject import DescribedFunction, Kind, Reading, overlaps
from refute.source.literals import NotLiteral, read_call, read_literal
from refute.source.syntax import try_parse_statements

_ARROW = r"(?:==>|=>|-->|->|—>|→|➞|⇒|➔|⟶|⟹)"
"""The arrows that people put between a call and its output."""

_VERB = r"(?:returns?|gives?|outputs?|yields?|equals?|evaluates to|produces?|prints?|be|is)"
_LABEL = r"(?:[Oo]utputs?|[Rr]esult|[Rr]eturns?|[Ee]xpected)(?: output)?"
_RELATION = re.compile(
    r"\s*(?:"
    r"(?P<formal>==(?!>))"
    rf"|(?P<arrow>#?\s*(?:{_ARROW}|>>>?))"
    r"|(?P<equals>=(?![=>]))"
    r"|(?P<words>,?\s*(?:#|//)?\s*(?:(?:it|which|that|this)\s+)?"
    r"(?:(?:should|will|must|would|shall|can)\s+)?(?:(?:then|just|have)\s+)?"
    rf"{_VERB}(?:\s+(?:returned|equal to|the (?:value|string|list|number|integer|tuple)))?\s*:?)"
    r"(?=[\s'\"\[({:-])"
    rf"|(?P<comment>\s*(?:#|//)\s*(?:(?:{_LABEL}|[Ss]hould be|[Pp]rints?)\s*[:=]?)?)"
    r")\s*"
)
_CLEAN_END = re.compile(
    r"[ \t]*(?:$|\n|#|//|;|\)|\(|[.,:](?=\s|$)"
    r"|(?:and|or|because|since|as|while|but|for|when|if|where)\b)"
)
"""What may follow a value that ends there."""
_CHAIN = re.compile(r"[ \t]*(?:=|==)[ \t]*")


def called_examples(about: DescribedFunction, taken: Sequence[tuple[int, int]]) -> list[Reading]:
    """Examples that call the function by its name, or by the one other name that they all use."""
    readings = list(_scan(about, about.name, taken))
    if readings or re.search(rf"\b{re.escape(about.name)}\s*\(\s*[\d'\"\[(-]", about.plain):
        return readings
    names = Counter(
        name
        for name in re.findall(r"\b([A-Za-z_]\w*)\(", about.plain)
        if name not in about.defined and not keyword.iskeyword(name) and name not in _BUILTINS
    )
    for name, _ in names.most_common(3):
        readings = list(_scan(about, name, taken, alias=True))
        if readings:
            return readings
    return []


_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


_MOST_UNCLOSED = 100


def _scan(
    about: DescribedFunction, name: str, taken: Sequence[tuple[int, int]], *, alias: bool = False
) -> Iterator[Reading]:
    text = about.plain
    unclosed = 0
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}[ ]?\(", text):
        start, opening = match.start(), match.end() - 1
        end = closing(text, opening)
        unclosed += end is None
        if unclosed > _MOST_UNCLOSED:
            return  # no prose, and each of them is looked for to the end of the text
        if end is None or overlaps((start, end), taken):
            continue
        if about.method and not alias:
            continue
        call = _call(about, text[opening:end])
        if call is None:
            continue
        found = _outcome(text, end)
        if found is None:
            continue
        value, kind, formal, stop, wrapped = found
        formal = formal and not alias
        span = (start, stop)
        yield Reading(call, value, kind, span, formal=formal, parenthesised=wrapped, alias=alias)


def _outcome(text: str, end: int) -> tuple[Any, Kind, bool, int, bool] | None:
    """(value, kind, formal, offset past it, parenthesised) of what is said after a call."""
    relation = _RELATION.match(text, end)
    blank = re.compile(r"[ \t]+(?=[\[{(])").match(text, end) if relation is None else None
    if relation is None and blank is None:
        return None
    group = relation.lastgroup if relation is not None else "blank"
    begin = relation.end() if relation is not None else end
    if group == "words" and re.match(r"\s*\n\s*\n", text[end:]):
        return None
    if group == "comment":
        inside = re.compile(rf"\s*(?:{_ARROW}|==?)\s*").match(text, begin)
        begin = inside.end() if inside else begin
    value = scan(text, begin)
    if value is None:
        return None
    wrapped = text[begin : begin + 1] == "(" and not isinstance(value.value, tuple)
    stop = value.end
    chain = _CHAIN.match(text, stop)
    if chain is not None:  # "-> 19 - 5 - 6 = 8", "= 1 + (2 / 2) = 2"
        last = scan(text, chain.end())
        if last is None or (value.computed and last.value != value.value):
            return None
        value, stop = last, last.end
    if not _CLEAN_END.match(text, stop):
        return None
    kind: Kind = "equation" if group in ("formal", "equals") else "arrow"
    return value.value, kind, group == "formal", stop, wrapped


def _call(about: DescribedFunction, arguments: str) -> Invocation | None:
    """The call with these parenthesised arguments; None unless all of them are literals."""
    body = try_parse_statements("f" + arguments.replace("\n", " "))
    if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    node = body[0].value
    if not about.fits(len(node.args) + len(node.keywords)):
        return None
    places = count()
    try:
        return read_call(node, "f", literal=lambda arg: _argument(arg, next(places), about))
    except NotLiteral:
        if any(
            isinstance(one, (ast.Name, ast.Starred)) for arg in node.args for one in ast.walk(arg)
        ):
            return None
        return Expression(f"{about.entry_point}{arguments}")


def _argument(node: ast.expr, index: int, about: DescribedFunction) -> Any:
    """A literal argument, or a bare word where the parameter is said to be a string."""
    if isinstance(node, ast.Name) and about.holds_text(index):
        if node.id in (about.parameters or ()):
            raise NotLiteral(node.id)
        return node.id
    return read_literal(node, names=LOOSE_NAMES)


# -- labels, names, words --------------------------------------------------------------------------

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

_UNDOES = re.compile(
    r"\b(?:(?:en)?coded|encrypted|compressed|seriali[sz]ed|shifted|packed|escaped|quoted)"
    r"\s+(?:with|by|using|via)\s+(?:the\s+)?(?:function\s+)?[`']?(\w+)"
    r"|\b(?:inverse|opposite)\s+of\s+(?:the\s+)?(?:function\s+)?[`']?(\w+)",
    re.I,
)
_WORDS = ("", "a", "ab", "abc", "hello", "abcdefgh", "zyxwvut", "aabbccdd", "mississippi")
"""Lower case only: legal for any code of texts."""


def labelled_fields(about: DescribedFunction) -> Iterator[Reading]:
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
        if args and value is not None and _CLEAN_END.match(text, value.end):
            yield Reading(Call(tuple(args)), value.value, "fields", (given.start(), value.end))


def _field_arguments(about: DescribedFunction, block: str) -> list[Any] | None:
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


def _placed(about: DescribedFunction, named: dict[str, Any]) -> list[Any] | None:
    """Named values in the order of the parameters; other names go by position."""
    if about.parameters is None:
        return list(named.values())
    if not about.fits(len(named)):
        return None
    wanted = about.parameters[: len(named)]
    if set(named) == set(wanted):
        return [named[name] for name in wanted]
    return None if set(named) <= set(about.parameters) else list(named.values())


def named_arguments(about: DescribedFunction) -> Iterator[Reading]:
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
        if value is not None and _CLEAN_END.match(text, value.end):
            return value
    return None


def round_trips(about: DescribedFunction) -> Iterator[Reading]:
    """`decode(encode(x)) == x` where the text says that the function undoes another one here."""
    if about.method or about.parameters is None or not about.fits(1):
        return
    for match in _UNDOES.finditer(about.plain):
        other = match[1] or match[2]
        if other in about.defined and other != about.name:
            for word in _WORDS:
                call = Expression(f"{about.name}({other}({word!r}))")
                yield Reading(call, word, "inverse", match.span())
            return
