"""Use what a call returned where it says nothing itself: call a function, enter a context."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from random import Random

from refute.function.scenarios.arguments import rows_for
from refute.function.scenarios.building import Builder, call_of
from refute.function.scenarios.described import Parameter, Signature
from refute.function.scenarios.pieces import Piece, plain
from refute.source.syntax import Function

MOST = 12
"""Uses of one result."""
_ONE = plain('"abc"', "1", "[3, 1, 2]", "None", '"a10"', "2.5", "str", '{"a": 1}')


def uses(
    expression: Piece, kind: str, node: Function | None, builder: Builder, rng: Random
) -> Iterator[Piece]:
    """Expressions that use the result of one.

    `kind`: the name of the result's type; `node`: the definition of the function that it is, where
    that can be seen (`function_returned`).
    """
    source = expression.source
    if kind == "_GeneratorContextManager":
        yield Piece(f"{source}.__enter__()", expression.imports, expression.setup)
        return
    if node is None:
        for one in _ONE:
            yield Piece(f"{source}({one.source})", expression.imports, expression.setup)
        yield Piece(f"{source}()", expression.imports, expression.setup)
        yield Piece(f'{source}("abc", 1)', expression.imports, expression.setup)
        return
    signature = _signature(node)
    seen: set[str] = set()
    for row in islice(rows_for(signature, node, builder, rng), 4 * MOST):
        pairs = [(one, row[one.name]) for one in signature.parameters or () if one.name in row]
        call = call_of(expression, pairs, signature)
        if call.source not in seen:
            seen.add(call.source)
            yield Piece(call.source, call.imports, (*expression.setup, *call.setup))
        if len(seen) == MOST:
            return


def function_returned(node: Function | None) -> Function | None:
    """The definition of the function that a function returns, if it is written inside of it."""
    if node is None:
        return None
    inner: dict[str, Function] = {}
    returned: list[ast.expr] = []
    left: list[ast.stmt] = list(node.body)
    while left:
        one = left.pop(0)
        if isinstance(one, Function):
            inner[one.name] = one
        elif isinstance(one, ast.Return) and one.value is not None:
            returned.append(one.value)
        elif not isinstance(one, ast.ClassDef):
            left += [child for child in ast.iter_child_nodes(one) if isinstance(child, ast.stmt)]
    for value in returned:
        if isinstance(value, ast.Lambda):
            text = f"def returned(): return {ast.unparse(value.body)}"
            made = ast.parse(text).body[0]
            assert isinstance(made, ast.FunctionDef)
            made.args = value.args
            return made
        for name in ast.walk(value):
            if isinstance(name, ast.Name) and name.id in inner:
                return inner[name.id]
    return None


def _signature(node: Function) -> Signature:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    first_default = len(positional) - len(given.defaults)
    found = [Parameter(a.arg, 1, i >= first_default, None) for i, a in enumerate(positional)]
    if given.vararg is not None:
        found.append(Parameter(given.vararg.arg, 2, False, None))
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(Parameter(one.arg, 3, default is not None, None))
    return Signature("function", tuple(found))
