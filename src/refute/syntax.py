"""Foreign source text to a syntax tree, without Python's remarks on it.

A program under test may write ``"\\d"``; Python's warning about that (twice, and with no file name)
is of no use to somebody who asked for something else.
"""

from __future__ import annotations

import ast
import warnings

__all__ = ["parse_expression", "parse_module"]


def parse_module(source: str) -> ast.Module:
    """The syntax tree of a module. Raises what `ast.parse` does: SyntaxError, ValueError, …"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The syntax tree of an expression. Raises what `ast.parse` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, mode="eval").body
