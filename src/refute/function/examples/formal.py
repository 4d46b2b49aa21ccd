"""Read doctests as calls and what comes of them."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator, Sequence
from typing import Any

from refute.core.problems import DoctestSession, Expression, Want
from refute.function.examples.scripts import DoctestStep, slice_of, steps_of
from refute.function.examples.subject import (
    DescribedFunction,
    Kind,
    Reading,
    called_as,
    invocation,
    mentions,
)
from refute.sandbox.equality import exception_name
from refute.source.literals import NotLiteral, parse_literal, read_literal
from refute.source.syntax import try_parse_statements

LOOSE_NAMES: dict[str, Any] = {
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
    "null": None,
    "none": None,
}
"""Spellings in other languages and in prose of Python's constants."""
STRING = re.compile(
    r"(?:[rbRB]{0,2})"
    r"(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n]|\n(?!\s*\n))*?'|\"(?:\\.|[^\"\\\n]|\n(?!\s*\n))*?\")",
    re.S,
)
"""A text's literal."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_QUOTES = re.compile(r"(?m)^[ \t]*(?:\"\"\"|''')[ \t]*$")


def doctests(about: DescribedFunction) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Doctest examples that name the function, and the spans of text that are theirs.

    An example that hangs on no other and only calls the function with plain values is that call;
    the others stay sessions.
    """
    blank = _QUOTES.sub(lambda found: " " * len(found[0]), about.text)
    try:
        examples = doctest.DocTestParser().get_examples(blank)
    except ValueError:  # inconsistent blanks, an unknown directive
        return [], []
    run = [one for one in examples if not one.options.get(doctest.SKIP)]
    named = called_as(about.entry_point)
    steps = [*steps_of(run, named, 0, own=True)]
    starts = [0, *(found.end() for found in re.finditer("\n", about.text)), len(about.text)]
    readings: list[Reading] = []
    taken: list[tuple[int, int]] = []
    for index, (example, step) in enumerate(zip(run, steps, strict=True)):
        wanted = _output_of(example)
        size = example.source.count("\n") + wanted.count("\n")
        span = (starts[example.lineno], starts[min(example.lineno + size, len(starts) - 1)])
        taken.append(span)
        if step.depends:
            readings += _read(step, wanted, slice_of(steps, index), steps, about, span)
    return readings, taken


def _output_of(example: doctest.Example) -> str:
    """The output that an example wants, without the prose that follows a whole value."""
    lines = example.want.splitlines(keepends=True)
    for size in range(1, len(lines)) if example.exc_msg is None else ():
        try:
            read("".join(lines[:size]))
        except NotLiteral:
            continue
        return "".join(lines[:size])
    return example.want


def _read(
    step: DoctestStep, wanted: str, needed: list[int], steps: Sequence[DoctestStep],
    about: DescribedFunction, span: tuple[int, int],
) -> Iterator[Reading]:  # fmt: skip
    body = try_parse_statements(step.source) or []
    raised = step.want.raised
    match body:
        case [ast.Assert() as node] if len(needed) == 1:
            yield from assertion(node, about, span, kind="doctest")
            return
        case [ast.Expr(value=ast.Compare() as node)] if len(needed) == 1 and not raised:
            if wanted.strip() in ("", "True", "true"):
                yield from assertion(ast.Assert(node), about, span, kind="doctest")
                return
        case [ast.Expr(value=node)] if len(needed) == 1 and raised:
            kind = exception_name(raised)
            call = invocation(node, about.entry_point)
            yield Reading(call, None, "doctest", span, raises=kind, formal=True)
            return
        case [ast.Expr(value=node)] if len(needed) == 1 and wanted:
            try:
                value = read(wanted, loose=True)
            except NotLiteral:
                pass
            else:
                call = invocation(node, about.entry_point)
                yield Reading(call, value, "doctest", span, formal=True)
                return
    if body and (raised or (wanted and "..." not in wanted)):  # dots stand for anything
        sources = tuple(steps[place].source for place in needed)
        want = Want(wanted, raised, step.want.options)
        yield Reading(DoctestSession(sources), want, "doctest", span, formal=True)


def assertion(
    node: ast.Assert, about: DescribedFunction, span: tuple[int, int], *, kind: Kind
) -> Iterator[Reading]:
    """The reading of an assert: call == value, or the whole condition as an expression."""
    test = node.test
    if not mentions(test, about.name):
        return

    def reading(side: ast.expr, expected: Any) -> Reading:
        return Reading(invocation(side, about.entry_point), expected, kind, span, formal=True)

    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from assertion(ast.Assert(part), about, span, kind=kind)
            return
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            for side, other in ((left, right), (right, left)):
                try:
                    if mentions(side, about.name):
                        yield reading(side, read_literal(other))
                        return
                except NotLiteral:
                    continue
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as operand):
            yield _truth(operand, False, about, span, kind)
            return
        case ast.Call() if _is_own(test, about):
            yield _truth(test, True, about, span, kind)
            return
        case ast.Call(func=func, args=[left, right]) if _last_name(func) in ("isclose", "allclose"):
            close = _close(test, left, right)
            if close is not None:
                yield Reading(Expression(close), True, kind, span, formal=True)
            return
    if isinstance(test, (ast.Compare, ast.Call, ast.UnaryOp, ast.BoolOp)):
        yield Reading(Expression(ast.unparse(test)), True, kind, span, formal=True)


def _truth(
    node: ast.Call, expected: bool, about: DescribedFunction, span: tuple[int, int], kind: Kind
) -> Reading:
    """`assert f(x)` asks for a true value, which need not be `True`."""
    boolean = about.returns is not None and ast.unparse(about.returns) == "bool"
    source = f"bool({ast.unparse(node)})"
    call = invocation(node, about.entry_point) if boolean else Expression(source)
    return Reading(call, expected, kind, span, formal=True)


def _is_own(node: ast.expr, about: DescribedFunction) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == about.entry_point


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]


def _close(test: ast.Call, left: ast.expr, right: ast.expr) -> str | None:
    """`math.isclose(a, b, …)` without needing the module `math` in the program."""
    try:
        options = {k.arg: float(read_literal(k.value)) for k in test.keywords}
    except (NotLiteral, TypeError, ValueError):
        return None
    numpy = _last_name(test.func) == "allclose" or ast.unparse(test.func).startswith(("np", "num"))
    relative = options.get("rtol", 1e-5) if numpy else options.get("rel_tol", 1e-9)
    absolute = options.get("atol", 1e-8) if numpy else options.get("abs_tol", 0.0)
    a, b = ast.unparse(left), ast.unparse(right)
    return f"abs(({a}) - ({b})) <= max({relative!r} * abs({b}), {absolute!r})"


# -- values in a text ------------------------------------------------------------------------------


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
    for match in STRING.finditer(text):
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
            match = STRING.match(text, position)
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
