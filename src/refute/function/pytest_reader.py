"""Read unit tests from a pytest or unittest file, as a syntax tree: nothing of it is executed.

What is read: `assert f(x) == y` and its relatives (`is`, `not`, `!=`, `in`, `pytest.approx`),
`with pytest.raises(E): f(x)`, unittest's `assertEqual` and the like, `parametrize` and `for` loops
over literal tables, locals, and statements that call the function for its effect. A check that is
not "this call equals that literal" becomes an expression for the sandbox to evaluate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from refute.core.problems import Call, Expression, Invocation, UnitTest
from refute.function.bindings import (
    Bindings,
    NotUnderstood,
    inline,
    parameter_names,
    row_values,
    unpack,
    uses,
    with_values,
)
from refute.source.literals import NotLiteral, read_call, read_literal
from refute.source.syntax import parse_expression, parse_module

MAX_ROWS = 10_000
_UNITTEST = {
    "assertEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertSequenceEqual": ast.Eq,
    "assertIs": ast.Is,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
}


@dataclass(slots=True)
class Checks:
    """The tests of one function, and a line for each check that could not be read."""

    tests: list[UnitTest] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def read_pytests(
    text: str, name: str, entry_point: str, *, module: str, predicate: bool = False
) -> Checks:
    """Read the tests of `entry_point` in the source of a test file.

    `name` is the file's name, for messages; `module` the dotted name of the module under test;
    `predicate` says that the function returns a bool, so that `assert f(x)` means `f(x) is True`.
    Raises SyntaxError.
    """
    tree = parse_module(text)
    reader = _Reader(name, entry_point, module.rpartition(".")[2], predicate)
    reader.imports(tree)
    reader.body(_declarations_last(tree.body), Bindings({}, (), uses(tree)))
    return reader.reading


def _declarations_last(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements first, so that tests see every constant of their module or class."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    rest = [node for node in body if not isinstance(node, kinds)]
    return rest + [node for node in body if isinstance(node, kinds)]


class _Reader:
    def __init__(self, file: str, entry_point: str, module: str, predicate: bool) -> None:
        self.file = file
        self.entry_point = entry_point
        self.module = module
        self.predicate = predicate
        self.imported: dict[str, ast.expr] = {}
        self.reading = Checks()

    # -- statements -------------------------------------------------------------------------------

    def imports(self, tree: ast.Module) -> None:
        """Names that the test file imports, spelt so that the sandbox needs no import statement."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    target = alias.name if alias.asname else bound
                    if target.rpartition(".")[2] != self.module:
                        self.imported[bound] = _import(target)
                    elif alias.asname:
                        self.imported[bound] = ast.Name(self.module, ast.Load())
            elif isinstance(node, ast.ImportFrom):
                source = node.module or ""
                for alias in node.names:
                    bound = alias.asname or alias.name
                    if source.rpartition(".")[2] == self.module or node.level:
                        if alias.asname:
                            self.imported[bound] = ast.Name(alias.name, ast.Load())
                    elif alias.name != self.module and source not in ("pytest", "unittest"):
                        value = ast.Attribute(_import(source), alias.name, ast.Load())
                        self.imported[bound] = value
        for library in ("pytest", "unittest"):
            self.imported.pop(library, None)

    def body(self, statements: Sequence[ast.stmt], scope: Bindings, *, test: bool = False) -> None:
        """Read statements in order; inside of a `test`, what is not understood ends it."""
        for node in statements:
            try:
                scope = self.statement(node, scope)
            except (NotUnderstood, NotLiteral) as error:
                self.skip(node, str(error))
                if test and not isinstance(node, ast.Assert):
                    return

    def skip(self, node: ast.stmt, reason: str) -> None:
        if any(isinstance(n, ast.Name | ast.Attribute) and self.means(n) for n in ast.walk(node)):
            self.reading.skipped.append(f"{self.file}:{node.lineno}: not read: {reason}")

    def statement(self, node: ast.stmt, scope: Bindings) -> Bindings:
        match node:
            case ast.FunctionDef() | ast.ClassDef() if not self.concerns(node, scope):
                pass
            case ast.FunctionDef(name=name) if name.startswith("test"):
                scope_of_test = replace(scope, uses=uses(node))
                for values in self.rows(node, scope):
                    self.body(node.body, with_values(scope_of_test, values), test=True)
            case ast.ClassDef(body=body):
                self.body(_declarations_last(body), scope)
            case ast.Assert(test=test):
                self.check(node, test, scope)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self.assign(name, value, scope)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return self.assign(name, value, scope)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as manager)], body=body):
                self.raises(node, manager, body, scope)
            case ast.For(target=target, iter=table, body=body, orelse=[]):
                for row in self.table(table, scope):
                    self.body(body, with_values(scope, unpack(target, row)), test=True)
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Expr(value=ast.Call() as call):
                if not self.unittest(node, call, scope):
                    return replace(scope, before=(*scope.before, self.inline(call, scope)))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.If():
                self.skip(node, f"{type(node).__name__} around it")
            case _:
                raise NotUnderstood(f"{type(node).__name__} before a check")
        return scope

    def assign(self, name: str, value: ast.expr, scope: Bindings) -> Bindings:
        """A literal or a single call is inlined; anything else is computed before the check."""
        inlined = self.inline(value, scope)
        simple = _is_literal(inlined) or (not scope.before and self.called(inlined) is not None)
        return scope.bind(name, inlined, inline=simple)

    def rows(self, node: ast.FunctionDef, scope: Bindings) -> Iterator[dict[str, ast.expr]]:
        """What the parameters of a test function stand for, once for each of its cases."""
        tables: list[list[dict[str, ast.expr]]] = []
        for decorator in node.decorator_list:
            if not ast.unparse(decorator).startswith(("pytest.mark.", "mark.")):
                raise NotUnderstood(f"decorator {ast.unparse(decorator)[:60]}")
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(
                "parametrize"
            ):
                tables.append(self.parameters(decorator, scope))
        known = {name for table in tables for row in table[:1] for name in row} | {"self", "cls"}
        for arg in node.args.args:
            if arg.arg not in known:
                raise NotUnderstood(f"needs the fixture {arg.arg}")
        for rows in product(*reversed(tables)):  # pytest's order
            yield {name: value for row in rows for name, value in row.items()}

    def parameters(self, call: ast.Call, scope: Bindings) -> list[dict[str, ast.expr]]:
        names, single = parameter_names(call)
        rows = (row_values(row, names, single=single) for row in self.table(call.args[1], scope))
        return [row for row in rows if row is not None]

    def table(self, node: ast.expr, scope: Bindings) -> list[ast.expr]:
        node = self.inline(node, scope)
        held = {
            value.target.id: value.value
            for value in scope.before
            if isinstance(value, ast.NamedExpr)
        }
        if isinstance(node, ast.Name):
            node = held.get(node.id, node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) <= MAX_ROWS:
            return node.elts
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("range("):
            try:
                span = range(*(read_literal(arg) for arg in node.args))
            except TypeError:
                raise NotUnderstood("not a literal table") from None
            if len(span) <= MAX_ROWS:
                return [ast.Constant(value) for value in span]
        raise NotUnderstood(f"not a literal table: {ast.unparse(node)[:60]}")

    # -- checks -----------------------------------------------------------------------------------

    def check(self, at: ast.stmt, test: ast.expr, scope: Bindings) -> None:
        """One assertion; conjunctions are taken apart."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                self.check(at, part, scope)
            return
        test = self.inline(test, scope)
        if not any(self.means(node) for node in ast.walk(_sequence(scope.before, test))):
            return
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        inner = test.operand if isinstance(test, ast.UnaryOp) and negated else test
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1 and not negated:
            left, op, right = inner.left, inner.ops[0], inner.comparators[0]
            if isinstance(op, ast.Eq | ast.Is) and self.equality(at, left, right, scope):
                return
        if self.predicate and not scope.before:
            call = self.called(inner)
            if call is not None:
                self.add(at, call, not negated)
                return
        truth = ast.Call(ast.Name("bool", ast.Load()), [inner], [])
        self.add(at, self.expression(scope, truth), not negated)

    def equality(self, at: ast.stmt, left: ast.expr, right: ast.expr, scope: Bindings) -> bool:
        """`left == right`, either way round, with one side a literal or an approximation of one."""
        for side, other in ((left, right), (right, left)):
            tolerance: tuple[float, float] | None = None
            if isinstance(other, ast.Call) and ast.unparse(other.func).endswith("approx"):
                tolerance = _tolerances(other)
                other = other.args[0]
            try:
                expected = read_literal(other)
            except NotLiteral:
                if tolerance is not None:
                    raise
                continue
            if tolerance is not None and tolerance != (0.0, 0.0):
                if isinstance(expected, int | float):
                    slack = max(tolerance[0] * abs(expected), tolerance[1])
                    source = f"abs({ast.unparse(side)} - {ast.unparse(other)}) <= {slack!r}"
                    close = parse_expression(source)
                    self.add(at, self.expression(scope, close), True)
                    return True
                raise NotUnderstood("a tolerance for something that is not a number")
            call = None if scope.before else self.called(side)
            self.add(at, call or self.expression(scope, side), expected)
            return True
        return False

    def raises(
        self, at: ast.stmt, manager: ast.Call, body: Sequence[ast.stmt], scope: Bindings
    ) -> None:
        name = ast.unparse(manager.func).rpartition(".")[2]
        if name == "subTest":
            self.body(body, scope)
            return
        if name not in ("raises", "assertRaises", "assertRaisesRegex") or not manager.args:
            raise NotUnderstood(f"with {ast.unparse(manager)[:60]}")
        if isinstance(manager.args[0], ast.Tuple):
            raise NotUnderstood("more than one exception type")
        for node in body[:-1]:
            scope = self.statement(node, scope)
        if not isinstance(body[-1], ast.Expr | ast.Assign):
            raise NotUnderstood("what should raise is not one call")
        value = self.inline(body[-1].value, scope)
        call = None if scope.before else self.called(value)
        error = ast.unparse(manager.args[0]).rpartition(".")[2]
        if any(self.means(node) for node in ast.walk(_sequence(scope.before, value))):
            self.add(at, call or self.expression(scope, value), None, error)

    def unittest(self, at: ast.stmt, call: ast.Call, scope: Bindings) -> bool:
        """`self.assertEqual(f(x), y)` and the like."""
        if not isinstance(call.func, ast.Attribute) or not call.func.attr.startswith("assert"):
            return False
        name, args = call.func.attr, call.args
        if name in _UNITTEST and len(args) >= 2:
            self.check(at, ast.Compare(args[0], [_UNITTEST[name]()], [args[1]]), scope)
        elif name == "assertTrue" and args:
            self.check(at, args[0], scope)
        elif name == "assertFalse" and args:
            self.check(at, ast.UnaryOp(ast.Not(), args[0]), scope)
        elif name in ("assertIsNone", "assertIsNotNone") and args:
            op = ast.Is() if name == "assertIsNone" else ast.IsNot()
            self.check(at, ast.Compare(args[0], [op], [ast.Constant(None)]), scope)
        elif name == "assertAlmostEqual" and len(args) >= 2:
            named = [k.value for k in call.keywords if k.arg == "places"]
            places = read_literal([*args[2:], *named][0]) if len(args) > 2 or named else 7
            slack = ast.keyword("abs", ast.Constant(0.5 * 10.0**-places))
            close = ast.Call(ast.Name("approx", ast.Load()), [args[1]], [slack])
            self.check(at, ast.Compare(args[0], [ast.Eq()], [close]), scope)
        else:
            raise NotUnderstood(f"{name} in this form")
        return True

    # -- names and calls --------------------------------------------------------------------------

    def inline(self, node: ast.expr, scope: Bindings) -> ast.expr:
        once = inline(node, scope.names, self.module)
        return inline(once, self.imported, self.module)

    def means(self, node: ast.AST) -> bool:
        """Whether the node names the function under test."""
        if isinstance(node, ast.Attribute):
            return node.attr == self.entry_point
        return isinstance(node, ast.Name) and node.id == self.entry_point

    def concerns(self, node: ast.AST, scope: Bindings) -> bool:
        """Whether the function under test is named in `node`, directly or by another name."""
        others = {**self.imported, **scope.names}
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & others.keys()
        places = [node, *(others[name] for name in names)]
        return any(self.means(inner) for place in places for inner in ast.walk(place))

    def called(self, node: ast.expr) -> Call | None:
        """`node` as a call of the function under test with literal arguments, if it is one."""
        try:
            return read_call(node, self.entry_point)
        except NotLiteral:
            return None

    def expression(self, scope: Bindings, node: ast.expr) -> Expression:
        """For the sandbox to evaluate; helpers of the test file are not known there."""
        whole = _sequence(scope.before, node)
        for inner in ast.walk(whole):
            if isinstance(inner, ast.Name) and inner.id in ("self", "cls", "pytest", "unittest"):
                raise NotUnderstood(f"uses {inner.id}")
        return Expression(ast.unparse(ast.fix_missing_locations(whole)))

    def add(
        self, at: ast.stmt, call: Invocation, expected: object, raises: str | None = None
    ) -> None:
        source = f"{self.file}:{at.lineno}"
        lines = (at.lineno, at.end_lineno or at.lineno)
        self.reading.tests.append(UnitTest(call, expected, raises, source=source, span=lines))


def _import(module: str) -> ast.expr:
    if "." not in module:
        return parse_expression(f"__import__({module!r})")
    return parse_expression(f"__import__('importlib').import_module({module!r})")


def _is_literal(node: ast.expr) -> bool:
    try:
        read_literal(node)
    except NotLiteral:
        return isinstance(node, ast.List | ast.Tuple)
    return True


def _tolerances(call: ast.Call) -> tuple[float, float]:
    """Relative and absolute tolerance of `approx`; zeros stand for the default."""
    rel, absolute = "rel", "abs"
    given = {str(k.arg): read_literal(k.value) for k in call.keywords if k.arg in (rel, absolute)}
    for name, value in zip((rel, absolute), call.args[1:], strict=False):
        given[name] = read_literal(value)
    return float(given.get(rel) or 0.0), float(given.get(absolute) or 0.0)


def _sequence(before: Sequence[ast.expr], last: ast.expr) -> ast.expr:
    """An expression that evaluates `before` in order and has the value of `last`."""
    if not before:
        return last
    items = ast.Tuple([*before, last], ast.Load())
    return ast.Subscript(items, ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load())
