"""The `test` field of EvalPlus's ``-OriginFmt`` files and of the MBPP+Fix files: Python source that
holds the private inputs and results as literals, and the assertion that compares them.

It is read here without being executed: the two lists by `literals.parse`, the rest from its syntax
tree. Four forms exist: the plain assertion with a tolerance; one that compares sets; one that only
asks whether something was found; and one that puts the output into a polynomial. Where outputs are
very large, the files hold a copy of the reference (``ref_func``) in place of the results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.core.problems import Call, Expression, Trust, UnitTest
from refute.core.storage import parse_json
from refute.source.literals import NotLiteral, parse_literal, read_call, read_literal
from refute.source.syntax import lifted_limits, parse_module
from refute_lab.datasets.rows import LoaderOptions, Row

# -- literals --------------------------------------------------------------------------------------


_DEEP = 150  # nested brackets; Python's own parser gives up at 200


def parse(text: str) -> Any:
    """The value of a Python literal expression. Raises `NotLiteral`; executes nothing."""
    with lifted_limits():
        text = text.strip()
        try:
            return _as_json(text)
        except ValueError:
            return parse_literal(text)


# -- the fast way -------------------------------------------------------------------------------

_NOT_JSON = re.compile(r"""["\\({]|nan|inf|NaN|Inf""", re.IGNORECASE)
_JSON_NAME = re.compile("true|false|null")
_NAME = re.compile("true|false|null|none", re.IGNORECASE)


def _as_json(text: str) -> Any:
    """Lists of numbers and simple strings are JSON but for quotes and names. Else ValueError."""
    if _NOT_JSON.search(text):
        raise ValueError
    if "'" not in text and not _JSON_NAME.search(text):
        text = text.replace("True", "true").replace("False", "false").replace("None", "null")
    elif _NAME.search(text):
        raise ValueError
    return parse_json(text.replace("'", '"'), deepest=_DEEP)


# -- asserts ---------------------------------------------------------------------------------------


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


_LIST = re.compile(r"^[ \t]*(inputs|results)[ \t]*=[ \t]*(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TestCode:
    """The parsed contents of a `test` field."""

    __test__ = False  # not a test class of pytest

    inputs: tuple[tuple[Any, ...], ...]
    expected: tuple[Any, ...] | None
    """None: the field computes them with its copy of the reference."""
    atol: float
    checker: str | None
    entry_point: str | None
    """The function that is called; None in the ``check(candidate)`` form."""


def is_extractable(test: str) -> bool:
    """Return whether the field holds its results as literals: the rule by which HE-Fix keeps a
    problem."""
    return any(match[1] == "results" for match in _LIST.finditer(test))


def is_in(left_out: Collection[int]) -> Callable[[Row, LoaderOptions], bool]:
    """Return whether a row is in the subset that is asked for. Where the row itself does not hold
    EvalPlus's test code, `left_out` says by number which are not extractable."""

    def admits(row: Row, options: LoaderOptions) -> bool:
        if options.subset == "all":
            return True
        if "base_input" in row.fields:
            return row.id("task_id").rpartition("/")[2] not in set(map(str, left_out))
        return is_extractable(row.text("test"))

    return admits


def compares_sets(row: Row) -> bool:
    """Return whether UTGen's released code compares this row's outputs as sets: its rule is that
    the test code says " set(" anywhere, be it in a result."""
    return " set(" in str(row.fields.get("test", ""))


def test_code(row: Row) -> TestCode:
    """The `test` field of a row. Raises `DatasetError` where it cannot be read."""
    try:
        return read_test_code(row.text("test"))
    except NotLiteral as e:
        raise row.error("test", str(e)) from None


def read_test_code(test: str) -> TestCode:
    """Read a `test` field. Raises `NotLiteral` where it is not of a known form."""
    try:
        lists = {match[1]: parse(match[2]) for match in _LIST.finditer(test)}
        tree = parse_module(_LIST.sub(_emptied, test))
    except (NotLiteral, SyntaxError):
        lists, tree = {}, _parse_all(test)  # a list over several lines
    if not lists:
        lists = {
            node.targets[0].id: read_literal(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in ("inputs", "results")
        }
    if "inputs" not in lists:
        raise NotLiteral("holds no list named inputs")
    inputs = _arguments(lists["inputs"])
    atol, checker, called, computed = _assertion(tree)
    expected = None
    if not computed:
        expected = tuple(lists.get("results", ()))
        if len(expected) != len(inputs):
            raise NotLiteral(f"holds {len(inputs)} inputs but {len(expected)} results")
    return TestCode(inputs, expected, atol, checker, called)


def _emptied(match: re.Match[str]) -> str:
    """The statement without its value: what is left is small enough to parse in no time."""
    return match[0][: match.start(2) - match.start()] + "[]"


def _parse_all(test: str) -> ast.Module:
    try:
        return parse_module(test)
    except SyntaxError as e:
        raise NotLiteral(f"not Python: {e}") from None


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(inputs, list | tuple):
        raise NotLiteral("inputs is not a list")
    for number, args in enumerate(inputs):
        if not isinstance(args, list | tuple):
            raise NotLiteral(f"input {number} is not a list of arguments")
    return tuple(map(tuple, inputs))


def _assertion(tree: ast.Module) -> tuple[float, str | None, str | None, bool]:
    """Tolerance, checker, name of the function called, and whether the reference is called."""
    loop = next((n for n in ast.walk(tree) if isinstance(n, ast.For) and _loops(n)), None)
    if loop is None:
        raise NotLiteral("holds no loop over its inputs")
    statement = loop.body[0]
    match statement:
        case ast.Expr(ast.Call(ast.Name("assertion"), [ast.Call(func), wanted, atol])):
            computed = isinstance(wanted, ast.Call)
            checker = _comparison(tree)
            return float(read_literal(atol)), checker, _called(func), computed
        case ast.Assert(ast.Compare(ast.Call(ast.Name("_poly"), args), [ast.LtE()], [atol])):
            func = next(n.func for n in ast.walk(args[0]) if isinstance(n, ast.Call))
            return float(read_literal(atol)), "polynomial_root", _called(func), False
    raise NotLiteral(f"an assertion of unknown form: {ast.unparse(statement)[:60]}")


def _loops(node: ast.For) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "inputs" for n in ast.walk(node.iter))


def _called(func: ast.expr) -> str | None:
    return func.id if isinstance(func, ast.Name) and func.id != "candidate" else None


def _comparison(tree: ast.Module) -> str | None:
    """The checker that the body of ``assertion(out, exp, atol)`` amounts to."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "assertion":
            text = ast.unparse(node)
            if "set(out)" in text and "set(exp)" in text:
                return "same_set"
            if "out is not None" in text:
                return "not_none"
            if "allclose(out, exp" in text:
                return None
            raise NotLiteral("an assertion function of unknown form")
    raise NotLiteral("holds no assertion function")
