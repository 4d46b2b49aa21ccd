"""Examples found inside the faulty code: docstring, self-tests, comments. Hints, no truths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from refute.function.examples.formal import assertion
from refute.function.examples.scanner import scan
from refute.function.examples.subject import Reading, Subject, invocation, mentions
from refute.literals import NotLiteral, read_literal
from refute.syntax import find_function, try_parse

__all__ = ["docstring_of", "self_tests"]

_LABEL = re.compile(
    r"\s*(?:(?:expected|should|output|result|returns?|prints?|be|print|the|is)\b\s*)*"
    r"(?:==>|=>|->|→|➞|==?|:)?\s*",
    re.I,
)


def docstring_of(code: str, entry_point: str) -> str:
    """The function's docstring, evaluated; empty when there is none."""
    tree = try_parse(code)
    function = find_function(tree, entry_point) if tree is not None else None
    return ast.get_docstring(function) or "" if function is not None else ""


def self_tests(code: str, about: Subject) -> Iterator[Reading]:
    """Module-level asserts, and calls with a comment that says what comes out.

    Names that the module assigns a literal, once, stand for it. Spans are offsets in `code`.
    """
    tree = try_parse(code)
    if tree is None:
        return
    offsets = _offsets(code)
    names: dict[str, ast.expr] = {}
    body = list(tree.body)
    for statement in tree.body:
        if isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test):
            body += statement.body
    for statement in body:
        span = (offsets[statement.lineno - 1], offsets[(statement.end_lineno or 0) - 1] + 1)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                names[target.id] = statement.value
        if isinstance(statement, ast.Assert):
            yield from assertion(statement, about, span, kind="assert")
        elif isinstance(statement, (ast.Expr, ast.Assign)):
            yield from _commented(statement, names, code, about, span)


def _commented(
    statement: ast.Expr | ast.Assign,
    names: dict[str, ast.expr],
    code: str,
    about: Subject,
    span: tuple[int, int],
) -> Iterator[Reading]:
    calls = [
        node
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Call) and mentions(node, about.name)
    ]
    own = [node for node in calls if ast.unparse(node.func) == about.entry_point]
    if len(own) != 1:
        return
    lines = code.splitlines()
    last = (statement.end_lineno or statement.lineno) - 1
    comment = lines[last].encode()[statement.end_col_offset or 0 :].decode(errors="replace")
    marked = re.match(r"\s*;?\s*#(.*)", comment)
    if marked is None and last + 1 < len(lines):
        marked = re.match(
            r"#\s*(?:expected )?(?:output|returns|result)\s*:(.*)", lines[last + 1], re.I
        )
    if marked is None:
        return
    label = _LABEL.match(marked[1])
    value = scan(marked[1], label.end() if label else 0)
    if value is None or not re.match(r"\s*($|[,.;(#-]|because|since|as)", marked[1][value.end :]):
        return
    args = [_resolved(arg, names) for arg in own[0].args]
    call = invocation(ast.Call(own[0].func, args, own[0].keywords), about.entry_point)
    yield Reading(call, value.value, "equation", span)


def _resolved(node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
    if isinstance(node, ast.Name) and node.id in names:
        try:
            read_literal(names[node.id])
        except NotLiteral:
            return node
        return names[node.id]
    return node


def _offsets(code: str) -> list[int]:
    offsets = [0]
    for line in code.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return offsets
