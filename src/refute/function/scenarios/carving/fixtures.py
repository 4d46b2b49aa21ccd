"""What pytest gives a test: rows of `parametrize`, and fixtures as statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute.function.scenarios.carving.places import Package, imports_of
from refute.function.scenarios.carving.steps import (
    Step,
    assignment,
    flattened,
    step_of,
    untested,
)
from refute.function.scenarios.carving.testfiles import (
    TestFile,
    fixture_mark,
    is_test,
    keywords_of,
)
from refute.function.scenarios.carving.trees import clone

MOST_ROWS = 24
"""Rows of one test."""


def table_of(
    mark: ast.expr, tree: ast.Module, members: Sequence[ast.stmt] | None
) -> list[dict[str, ast.expr]]:
    """Rows of a `parametrize` mark whose table is written out."""
    match mark:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, table, *_]):
            pass
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names], keywords=keywords):
            given = {one.arg: one.value for one in keywords}
            if "argvalues" not in given:
                return []
            table = given["argvalues"]
        case _:
            return []
    match names:
        case ast.Constant(str(text)):
            labels = [one.strip() for one in text.split(",") if one.strip()]
        case ast.List(elts) | ast.Tuple(elts):
            labels = [str(one.value) for one in elts if isinstance(one, ast.Constant)]
        case _:
            return []
    rows = []
    for row in _elements(table, [*tree.body, *(members or ())]):
        values = [row]
        match row:
            case ast.Call(func=ast.Attribute(attr="param") | ast.Name("param"), args=arguments):
                values = arguments
            case ast.Tuple(elts) | ast.List(elts) if len(labels) > 1:
                values = elts
        if len(values) == len(labels) and not any(isinstance(v, ast.Starred) for v in values):
            rows.append(dict(zip(labels, values, strict=True)))
    step = max(1, len(rows) // MOST_ROWS)
    return rows[::step][:MOST_ROWS]


def _elements(table: ast.expr, body: Sequence[ast.stmt]) -> list[ast.expr]:
    match table:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return list(elts)
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys, values), attr="items"), args=[]):
            return [ast.Tuple([k, v], ast.Load()) for k, v in zip(keys, values, strict=True) if k]
        case ast.Call(func=ast.Name("range"), args=[ast.Constant(int(end))]):
            return [ast.Constant(one) for one in range(min(end, MOST_ROWS))]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _elements(left, body) + _elements(right, body)
        case ast.Name(name):
            for node in reversed(body):
                match node:
                    case ast.Assign(targets=[ast.Name(bound)], value=value) if bound == name:
                        return [] if isinstance(value, ast.Name) else _elements(value, body)
    return []


def fixture_steps(
    asked: Sequence[str], file: TestFile, shared: Sequence[TestFile], package: Package,
    seen: set[str],
) -> list[list[Step]]:  # fmt: skip
    """Ways to have the fixtures: the steps that bind their names, once a row of `params`."""
    ways: list[list[Step]] = [[]]
    for name in asked:
        if name == "tmp_path":
            path = ast.parse("pathlib.Path('.')", mode="eval").body
            made = [[step_of(assignment(name, path), {"pathlib": "pathlib"}, tested=False)]]
        else:
            home = next((one for one in (file, *shared) if name in one.fixtures), None)
            if home is None or name in seen:
                problem = f"the fixture {name}"
                made = [[Step(None, (), {}, False, frozenset({name}), problem=problem)]]
            else:
                made = _fixture(name, home, file, shared, package, seen | {name})
        ways = [[*one, *other] for one in ways for other in made][:4]
    return ways


def _fixture(
    name: str, home: TestFile, file: TestFile, shared: Sequence[TestFile], package: Package,
    seen: set[str],
) -> list[list[Step]]:  # fmt: skip
    node = home.fixtures[name]
    names = {**home.names, **imports_of(node.body, package)}
    given = node.args.args
    asked = [one.arg for one in given if one.arg not in ("self", "cls", "request")]
    table = keywords_of(fixture_mark(node)).get("params")
    params: list[ast.expr | None] = [None]
    if table is not None:
        params = [*_elements(table, home.tree.body)[:4]] or params
    top: list[Step] = []
    if home is not file:
        nodes = [one for one in home.tree.body if not is_test(one)]
        top = [untested(one) for one in flattened(nodes, home.names)]
    found = []
    for prelude in fixture_steps(asked, file, shared, package, seen):
        for value in params:
            body: list[ast.stmt] = []
            for one in node.body:
                changed = _Gives(name, value).visit(clone(one))
                body.append(changed)
            found.append([*top, *prelude, *flattened(body, names, tested=False)])
    return found


class _Gives(ast.NodeTransformer):
    """What a fixture returns or yields, as an assignment to its name."""

    def __init__(self, name: str, param: ast.expr | None) -> None:
        self.name = name
        self.param = param

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        return assignment(self.name, node.value or ast.Constant(None))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Yield):
            return assignment(self.name, node.value.value or ast.Constant(None))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(value=ast.Name("request"), attr="param") if self.param is not None:
                return self.param
        return self.generic_visit(node)
