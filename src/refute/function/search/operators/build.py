"""Small builders of syntax trees, shared by the operators."""

from __future__ import annotations

import ast
from typing import Any

__all__ = [
    "Variant", "binary", "call", "compare", "const", "load", "method", "negated", "number",
]  # fmt: skip

Variant = tuple[str, ast.expr, float]
"""Kind of the operator, new expression, addition to the log weight."""


def const(value: Any) -> ast.Constant:
    """A literal."""
    return ast.Constant(value=value)


def load(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(id=name, ctx=ast.Load())


def number(value: int) -> ast.expr:
    """An integer as the parser builds it: a negative one is a negated constant."""
    return const(value) if value >= 0 else ast.UnaryOp(op=ast.USub(), operand=const(-value))


def call(function: str, *args: ast.expr) -> ast.Call:
    """`function(args)`."""
    return ast.Call(func=load(function), args=list(args), keywords=[])


def method(value: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    """`value.name(args)`."""
    attribute = ast.Attribute(value=value, attr=name, ctx=ast.Load())
    return ast.Call(func=attribute, args=list(args), keywords=[])


def negated(node: ast.expr) -> ast.expr:
    """`not node`, or its operand where it is a `not` already."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(op=ast.Not(), operand=node)


def binary(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.BinOp:
    """`left op right`, for arithmetic."""
    return ast.BinOp(left=left, op=op, right=right)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    """`left op right`, for comparisons."""
    return ast.Compare(left=left, ops=[op], comparators=[right])
