"""Expressions must mean something in the program's namespace: mend what can be, drop the rest."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace

from refute.function.examples.subject import Reading, Subject, invocation
from refute.problems import Expression
from refute.syntax import parse_expression

__all__ = ["grounded"]

_BUILTINS = frozenset(dir(builtins))
_MODULES = frozenset(
    {"collections", "datetime", "decimal", "fractions", "functools", "itertools", "math",
     "operator", "re", "statistics", "string"}
)  # fmt: skip


def grounded(readings: Sequence[Reading], about: Subject) -> list[Reading]:
    """Readings whose names all exist: builtins, names of the module, a few standard modules.

    A call through its module (`mod.f(1)`) becomes a call of the function itself, a module that the
    program did not import becomes ``__import__('math')``.
    """
    kept = []
    for reading in readings:
        if not isinstance(reading.call, Expression):
            kept.append(reading)
            continue
        try:
            node = parse_expression(reading.call.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        mended = _Mender(about).visit(node)
        if not _free_names(mended) - _BUILTINS - about.names - {about.entry_point}:
            kept.append(replace(reading, call=invocation(mended, about.entry_point)))
    return kept


class _Mender(ast.NodeTransformer):
    def __init__(self, about: Subject) -> None:
        self.about = about

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        foreign = (
            isinstance(node.value, ast.Name) and node.value.id not in self.about.names
        ) or ast.unparse(node.value).startswith("__import__(")
        if foreign and node.attr == self.about.name and not self.about.method:
            return ast.Name(node.attr, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _MODULES and node.id not in self.about.names:
            return ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant(node.id)], [])
        return node


def _free_names(node: ast.AST) -> set[str]:
    bound = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    bound |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    return {one.id for one in names if isinstance(one.ctx, ast.Load)} - bound
