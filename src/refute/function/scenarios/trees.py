"""A scenario's syntax tree: its expressions by path, edits of several places at once, its size."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from typing import Any

from refute.core.problems import Scenario
from refute.function.scenarios.varying import parsed
from refute.source.literals import NotLiteral, read_literal

Path = tuple[str | int, ...]
"""Where a node is: ("body", 0, "value", "args", 1)."""
Edit = tuple[tuple[Path, ast.AST | None], ...]
"""New nodes for places; None: the item of the list is dropped."""
Size = tuple[int, int, int, int, int]
"""Statements; calls; expressions; characters of texts and numbers; how odd these are."""


def tree_of(scenario: Scenario) -> ast.Module:
    """The statements and the expression. Raises SyntaxError."""
    return ast.Module(parsed(scenario), [])


def at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at a path."""
    found: object = tree
    for step in path:
        found = found[step] if isinstance(step, int) else getattr(found, step)  # type: ignore[index]
    assert isinstance(found, ast.AST)
    return found


def is_leaf(node: ast.AST) -> bool:
    """Whether it is a constant, or a number with a sign."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() | complex())):
            return True
    return isinstance(node, ast.Constant)


def expressions(tree: ast.Module) -> list[tuple[Path, ast.expr]]:
    """Every expression that can be replaced, outer ones first; of a method its receiver."""
    return list(_below(tree, ()))


def _below(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.expr]]:
    if isinstance(node, ast.expr):
        named = path[-1] == "func" and isinstance(node, (ast.Name, ast.Attribute))
        if not named and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield path, node
        if is_leaf(node) or isinstance(node, ast.JoinedStr):
            return
    for name, inner in ast.iter_fields(node):
        if isinstance(inner, ast.AST):
            yield from _below(inner, (*path, name))
        elif isinstance(inner, list):
            for index, item in enumerate(inner):
                if isinstance(item, ast.AST):
                    yield from _below(item, (*path, name, index))


def edited(tree: ast.Module, edits: Iterable[Edit]) -> ast.Module:
    """A tree with all edits, whose paths are those of `tree`; what they leave alone is shared.

    Where two edits meet, the outer one, of two at the same place the first, counts.
    """
    places: dict[Path, ast.AST | None] = {}
    for edit in edits:
        for path, new in edit:
            places.setdefault(path, new)
    copies: dict[Path, Any] = {(): copy.copy(tree)}
    holes: dict[Path, set[int]] = {}
    for path, new in places.items():
        if any(path[:length] in places for length in range(1, len(path))):
            continue
        last = path[-1]
        if new is None and isinstance(last, int):
            holes.setdefault(path[:-1], set()).add(last)
        else:
            _put(_own(path[:-1], copies), last, new)
    for path in holes:  # before an index changes its meaning
        _own(path, copies)
    for path, dropped in sorted(holes.items(), key=lambda one: -len(one[0])):
        items = copies[path]
        items[:] = [one for index, one in enumerate(items) if index not in dropped]
        if not items and isinstance(_own(path[:-1], copies), ast.Set):  # which has no display
            _put(_own(path[:-2], copies), path[-2], ast.Call(_SET, [], []))
    module = copies[()]
    assert isinstance(module, ast.Module)
    return module


_SET = ast.Name("set", ast.Load())


def _own(path: Path, copies: dict[Path, Any]) -> Any:
    """The copy's own node or list at a path."""
    if path not in copies:
        above, last = _own(path[:-1], copies), path[-1]
        old = above[last] if isinstance(last, int) else getattr(above, last)
        copies[path] = copy.copy(old)
        _put(above, last, copies[path])
    return copies[path]


def _put(holder: Any, last: str | int, new: Any) -> None:
    if isinstance(last, int):
        holder[last] = new
    else:
        setattr(holder, last, new)


# -- size ------------------------------------------------------------------------------------------


def size(scenario: Scenario) -> Size:
    """`size_of` its statements and expression. Raises SyntaxError."""
    return size_of(tree_of(scenario))


def size_of(tree: ast.Module) -> Size:
    """How much there is to read, by which scenarios are ordered; well-founded.

    First the number of statements; then of calls and awaits (a literal such as ``Decimal("1")``
    or ``set()`` is none); then of expressions, literals and names alike; then of characters in
    texts and digits in numbers, none for None, False, 0 and ""; last how far characters and numbers
    are from the plainest, "a" and 0. Five natural numbers, compared in this order: what gets
    smaller at each step comes to an end.
    """
    calls = parts = characters = oddness = 0
    for node in _nodes(tree):
        if isinstance(node, (ast.Call, ast.Await)) and not _is_literal(node):
            calls += 1
        if isinstance(node, (ast.expr, ast.keyword)):
            parts += 1
        if is_leaf(node):
            more, odd = _leaf(node)
            characters += more
            oddness += odd
    return len(tree.body), calls, parts, characters, oddness


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not is_leaf(node):
        for inner in ast.iter_child_nodes(node):
            yield from _nodes(inner)


def _is_literal(node: ast.expr) -> bool:
    try:
        read_literal(node)
    except NotLiteral:
        return False
    return True


def _leaf(node: ast.AST) -> tuple[int, int]:
    """(characters, oddness) of a constant."""
    negative = isinstance(node, ast.UnaryOp)
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool):
        return 0, int(value)
    if isinstance(value, int):
        digits = str(value) if value.bit_length() < 10_000 else hex(value)
        return (len(digits) + negative if value else 0), 2 * value + negative
    if isinstance(value, float):
        text = repr(value).removesuffix(".0")
        digits = "".join(one for one in text if one.isdigit())
        return (len(text) + negative if value else 0), 2 * int(digits or 9) + negative + 1
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return len(text), sum(map(rank, text)) + isinstance(value, bytes)
    return (0, 0) if value is None else (len(repr(value)), 1)


_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ _-.,"


def rank(character: str) -> int:
    """How far a character is from "a"."""
    found = _PLAIN.find(character)
    return found if found >= 0 else len(_PLAIN) + ord(character)


def zero_of(node: ast.expr) -> ast.expr | None:
    """The smallest constant of a constant's kind; None where it is that."""
    match node:
        case ast.Constant(value=True):
            return ast.Constant(False)
        case ast.Constant(value=str(value)) if value:
            return ast.Constant("")
        case ast.Constant(value=bytes(value)) if value:
            return ast.Constant(b"")
        case ast.UnaryOp() if is_leaf(node):
            return ast.Constant(0)
        case ast.Constant(value=int() | float() | complex() as value) if (
            value or type(value) is not int
        ) and value is not False:
            return ast.Constant(0)
    return None
