"""Part of a module that a function may use, by names; the rest of a large file is ignored.

Facts and edits come from this part only. A function that another module or a registry hands over
is not found by its name, but by having been reached (`also`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from refute.source.syntax import Function, find_function

__all__ = ["definitions", "names_in", "neighbours", "reachable"]

NEAR = 8
"""Functions of the module, at most, that an edit may call although nothing that is reached does."""


def reachable(
    tree: ast.Module, names: Iterable[str], also: Collection[int] = frozenset()
) -> ast.Module:
    """The imports and the statements at the top level that code which starts from `names` may use.

    The nodes are those of `tree`. `also`: ids of nodes whose statements are taken in any case.
    """
    defined: dict[str, list[int]] = {}
    waiting = list(names)
    for place, node in enumerate(tree.body):
        for name in _bound(node):
            defined.setdefault(name, []).append(place)
        if also and any(id(child) in also for child in ast.walk(node)):
            waiting += _bound(node)
    found, seen = set[int](), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for place in defined.get(name, ()):
                found.add(place)
                waiting += names_in(tree.body[place])
    kept = [
        node
        for place, node in enumerate(tree.body)
        if place in found or isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return ast.Module(body=kept, type_ignores=[])


def neighbours(tree: ast.Module, name: str) -> list[str]:
    """The functions of the module, nearest to the one called `name` first, a few."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = find_function(tree, name)
    own = 0 if found is None else found.lineno
    return [n.name for n in sorted(functions, key=lambda n: abs(n.lineno - own))][:NEAR]


def definitions(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's top level, also those under a condition."""
    for node in body:
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from definitions(getattr(node, name, None) or ())
            for handler in getattr(node, "handlers", ()):
                yield from definitions(handler.body)


def names_in(node: ast.AST) -> set[str]:
    """Every name that a statement mentions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level binds, or changes."""
    for one in definitions([node]):
        if isinstance(one, Function | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in one.names)
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Delete):
            yield from _roots(one)
        else:
            heads = [getattr(one, name, None) for name in ("target", "test", "iter")]
            for head in heads:
                if isinstance(head, ast.AST):
                    yield from (n.id for n in ast.walk(head) if isinstance(n, ast.Name))


def _roots(node: ast.stmt) -> Iterator[str]:
    """`a` of `a = 1`, `a.b[0] = 1` and `a.update(b)`."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            yield child.id
        elif isinstance(child, ast.Attribute | ast.Subscript):
            at_work = isinstance(child.ctx, ast.Store) or isinstance(node, ast.Expr)
            if at_work and isinstance(child.value, ast.Name):
                yield child.value.id
