"""Programs under test as syntax trees, where what does not parse is no error but nothing to see."""

from __future__ import annotations

import ast

from refute import syntax
from refute.syntax import Function, find_function

__all__ = ["Function", "find_function", "parse_module", "parse_statements"]


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
