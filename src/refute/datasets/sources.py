"""What the loaders read off a program's source: a function's docstring and its signature."""

from __future__ import annotations

import ast
import inspect

from refute.syntax import parse_module

__all__ = [
    "SourceProblem",
    "docstring_of",
    "signature_of",
]


class SourceProblem(ValueError):
    """The source does not parse or does not define the function."""


def _function(source: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    try:
        body = parse_module(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise SourceProblem(f"not Python: {e}") from None
    for node in reversed(body):  # the last definition is the one that counts
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    raise SourceProblem(f"defines no function {name}")


def docstring_of(source: str, name: str) -> str:
    """The function's docstring, dedented; empty where there is none. Raises `SourceProblem`."""
    return inspect.cleandoc(ast.get_docstring(_function(source, name), clean=False) or "")


def signature_of(source: str, name: str) -> str:
    """``name(params) -> annotation`` as the source states it. Raises `SourceProblem`."""
    node = _function(source, name)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{name}({ast.unparse(node.args)}){returns}"
