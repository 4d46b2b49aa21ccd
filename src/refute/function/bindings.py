"""Names of a test that stand for expressions: locals, loops' variables, rows of `parametrize`."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

_LOCAL = "_refute_local_"


class NotUnderstood(ValueError):
    """This statement, or this test, is not understood; the message says why."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """Names that stand for expressions, and what is evaluated before a check, in order."""

    names: Mapping[str, ast.expr]
    before: tuple[ast.expr, ...]
    uses: Mapping[str, int] = field(default_factory=dict)
    """How often each name is read in the test: what is read twice must stay one object."""

    def bind(self, name: str, value: ast.expr, *, inline: bool) -> Bindings:
        """The scope in which the name stands for `value`, or is a local that holds it."""
        shared = self.uses.get(name, 0) > 1 and not isinstance(value, ast.Constant)
        if inline and not shared:
            return replace(self, names={**self.names, name: value})
        local = ast.NamedExpr(ast.Name(_LOCAL + name, ast.Store()), value)
        names = {**self.names, name: ast.Name(_LOCAL + name, ast.Load())}
        return replace(self, names=names, before=(*self.before, local))


class _Inline(ast.NodeTransformer):
    """Replace names by what they stand for; names of comprehensions and lambdas are left alone."""

    def __init__(self, names: Mapping[str, ast.expr], module: str) -> None:
        self.names = names
        self.module = module
        self.bound: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.names and node.id not in self.bound:
            return copy.deepcopy(self.names[node.id])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.module:
            return ast.Name(node.attr, ast.Load())
        if ast.unparse(node.value).rpartition(".")[2] == self.module:
            return ast.Name(node.attr, ast.Load())
        self.generic_visit(node)
        return node


def inline(node: ast.expr, names: Mapping[str, ast.expr], module: str) -> ast.expr:
    transformer = _Inline(names, module)
    for inner in ast.walk(node):
        if isinstance(inner, ast.comprehension):
            transformer.bound |= {n.id for n in ast.walk(inner.target) if isinstance(n, ast.Name)}
        elif isinstance(inner, ast.Lambda):
            transformer.bound |= {arg.arg for arg in inner.args.args}
    result: ast.expr = transformer.visit(copy.deepcopy(node))
    return result


def unpack(target: ast.expr, row: ast.expr) -> dict[str, ast.expr]:
    if isinstance(target, ast.Name):
        return {target.id: row}
    if isinstance(target, ast.Tuple) and isinstance(row, ast.Tuple | ast.List):
        if len(target.elts) != len(row.elts):
            raise NotUnderstood("a row of the table does not fit the loop's names")
        pairs = zip(target.elts, row.elts, strict=True)
        return {name: value for t, r in pairs for name, value in unpack(t, r).items()}
    raise NotUnderstood("not a literal table")


def with_values(scope: Bindings, values: Mapping[str, ast.expr]) -> Bindings:
    for name, value in values.items():
        scope = scope.bind(name, value, inline=True)
    return scope


def uses(node: ast.AST) -> Counter[str]:
    """How often each name is read."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))


def parameter_names(parametrize: ast.Call) -> tuple[list[str], bool]:
    """The parameters that a `pytest.mark.parametrize(names, rows)` gives, and whether its rows are
    bare values of a single one. Raises `NotUnderstood`."""
    match parametrize.args[:2]:
        case [ast.Constant(value=str() as text), _]:
            names = text.replace(",", " ").split()
            return names, len(names) == 1 and "," not in text
        case [ast.Tuple(elts=elts) | ast.List(elts=elts), _]:
            return [str(one.value) for one in elts if isinstance(one, ast.Constant)], False
    raise NotUnderstood("parametrize without names and a table")


def row_values(row: ast.expr, names: Sequence[str], *, single: bool) -> dict[str, ast.expr] | None:
    """What the parameters are in a row of a table; None where it is marked (skip, xfail). Raises
    `NotUnderstood`."""
    values = [row] if single else list(getattr(row, "elts", []))
    if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
        if any(keyword.arg == "marks" for keyword in row.keywords):
            return None
        values = row.args
    if len(values) != len(names):
        raise NotUnderstood(f"a row of the table does not have {len(names)} values")
    return dict(zip(names, values, strict=True))
