"""Read the examples that HumanEval's prompts tell in words: `f(1) == 2`, `f(1) ➞ 2`, "f(1) should
return 2", "for k = 3 the result should be 5"; and the asserts of MBPP's code.

Of 1,849 documented functions of released packages 2 are written so: `refute` itself reads doctests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refute.core.problems import Call, Expression, Invocation, Trust, UnitTest
from refute.function.examples import MAX_TEXT, contradictions_marked
from refute.function.examples.formal import LOOSE_NAMES, STRING, assertion, closing, doctests, read
from refute.function.examples.subject import (
    DescribedFunction,
    Kind,
    Reading,
    grounded,
    overlaps,
    subject,
    to_test,
)
from refute.source.literals import NotLiteral, read_call, read_literal
from refute.source.syntax import try_parse, try_parse_statements

__all__ = ["prompt_examples"]

_VERB = r"(?:returns?|gives?|outputs?|yields?|equals?|evaluates to|produces?|prints?|be|is)"
_RELATION = re.compile(
    r"\s*(?:"
    r"(?P<formal>==(?!>))"
    r"|(?P<arrow>#?\s*(?:==>|=>|-->|->|—>|→|➞|⇒|➔|⟶|⟹|>>>?))"
    r"|(?P<equals>=(?![=>]))"
    r"|(?P<words>,?\s*(?:#|//)?\s*(?:(?:it|which|that|this)\s+)?"
    r"(?:(?:should|will|must|would|shall|can)\s+)?(?:(?:then|just|have)\s+)?"
    rf"{_VERB}(?:\s+(?:returned|equal to|the (?:value|string|list|number|integer|tuple)))?\s*:?)"
    r"(?=[\s'\"\[({:-])"
    r")\s*"
)
_CLEAN_END = re.compile(
    r"[ \t]*(?:$|\n|#|//|;|\)|\(|[.,:](?=\s|$)"
    r"|(?:and|or|because|since|as|while|but|for|when|if|where)\b)"
)
"""What may follow a value that ends there."""
_NAMED = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)\s*(?:=(?![=>])|:)\s*")
_SCALAR = re.compile(
    rf"{STRING.pattern}|[-+]?(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\.?\w)"
    r"|(?:True|False|None|true|false|TRUE|FALSE|null|none)\b",
    re.S,
)
_BETWEEN = re.compile(r"\s*(?:,|;|and|\n)?\s*(?:and\s+)?")
_RESULT = re.compile(
    r"(?:(?:the\s+|expected\s+)*(?:output|result|answer|return value|function)\s+)"
    r"(?:(?:should|will|must|would|shall)\s+)?"
    r"(?:be|is|are|returns?|outputs?|gives?|equals?|yields?)\b(?:\s+(?:returned|equal to))?"
    r"\s*[=:]?\s*|\b(?:return|output|result|answer)\s*[=:]?\s*",
    re.I,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|[.!?]\s+[A-Z]")
_NOT_ARGUMENT = re.compile(r"results?|outputs?|returns?|expected|answer|explanation|note", re.I)
_FURTHER = re.compile(r"\s*,?\s*(?:and|or|nor|but|unless)\b")
_MOST_UNCLOSED = 100


def prompt_examples(
    description: str, entry_point: str, *, code: str | None = None
) -> list[UnitTest]:
    """Return the examples of a task's text, in its order, then hints: asserts beside its code.

    Their trust: `STATED` for doctests and ``f(x) == y``, `WORDED` for other forms, `HINT` for
    asserts of the code and for examples that contradict one another. Never raises for odd text.
    """
    about = subject(description[:MAX_TEXT], entry_point, code)
    readings, taken = doctests(about)
    readings = grounded(readings, about)
    for reader in (_called, _named):
        found = list(reader(about, taken))
        # `tri(4) = 3` on the way to `tri(3) = [1, 3, 2, 8]` explains, and is no example
        last = type(found[-1].expected) if found else None
        found = [one for one in found if one.kind != "equation" or type(one.expected) is last]
        readings += found
        taken += [one.span for one in found]
    readings.sort(key=lambda one: one.span)
    tests = [to_test(one, about, where="description") for one in readings]
    return contradictions_marked([*tests, *_hints(code or "", about)])


def _hints(code: str, about: DescribedFunction) -> Iterator[UnitTest]:
    """The asserts at the top level of a task's code."""
    tree = try_parse(code)
    lines = replace(about, text=code, plain=code)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Assert):
            start = sum(map(len, code.splitlines(keepends=True)[: node.lineno - 1]))
            found = list(assertion(node, about, (start, start + 1), kind="assert"))
            for one in grounded(found, about):
                test = to_test(one, lines, where="code")
                yield replace(test, trust=Trust.HINT, confidence=0.7)


# -- calls -----------------------------------------------------------------------------------------


def _called(about: DescribedFunction, taken: Sequence[tuple[int, int]]) -> Iterator[Reading]:
    """Examples that call the function by its name."""
    text, unclosed = about.plain, 0
    for match in re.finditer(rf"(?<![\w.]){re.escape(about.name)}[ ]?\(", text):
        start, opening = match.start(), match.end() - 1
        end = closing(text, opening)
        unclosed += end is None
        if unclosed > _MOST_UNCLOSED:
            return  # no prose, and each of them is looked for to the end of the text
        if end is None or overlaps((start, end), taken) or about.method:
            continue
        call, found = _call(about, text[opening:end]), _outcome(text, end)
        if call is not None and found is not None:
            value, kind, formal = found
            yield Reading(call, value.value, kind, (start, value.end), formal=formal)


def _call(about: DescribedFunction, arguments: str) -> Invocation | None:
    """The call with these parenthesised arguments; None where they are not all literals."""
    body = try_parse_statements("f" + arguments.replace("\n", " "))
    if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    node = body[0].value
    if not about.fits(len(node.args) + len(node.keywords)):
        return None
    try:
        return read_call(node, "f", literal=lambda arg: _argument(arg, about))
    except NotLiteral:
        given = (one for arg in node.args for one in ast.walk(arg))
        named = any(isinstance(one, (ast.Name, ast.Starred)) for one in given)
        return None if named else Expression(f"{about.entry_point}{arguments}")


def _argument(node: ast.expr, about: DescribedFunction) -> Any:
    """A literal, or a bare word where the text says that the first parameter is a string."""
    known = about.parameters or ("",)
    textual = re.search(rf"\bstring {known[0]}\b", about.plain)
    if textual and isinstance(node, ast.Name) and node.id not in known:
        return node.id
    return read_literal(node, names=LOOSE_NAMES)


def _outcome(text: str, end: int) -> tuple[_Value, Kind, bool] | None:
    """The value that is said to come of a call that ends there, the form, whether it is formal."""
    relation = _RELATION.match(text, end)
    if relation is None:
        return None
    group = relation.lastgroup
    if group == "words" and re.match(r"\s*\n\s*\n", text[end:]):
        return None
    value = _value(text, relation.end())
    if value is None or not _CLEAN_END.match(text, value.end):
        return None
    kind: Kind = "equation" if group == "equals" else "arrow"
    return value, kind, group == "formal"


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any
    end: int
    """The offset just past it."""


def _value(text: str, start: int) -> _Value | None:
    """The value that begins at `start`, after blanks."""
    while text[start : start + 1] in (" ", "\t"):
        start += 1
    scalar = _SCALAR.match(text, start)
    end = closing(text, start) if scalar is None else scalar.end()
    if end is None or text[start : start + 1] == ")":
        return None
    try:
        value = read(text[start:end], loose=True)
    except NotLiteral:
        return None
    # `("c")` may be a one-tuple without its comma
    return _Value(value, end) if text[start] != "(" or isinstance(value, tuple) else None


# -- named arguments -------------------------------------------------------------------------------


def _named(about: DescribedFunction, taken: Sequence[tuple[int, int]]) -> Iterator[Reading]:
    """`For num = 4 the output should be 5`, `lst = [1, 2], k = 3: the result is 5`."""
    text, position = about.plain, 0
    known = about.parameters or ()
    while match := _NAMED.search(text, position):
        position = match.end()
        given, end = _assignments(text, match.start())
        # "if x = 1 and y is negative"
        first = (*given,)[:1]
        if first not in (known[:1], ("Input",)) or _FURTHER.match(text, end):
            continue
        value = _result_after(text, end)
        span = (match.start(), value.end if value is not None else end)
        if value is not None and about.fits(len(given)) and not overlaps(span, taken):
            position = value.end
            yield Reading(Call((*given.values(),)), value.value, "prose", span)


def _assignments(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Named values from `start` on, and the offset past the last."""
    found: dict[str, Any] = {}
    position = start
    while True:
        gap = _BETWEEN.match(text, position) if found else None
        match = _NAMED.match(text, gap.end() if gap else position)
        value = _value(text, match.end()) if match is not None else None
        if match is None or value is None or _NOT_ARGUMENT.fullmatch(match[1]):
            return found, position
        found[match[1]] = value.value
        position = value.end


def _result_after(text: str, start: int) -> _Value | None:
    """The value said to come out, within the same paragraph."""
    stop = _PARAGRAPH.search(text, start)
    for match in _RESULT.finditer(text, start, stop.start() + 1 if stop else len(text)):
        value = _value(text, match.end())
        if value is not None and _CLEAN_END.match(text, value.end):
            return value
    return None
