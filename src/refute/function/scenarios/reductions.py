"""What could be left out of a scenario, or be simpler: edits for `shrinking`, largest first.

An edit is only a proposal; whoever asks drops those that make nothing smaller or change what is
seen. What is observed stays: the outermost call of the last expression, by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from refute.function.scenarios.trees import (
    Edit,
    Path,
    at,
    expressions,
    is_leaf,
    zero_of,
)


def statements(tree: ast.Module) -> list[Edit]:
    """Each set-up statement dropped, with those that need what it binds; last ones first."""
    found: list[Edit] = []
    for index in reversed(range(len(tree.body) - 1)):
        dropped, needed = _with_dependents(tree, index)
        if not needed:
            found.append(tuple((("body", one), None) for one in sorted(dropped)))
    return found


def _with_dependents(tree: ast.Module, index: int) -> tuple[set[int], bool]:
    """Which statements go with one, and whether the observed expression needs any of them."""
    dropped, gone = {index}, _bound(tree.body[index])
    for later in range(index + 1, len(tree.body)):
        node = tree.body[later]
        if gone & _loaded(node):
            if later == len(tree.body) - 1:
                return dropped, True
            dropped.add(later)
            gone |= _bound(node)
        else:
            gone -= _bound(node)
    return dropped, False


def _bound(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _loaded(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _assigned(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr, list[Path]]]:
    """(index, name, value, uses) of the variables that are bound once, by a plain assignment."""
    places = expressions(tree)
    for index, statement in enumerate(tree.body[:-1]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if sum(name in _bound(one) for one in tree.body) == 1:
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
    """Where the observed call is: what the last expression is, or awaits."""
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


def merged(tree: ast.Module) -> list[Edit]:
    """Two items side by side as one, their sum or concatenation; no item in two of these."""
    found: list[Edit] = []
    taken: set[Path] = set()
    for (one, first), (other, second) in pairwise(_leaves(tree)):
        a, b = value_of(first), value_of(second)
        beside = one[:-1] == other[:-1] and one[-2:-1] == ("elts",)
        if not beside or one in taken or type(a) is not type(b):
            continue
        if isinstance(a, int) and isinstance(b, int):
            found.append(((one, number(a + b)), (other, None)))
            taken.add(other)
        elif isinstance(a, str) and isinstance(b, str):
            found.append(((one, ast.Constant(a + b)), (other, None)))
            taken.add(other)
    return found


def balanced(tree: ast.Module) -> list[Edit]:
    """Of two whole numbers one after the other all in one and 0 in the other, and both less by the
    same amount."""
    found: list[Edit] = []
    for (one, first), (other, second) in pairwise(_leaves(tree)):
        a, b = value_of(first), value_of(second)
        if type(a) is not int or type(b) is not int or not (a or b):
            continue
        if a and b:
            found.append(((one, number(0)), (other, number(a + b))))
            found.append(((one, number(a + b)), (other, number(0))))
        least = min(a, b, key=abs)
        for less in (a, b, least - 1 if least > 0 else least + 1, least // 2):
            found.append(((one, number(a - less)), (other, number(b - less))))
    return found


def _leaves(tree: ast.Module) -> list[tuple[Path, ast.expr]]:
    return [(path, node) for path, node in expressions(tree) if is_leaf(node)]


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
