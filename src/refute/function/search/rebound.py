"""Parts of a module to execute again when a function that runs during its import changes.

A candidate is put into the loaded module. Where the function ran while the module was imported,
what that left behind is stale: here are the assignments that make it, to be executed again for each
candidate, which is much less than the whole module.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from refute.function.search.reach import definitions, names_in
from refute.source.syntax import Function, find_function

__all__ = ["assignments_from"]


def assignments_from(tree: ast.Module, name: str) -> dict[ast.stmt, ast.Assign] | None:
    """The statements of the top level whose values may depend on the function `name`, in order,
    with the assignments that make these values again.

    None where executing them again is not known to be enough: the function has decorators, or what
    depends on it is more than a name that is assigned once, or is given what it could change. By
    names: that nobody outside of the module needs them, and that
    they leave nothing else behind, has to be seen.
    """
    function = find_function(tree, name)
    if function is None or function not in tree.body or function.decorator_list:
        return None
    count = Counter(bound for node in definitions(tree.body) for bound in _bound(node))
    changeable = {
        bound
        for node in definitions(tree.body)
        if not isinstance(getattr(node, "value", None), ast.Constant | ast.Tuple)
        and not isinstance(node, Function | ast.ClassDef)
        for bound in _bound(node)
    }
    depending = _depending(tree, name)
    found: dict[ast.stmt, ast.Assign] = {}
    for stmt in tree.body:
        evaluated = set(_evaluated(stmt))
        if stmt is function or evaluated.isdisjoint(depending):
            continue
        match stmt:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                pass
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                pass
            case _:
                return None
        given = evaluated & changeable - {ast.unparse(one.targets[0]) for one in found.values()}
        if count[target.id] != 1 or given != {target.id}:
            return None
        found[stmt] = ast.copy_location(ast.Assign([target], value), stmt)
    return found


_BINDING = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.With | ast.Delete


def _bound(node: ast.AST) -> list[str]:
    """The names that a statement of the top level binds itself."""
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, _BINDING):
        names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        return [n.id for n in names if not isinstance(n.ctx, ast.Load)]
    return []


def _depending(tree: ast.Module, name: str) -> set[str]:
    """The names of the top level whose definitions mention `name`, or one that does."""
    mentions = [(set(_bound(node)), names_in(node)) for node in definitions(tree.body)]
    found, grown = {name}, True
    while grown:
        grown = False
        for bound, mentioned in mentions:
            if not bound <= found and not mentioned.isdisjoint(found):
                found |= bound
                grown = True
    return found


def _evaluated(stmt: ast.stmt) -> Iterator[str]:
    """The names that are read when the statement is executed, and not only in later calls."""
    waiting: list[ast.AST] = [stmt]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        parts: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, Function):
            later = set(map(id, node.body))
            parts = [part for part in parts if id(part) not in later]
        waiting += parts
