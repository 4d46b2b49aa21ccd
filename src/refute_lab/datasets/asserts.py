"""The visible unit tests of MBPP: assert statements, read into `UnitTest`s without executing
them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from refute.core.problems import Call, Expression, Trust, UnitTest
from refute.source.literals import NotLiteral, read_call, read_literal
from refute.source.syntax import parse_module
from refute_lab.datasets.rows import Row


def read_asserts(
    row: Row, field: str, lines: Sequence[str], entry_point: str, *, imports: Iterable[str]
) -> tuple[UnitTest, ...]:
    """The visible unit tests in `lines`, the first items of the row's `field`.

    Raises `DatasetError` that names the row, the field and the item.
    """
    tests = []
    for number, line in enumerate(lines):
        source = f"visible test {number + 1}"
        try:
            tests.append(read_assert(line, entry_point, imports=imports, source=source))
        except (NotLiteral, SyntaxError) as e:
            raise row.error(field, f"item {number}: {e}") from None
    return tuple(tests)


def read_assert(
    statement: str, entry_point: str, *, imports: Iterable[str] = (), source: str = ""
) -> UnitTest:
    """The unit test that an assert states.

    ``assert f(1) == 2`` is a call with arguments and an expected output. Where the entry point's
    call is wrapped (``set(f(x)) == {1}``, ``math.isclose(f(x), 1.5)``) it is an `Expression`, in
    which the modules of `imports` (``import math``) are made available. Raises `NotLiteral`.
    """
    try:
        body = parse_module(statement.strip()).body
    except (SyntaxError, ValueError) as e:
        raise NotLiteral(f"not Python: {e}") from None
    match body:
        case [ast.Assert(ast.Compare(left, [ast.Eq()], [right]))]:
            if not _calls(left, entry_point):
                left, right = right, left
            try:
                return _unit_test(left, read_literal(right), entry_point, imports, source)
            except NotLiteral:
                whole = ast.Compare(left, [ast.Eq()], [right])
                return _unit_test(whole, True, entry_point, imports, source)
        case [ast.Assert(condition)]:
            truth = ast.Call(ast.Name("bool"), [condition], [])
            return _unit_test(truth, True, entry_point, imports, source)
    raise NotLiteral(f"not an assert: {statement.strip()[:60]}")


def _unit_test(
    left: ast.expr, expected: object, entry_point: str, imports: Iterable[str], source: str
) -> UnitTest:
    if not _calls(left, entry_point):
        raise NotLiteral(f"does not call {entry_point}")
    call: Call | Expression
    try:
        call = read_call(left, entry_point)
    except NotLiteral:
        call = Expression(ast.unparse(_with_imports(left, imports)))
    return UnitTest(call, expected, trust=Trust.STATED, source=source)


def _calls(node: ast.expr, entry_point: str) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == entry_point
        for n in ast.walk(node)
    )


class _Imported(ast.NodeTransformer):
    """Replaces the name of an imported module by an expression that imports it."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.modules:
            return node
        return ast.Call(ast.Name("__import__"), [ast.Constant(node.id)], [])


def _with_imports(node: ast.expr, imports: Iterable[str]) -> ast.expr:
    modules: set[str] = set()
    for line in imports:
        for statement in parse_module(line).body:
            if isinstance(statement, ast.Import):
                modules |= {a.name for a in statement.names if not a.asname and "." not in a.name}
    visited: ast.expr = _Imported(modules).visit(node)
    return visited
