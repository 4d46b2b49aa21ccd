"""What the loaders read off a program's source: a function's docstring and its signature."""

from __future__ import annotations

import ast

from refute.source.syntax import Function, find_function, parse_module


class SourceProblem(ValueError):
    """The source does not parse or does not define the function."""


def _function(source: str, name: str) -> Function:
    try:
        function = find_function(parse_module(source), name)
    except SyntaxError as e:
        raise SourceProblem(f"not Python: {e}") from None
    if function is None:
        raise SourceProblem(f"defines no function {name}")
    return function


def docstring_of(source: str, name: str) -> str:
    """The function's docstring, dedented; empty where there is none. Raises `SourceProblem`."""
    return ast.get_docstring(_function(source, name)) or ""


def signature_of(source: str, name: str) -> str:
    """``name(params) -> annotation`` as the source states it. Raises `SourceProblem`."""
    node = _function(source, name)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{name}({ast.unparse(node.args)}){returns}"
