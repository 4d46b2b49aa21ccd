"""Programs under test as syntax trees, where what does not parse is no error but nothing to see."""

from __future__ import annotations

import ast
from functools import lru_cache

from refute import syntax
from refute.syntax import Function, find_function

__all__ = ["Function", "find_function", "parse_module", "parse_statements"]


def parse_module(code: str) -> ast.Module | None:
    """The syntax tree of a module, to be read only: it is shared; None when it does not parse."""
    try:
        return _parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4)
def _parsed(code: str) -> ast.Module:
    """Kept, since a dozen readers look at one large module in turn."""
    return syntax.parse_module(code)


def parse_statements(code: str) -> list[ast.stmt] | None:
    """The statements of a snippet; None when it does not parse."""
    try:
        return syntax.parse_module(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
