"""Turn what the enumerator found into source: an expression, and the module with it for a body."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping
from typing import Any

from refute.function.search.rewrite import rewrite
from refute.syntax import parse_expression, parse_module

__all__ = ["composed", "with_body"]

_TAKERS = frozenset({"sum", "max", "min", "any", "all", "set", "tuple", "sorted", "list", "dict"})
_MODULES = ("collections", "itertools", "math")


def composed(form: tuple[str, tuple[Any, ...]], taken: Collection[str]) -> str:
    """Source of a form of `enumerator`; the loop variable is none of the names `taken`."""
    names = ("e", "item", "element", "each")
    element = next((name for name in names if name not in taken), "refute_item")
    tree = _Neat().visit(_filled(form, element))
    return _tidy(ast.unparse(ast.fix_missing_locations(tree)))


def _filled(form: tuple[str, tuple[Any, ...]], element: str) -> ast.expr:
    template, parts = form
    tree = parse_expression(template[1:] if template[0] in "=#" else template)
    if not parts:
        if template[0] == "e":
            return _Fill({}, element).expression(tree)
        return tree
    loop = any(isinstance(n, ast.Name) and n.id in "BC" for n in ast.walk(tree))
    slots = "xBC" if loop else "xyz"
    fill = {n: _filled(p, element) for n, p in zip(slots, parts, strict=False)}
    return _Fill(fill, element if loop else None).expression(tree)


class _Fill(ast.NodeTransformer):
    """Puts parts in the place of the names of a template; renames its loop variable ``e``."""

    def __init__(self, parts: Mapping[str, ast.expr], element: str | None) -> None:
        self.parts, self.element = parts, element

    def expression(self, tree: ast.expr) -> ast.expr:
        filled: ast.expr = self.visit(tree)
        return filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.parts:
            return copy.deepcopy(self.parts[node.id])
        if node.id == "e" and self.element is not None:
            return ast.Name(self.element, node.ctx)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.element) if node.arg == "e" and self.element is not None else node


class _Neat(ast.NodeTransformer):
    """``sum([... for ...])`` becomes ``sum(... for ...)``; loops need no list to run over."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        named = func.id if isinstance(func, ast.Name) else None
        method = func.attr if isinstance(func, ast.Attribute) else None
        if len(node.args) != 1 or not (named in _TAKERS or method in ("join", "prod", "Counter")):
            return node
        only = node.args[0]
        if isinstance(only, ast.ListComp) and not node.keywords:
            if named == "list":
                return only
            node.args = [ast.GeneratorExp(only.elt, only.generators)]
        elif named != "list":
            node.args = [_unlisted(only)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = _unlisted(node.iter)
        return node


def _unlisted(node: ast.expr) -> ast.expr:
    """``list(f(...))`` without the ``list``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "list"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Call)
    ):
        return node.args[0]
    return node


def _tidy(source: str) -> str:
    """``f((x for x in y))`` without the inner parentheses, which `ast.unparse` writes."""
    data = bytearray(source, "utf-8")
    spots: list[int] = []
    for node in ast.walk(parse_expression(source)):
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            continue
        only = node.args[0]
        if isinstance(only, ast.GeneratorExp) and only.end_col_offset is not None:
            start, end = only.col_offset, only.end_col_offset
            if data[start - 1 : start + 1] == b"((" and data[end - 1 : end + 1] == b"))":
                spots += [start, end - 1]
    for spot in sorted(spots, reverse=True):
        del data[spot]
    return data.decode()


def with_body(code: str, tree: ast.Module, function: ast.FunctionDef, source: str) -> str:
    """`code` with the body of `function`, a statement of its `tree`, replaced by one return.

    The docstring stays. Modules that the expression needs are imported inside the function, where
    the module does not import them itself.
    """
    expression = parse_expression(source)
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
    imported = {
        alias.name
        for stmt in tree.body
        if isinstance(stmt, ast.Import)
        for alias in stmt.names
        if alias.asname in (None, alias.name)
    }
    body: list[ast.stmt] = []
    if ast.get_docstring(function, clean=False) is not None:
        body.append(function.body[0])
    for module in _MODULES:
        if module in names and module not in imported:
            body.append(ast.Import([ast.alias(module)]))
    body.append(ast.Return(expression))
    place = tree.body.index(function)
    changed = copy.copy(function)
    changed.body = body
    new = ast.Module([*tree.body[:place], changed, *tree.body[place + 1 :]], tree.type_ignores)
    wanted = parse_module(ast.unparse(ast.fix_missing_locations(new)))
    text = rewrite(code, wanted)
    tidy = text.replace(f"return {ast.unparse(expression)}", f"return {source}")
    return tidy if ast.dump(parse_module(tidy)) == ast.dump(wanted) else text
