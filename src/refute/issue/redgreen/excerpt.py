"""A file as a prompt shows it: whole where it fits, else the definitions that matter most."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from refute.issue.context import estimated_tokens, numbered, ranked
from refute.syntax import parse_module

__all__ = ["excerpt", "outline"]

GAP = "..."
_HEAD_SHARE = 5
"""A file's beginning (docstring, imports) may have one part in so many."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines [start, stop), 0-based, of a definition or of the head of a class."""

    name: str
    """`function`, `Class`, or `Class.method`."""
    start: int
    stop: int
    owner: int = -1
    """First line of the class that holds it."""


def excerpt(
    text: str, tokens: int, *, query: str = "", named: Collection[str] = (), last: bool = False
) -> str:
    """Lines of `text` with their numbers, about `tokens` of them at most; `...` for what is cut.

    First come definitions that are `named` (`function`, `Class`, `Class.method`, `method`), then,
    with `last`, the last of the file, then those that BM25 ranks highest for `query`. A method
    brings the first line of its class. What does not parse is shown from its beginning.
    """
    whole = numbered(text)
    if estimated_tokens(whole) <= tokens:
        return whole
    lines = text.splitlines()
    spans = _spans(text)
    shown: set[int] = set()
    first = min((span.start for span in spans), default=len(lines))
    left = tokens - _show(range(first), lines, shown, tokens // _HEAD_SHARE if spans else tokens)
    for span in _ordered(spans, lines, query, named, last):
        wanted = {*range(span.start, span.stop)} | ({span.owner} if span.owner >= 0 else set())
        cost = sum(_cost(number, lines) for number in wanted - shown) + estimated_tokens(GAP)
        if cost <= left:
            shown |= wanted
            left -= cost
    return "\n".join(_with_gaps(shown, lines))


def outline(text: str, tokens: int) -> str:
    """The names that a file defines at its top and in its classes, on one line."""
    parts: list[str] = []
    for span in _spans(text):
        name = span.name.rpartition(".")[2]
        parts.append(f".{name}" if span.owner >= 0 else name)
        tokens -= estimated_tokens(name) + 1
        if tokens < 0:
            parts.append(GAP)
            break
    return " ".join(parts)


def _ordered(
    spans: list[_Span], lines: list[str], query: str, named: Collection[str], last: bool
) -> list[_Span]:
    texts = {
        f"{number:06d}": "\n".join(lines[span.start : span.stop])
        for number, span in enumerate(spans)
    }
    order = {key: place for place, key in enumerate(ranked(query, texts))}
    tails = {name.rpartition(".")[2] for name in named}

    def rank(number: int) -> tuple[int, int]:
        span = spans[number]
        owner, _, name = span.name.rpartition(".")
        if span.name in named:
            group = 0
        elif name in tails:
            group = 1
        elif last and number == len(spans) - 1:
            group = 2
        else:
            group = 3 if owner in named else 4
        return group, order[f"{number:06d}"]

    return [spans[number] for number in sorted(range(len(spans)), key=rank)]


def _spans(text: str) -> list[_Span]:
    """Functions, heads of classes and methods, in their order; none where it does not parse."""
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [span for node in tree.body for span in _of(node)]


def _of(node: ast.stmt) -> Iterator[_Span]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield _Span(node.name, _first(node), node.end_lineno or node.lineno)
    elif isinstance(node, ast.ClassDef):
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        stop = _first(methods[0]) if methods else node.end_lineno or node.lineno
        yield _Span(node.name, _first(node), max(stop, node.lineno))
        for method in methods:
            end = method.end_lineno or method.lineno
            yield _Span(f"{node.name}.{method.name}", _first(method), end, node.lineno - 1)


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1


def _cost(number: int, lines: list[str]) -> int:
    return estimated_tokens(f"{number + 1} {lines[number]}")


def _show(wanted: range, lines: list[str], shown: set[int], limit: int) -> int:
    """Show lines while they fit; the tokens that they take."""
    taken = 0
    for number in wanted:
        taken += _cost(number, lines)
        if taken > limit:
            return taken - _cost(number, lines)
        shown.add(number)
    return taken


def _with_gaps(shown: Collection[int], lines: list[str]) -> Iterator[str]:
    before = -1
    for number in sorted(shown):
        if number != before + 1:
            yield GAP
        yield f"{number + 1} {lines[number]}"
        before = number
    if before != len(lines) - 1:
        yield GAP
