"""Find a function in a module's syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute import syntax

__all__ = ["Function", "find_function", "parse_module", "parse_statements"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""The definition of a function, of either kind."""


def parse_module(code: str) -> ast.Module | None:
    """The syntax tree of a module; None when it does not parse."""
    try:
        return syntax.parse_module(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parse_statements(code: str) -> list[ast.stmt] | None:
    """The statements of a snippet; None when it does not parse."""
    tree = parse_module(code)
    return None if tree is None else tree.body


def find_function(tree: ast.Module, entry_point: str) -> Function | None:
    """The last definition of a function (or `Class.method`) in a module; None if there is none."""
    body: Sequence[ast.stmt] = tree.body
    *owners, name = entry_point.split(".")
    for owner in owners:
        classes = [n for n in body if isinstance(n, ast.ClassDef) and n.name == owner]
        if not classes:
            return None
        body = classes[-1].body
    for node in reversed(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return node
    return None
