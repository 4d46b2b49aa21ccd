"""Propose edits for `shrinking`, largest first: parts that could be left out of a scenario, or be
simpler.

An edit is only a proposal; whoever asks drops those that make nothing smaller or change what is
seen. What is observed stays: the outermost call of the last expression, by name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from typing import Any

from refute.core.problems import Scenario
from refute.function.scenarios.varying import parsed
from refute.source.literals import is_literal
from refute.source.syntax import bound_names, read_names

Path = tuple[str | int, ...]
"""Path to a node: ("body", 0, "value", "args", 1)."""
Edit = tuple[tuple[Path, ast.AST | None], ...]
"""New nodes for places; None: the item of the list is dropped."""
Size = tuple[int, int, int, int, int]
"""Statements; calls; expressions; characters of texts and numbers; how odd these are."""


def tree_of(scenario: Scenario) -> ast.Module:
    """The statements and the expression. Raises SyntaxError."""
    return ast.Module(parsed(scenario), [])


def at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at a path."""
    found = _found(tree, path)
    assert isinstance(found, ast.AST)
    return found


def is_leaf(node: ast.AST) -> bool:
    """Return whether it is a constant, or a number with a sign."""
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
    """A copy of a tree with all edits, whose paths are those of `tree`.

    Where two edits meet, the outer one, of two at the same place the first, counts.
    """
    places: dict[Path, ast.AST | None] = {}
    for edit in edits:
        for path, new in edit:
            places.setdefault(path, new)
    module = _copied(tree)
    holes: dict[Path, set[str | int]] = {}
    for path, new in places.items():
        if any(path[:length] in places for length in range(1, len(path))):
            continue
        holder, last = _found(module, path[:-1]), path[-1]
        if new is None:
            holes.setdefault(path[:-1], set()).add(last)
        elif isinstance(last, int):
            holder[last] = new
        else:
            setattr(holder, last, new)
    lists = [(_found(module, path), dropped) for path, dropped in holes.items()]
    for items, dropped in lists:
        items[:] = [one for index, one in enumerate(items) if index not in dropped]
    return module


def _copied(tree: ast.Module) -> ast.Module:
    made = copy.copy(tree)
    left: list[Any] = [made]
    while left:
        node = left.pop()
        for name, inner in ast.iter_fields(node):
            if isinstance(inner, list):
                new: Any = [copy.copy(one) for one in inner]
                left += [one for one in new if isinstance(one, ast.AST)]
            elif isinstance(inner, ast.AST):
                new = copy.copy(inner)
                left.append(new)
            else:
                continue
            setattr(node, name, new)
    return made


def _found(tree: Any, path: Path) -> Any:
    """The node or the list at a path."""
    for step in path:
        tree = tree[step] if isinstance(step, int) else getattr(tree, step)
    return tree


# -- size ------------------------------------------------------------------------------------------


def size(scenario: Scenario) -> Size:
    """`size_of` its statements and expression. Raises SyntaxError."""
    return size_of(tree_of(scenario))


def size_of(tree: ast.Module) -> Size:
    """Measure how much there is to read; scenarios are ordered by it. Well-founded.

    First the number of statements; then of calls and awaits (a literal such as ``Decimal("1")``
    or ``set()`` is none); then of expressions, literals and names alike; then of characters in
    texts and digits in numbers, none for None, False, 0 and ""; last how far characters and numbers
    are from the plainest, "a" and 0. Five natural numbers, compared in this order: what gets
    smaller at each step comes to an end.
    """
    calls = parts = characters = oddness = 0
    for node in _nodes(tree):
        if isinstance(node, (ast.Call, ast.Await)) and not is_literal(node):
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
    """Return how far a character is from "a"."""
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


# -- edits ----------------------------------------------------------------------------------------


def statements(tree: ast.Module) -> list[Edit]:
    """Each set-up statement dropped, with those that need what it binds; last ones first."""
    found: list[Edit] = []
    for index in reversed(range(len(tree.body) - 1)):
        dropped, needed = _with_dependents(tree, index)
        if not needed:
            found.append(tuple((("body", one), None) for one in sorted(dropped)))
    return found


def _with_dependents(tree: ast.Module, index: int) -> tuple[set[int], bool]:
    """Return the statements that go with one, and whether the observed expression needs any of
    them."""
    dropped, gone = {index}, {*bound_names(tree.body[index])}
    for later in range(index + 1, len(tree.body)):
        node = tree.body[later]
        if gone & read_names(node):
            if later == len(tree.body) - 1:
                return dropped, True
            dropped.add(later)
            gone |= bound_names(node)
        else:
            gone -= bound_names(node)
    return dropped, False


def _assigned(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr, list[Path]]]:
    """(index, name, value, uses) of the variables that are bound once, by a plain assignment."""
    places = expressions(tree)
    for index, statement in enumerate(tree.body[:-1]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if sum(name in bound_names(one) for one in tree.body) == 1:
                    uses = [
                        path
                        for path, node in places
                        if isinstance(node, ast.Name) and node.id == name
                    ]
                    yield index, name, value, uses


def inlined(tree: ast.Module) -> list[Edit]:
    """Each variable that is used once written out where it is used."""
    return [
        ((("body", index), None), (uses[0], value))
        for index, _, value, uses in _assigned(tree)
        if len(uses) == 1
    ]


def dropped_items(tree: ast.Module) -> list[Edit]:
    """Each item of a display, each pair of a dictionary, each argument and keyword dropped."""
    found: list[Edit] = []
    for path, node in expressions(tree):
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                found += [(((*path, "elts", i), None),) for i in range(len(items))]
            case ast.Dict(keys=keys):
                for i in range(len(keys)):
                    found.append((((*path, "keys", i), None), ((*path, "values", i), None)))
            case ast.Call(args=args, keywords=keywords):
                for i in reversed(range(len(keywords))):
                    found.append((((*path, "keywords", i), None),))
                for i in reversed(range(len(args))):
                    found.append((((*path, "args", i), None),))
            case ast.BoolOp(values=values) if len(values) > 2:
                found += [(((*path, "values", i), None),) for i in range(len(values))]
    return found


def replaced(tree: ast.Module) -> list[Edit]:
    """Each expression replaced by one that it is made of; a call by its receiver or an argument."""
    observed = _observed(tree)
    found: list[Edit] = []
    for path, node in expressions(tree):
        if path == observed or is_leaf(node):
            continue
        for inner in _parts(node):
            found.append(((path, inner),))
    return found


def _observed(tree: ast.Module) -> Path:
    """Return the path of the observed call: the last expression, or what that awaits."""
    path: Path = ("body", len(tree.body) - 1, "value")
    while isinstance(at(tree, path), ast.Await):
        path = (*path, "value")
    return path


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that one is made of, for a receiver's call the receiver first."""
    match node:
        case ast.Starred(value=ast.List(elts=[only]) | ast.Tuple(elts=[only])):
            yield only
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.keyword):
            yield inner.value
        elif isinstance(node, ast.Call) and inner is node.func:
            if isinstance(inner, ast.Attribute):
                yield inner.value
        elif isinstance(inner, ast.Starred):
            yield inner.value
        elif isinstance(inner, ast.expr) and not isinstance(inner, ast.Slice):
            yield inner


def simplest(tree: ast.Module) -> list[Edit]:
    """Each object, and each variable with what it needs, replaced by None, 0, "" or [].

    A literal stays of its kind: a test with None for a text would look like wrong use.
    """
    plainest = [ast.Constant(None), ast.Constant(0), ast.Constant(""), ast.List([], ast.Load())]
    observed = _observed(tree)
    found: list[Edit] = []
    for index, _, _, uses in _assigned(tree):
        if not any(path[-1] == "value" and path[-2:-1] == ("func",) for path in uses):
            for plain in plainest[:2]:
                found.append(((("body", index), None), *((use, plain) for use in uses)))
    for path, node in expressions(tree):
        receiver = path[-2:] == ("func", "value")
        statement = len(path) == 3 and isinstance(at(tree, path[:2]), ast.Expr)
        fixed = path in (observed, observed[:3]) or isinstance(node, ast.Starred)
        literal = is_leaf(node) or isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict))
        if fixed or receiver or statement or literal:
            continue
        found += [((path, plain),) for plain in plainest]
    return found


def zeros(tree: ast.Module) -> list[Edit]:
    """Each constant replaced by the smallest of its kind."""
    found: list[Edit] = []
    for path, node in expressions(tree):
        zero = zero_of(node)
        if zero is not None:
            found.append(((path, zero),))
    return found


def number(value: int | float) -> ast.expr:
    """The tree of a number."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def value_of(node: ast.AST) -> object:
    """A constant's value."""
    if isinstance(node, ast.UnaryOp):
        inner = node.operand
        return -inner.value if isinstance(inner, ast.Constant) else None  # type: ignore[operator]
    return node.value if isinstance(node, ast.Constant) else None
