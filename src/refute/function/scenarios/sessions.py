"""Read test files and docstrings as sessions: the steps that a test takes, in order.

A session of a test holds its module's statements, those of the fixtures that it asks for, and its
own; each row of `parametrize` makes one. Nothing is executed.
"""

from __future__ import annotations

import ast
import copy
import doctest
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from refute.source.syntax import Function, readable_module, try_parse_statements

__all__ = ["Scope", "Step", "TestFile", "read_file", "root_of", "sessions_of"]

MOST_ROWS = 24
"""Rows of one test."""
MOST_TURNS = 8
"""Turns of a loop."""
_RAISING = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assert_raises"}
)
_TRANSPARENT = frozenset(
    {"warns", "deprecated_call", "catch_warnings", "subTest", "nullcontext", "suppress",
     "assertWarns", "assertWarnsRegex", "assertLogs", "does_not_raise"}
)  # fmt: skip
_LOOKING = frozenset(
    {"print", "len", "repr", "str", "isinstance", "type", "id", "bool", "hash", "callable",
     "hasattr", "getattr", "int", "float", "tuple", "frozenset", "issubclass", "vars", "dir"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The global names of a step's file."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Imported name -> its place: ``module`` or ``module:name``; "*": the module of a star."""
    module: str = ""
    """The module of the package whose globals a docstring sees."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One simple statement or definition, or expressions that are only evaluated."""

    scope: Scope
    node: ast.stmt | None = None
    """Statement for a set-up; None: a set-up cannot repeat it, nor whatever needs the names it
    binds."""
    looked: tuple[ast.expr, ...] = ()
    """Expressions in which calls are looked for."""
    tested: bool = True
    """True: calls are looked for in it at all."""
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    """Names whose objects it may change."""


@dataclass(slots=True)
class TestFile:
    """A file that shows uses, read."""

    name: str
    tree: ast.Module
    scope: Scope = field(default_factory=Scope)
    fixtures: dict[str, Function] = field(default_factory=dict)
    documents: list[tuple[Scope, list[ast.stmt]]] = field(default_factory=list)
    """The examples of each docstring."""
    __test__ = False  # no test of pytest's


def read_file(name: str, text: str, module: str = "", *, own: bool = False) -> TestFile:
    """Read a Python file. `module`: its dotted name, "" where it has none; `own`: it
    is a module under test, of which only docstrings count."""
    tree = readable_module(text)
    package = module if name.endswith("__init__.py") else module.rpartition(".")[0]
    read = TestFile(name, tree, Scope(imports_of([tree], package)))
    for node in _statements(tree):
        if isinstance(node, Function) and _fixture_mark(node) is not None:
            read.fixtures[_fixture_name(node)] = node
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            body = _examples(ast.get_docstring(node) or "")
            if body:
                scope = Scope(imports_of(body), module if own else "")
                read.documents.append((scope, body))
    if own:
        read.tree = ast.Module([], [])
    return read


def _examples(text: str) -> list[ast.stmt]:
    try:
        examples = doctest.DocTestParser().get_examples(text) if ">>>" in text else []
    except ValueError:
        return []
    found: list[ast.stmt] = []
    for one in examples:
        statements = try_parse_statements(one.source) or []
        if one.exc_msg is not None and statements and isinstance(statements[-1], ast.Expr):
            # what raises can be looked at, and cannot be part of a set-up
            statements[-1] = ast.Assert(statements[-1].value, None)
        found += statements
    return found


def imports_of(nodes: Iterable[ast.AST], package: str = "") -> dict[str, str]:
    """The places of the names that import statements bind; `package`: where relative ones start."""
    found: dict[str, str] = {}
    for node in (one for outer in nodes for one in _statements(outer)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = package.split(".")
                kept = parts[: len(parts) - node.level + 1]
                source = ".".join([*kept, source] if source else kept)
            for alias in node.names if source.strip(".") else ():
                star = alias.name == "*"
                found[alias.asname or alias.name] = source if star else f"{source}:{alias.name}"
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements inside of it, in order, without expressions."""
    yield node
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, name, None)
        for one in inner if isinstance(inner, list) else ():
            yield from _statements(one)


def _words(*nodes: ast.AST) -> set[str]:
    """Every name and attribute in trees."""
    every = (one for node in nodes for one in ast.walk(node))
    return {getattr(one, "id", getattr(one, "attr", None)) or "" for one in every}


# -- sessions --------------------------------------------------------------------------------------


def sessions_of(
    file: TestFile, shared: Sequence[TestFile], words: set[str]
) -> Iterator[list[Step]]:
    """The sessions of a file whose own statements mention one of the words.

    `shared`: the conftest.py files whose fixtures it may ask for.
    """
    for scope, body in file.documents:
        if words & _words(*body):
            yield list(_flattened(body, scope))
    top = [node for node in file.tree.body if not _is_test(node)]
    before = list(_flattened(top, file.scope))
    if words & _words(*(one for step in before for one in step.looked)):
        yield before
    prefix = [replace(step, tested=False) for step in before]
    for node in file.tree.body:
        owner = node if isinstance(node, ast.ClassDef) else None
        for one in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(one, Function) and one.name.startswith("test") and words & _words(one):
                yield from _sessions(one, owner, file, shared, prefix)


def _sessions(
    node: Function, owner: ast.ClassDef | None, file: TestFile, shared: Sequence[TestFile],
    prefix: list[Step],
) -> Iterator[list[Step]]:  # fmt: skip
    scope = Scope({**file.scope.names, **imports_of(node.body)})
    asked = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    marks, members = node.decorator_list, list[ast.stmt]()
    if owner is not None:
        asked, marks, members = asked[1:], [*marks, *owner.decorator_list], owner.body
    tables = [rows for mark in marks if (rows := _table(mark, [*file.tree.body, *members]))]
    rows = [{k: v for row in rows for k, v in row.items()}
            for rows in islice(product(*tables), MOST_ROWS)]  # fmt: skip
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not _is_read(n)}
    fixtures = [name for name in asked if name not in rows[0]]
    for prelude in _fixtures(fixtures, file, shared, frozenset()):
        for row in rows:
            small = {k: v for k, v in row.items()
                     if k not in stored and len(ast.unparse(v)) <= 200}  # fmt: skip
            given = [_assign(k, v) for k, v in row.items() if k not in small]
            body = [_Put(small).visit(copy.deepcopy(one)) if small else one for one in node.body]
            bound = _flattened(given, scope, tested=False)
            yield [*prefix, *prelude, *bound, *_flattened(body, scope)]


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(_is_test(one) for one in node.body)
    named = isinstance(node, Function) and node.name.startswith("test")
    return named or (isinstance(node, Function) and _fixture_mark(node) is not None)


class _Put(ast.NodeTransformer):
    """Expressions in the place of names that are read."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node) if _is_read(node) else node


# -- what pytest gives a test ----------------------------------------------------------------------


def _table(mark: ast.expr, body: Sequence[ast.stmt]) -> list[dict[str, ast.expr]]:
    """Rows of a `parametrize` mark whose table is written out."""
    if not isinstance(mark, ast.Call) or getattr(mark.func, "attr", "") != "parametrize":
        return []
    given = [*mark.args, *(one.value for one in mark.keywords if one.arg == "argvalues")]
    if len(given) < 2:
        return []
    match given[0]:
        case ast.Constant(str(text)):
            labels = [one.strip() for one in text.split(",") if one.strip()]
        case ast.List(elts) | ast.Tuple(elts):
            labels = [str(one.value) for one in elts if isinstance(one, ast.Constant)]
        case _:
            return []
    rows = []
    for row in _elements(given[1], body):
        values = [row]
        if isinstance(row, ast.Call) and ast.unparse(row.func).rpartition(".")[2] == "param":
            values = row.args
        elif isinstance(row, ast.Tuple | ast.List) and len(labels) > 1:
            values = row.elts
        if len(values) == len(labels) and not any(isinstance(v, ast.Starred) for v in values):
            rows.append(dict(zip(labels, values, strict=True)))
    return rows[:: max(1, len(rows) // MOST_ROWS)][:MOST_ROWS]


def _elements(table: ast.expr, body: Sequence[ast.stmt] = ()) -> list[ast.expr]:
    """The items of a table that is written out, here or as a constant among `body`."""
    match table:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return list(elts)
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys, values), attr="items"), args=[]):
            return [ast.Tuple([k, v], ast.Load()) for k, v in zip(keys, values, strict=True) if k]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _elements(left, body) + _elements(right, body)
        case ast.Name(name):
            for node in body:
                if isinstance(node, ast.Assign) and name in _bound(node):
                    return _elements(node.value)
    return []


def _fixture_mark(node: Function) -> ast.expr | None:
    for mark in node.decorator_list:
        func = mark.func if isinstance(mark, ast.Call) else mark
        if getattr(func, "attr", getattr(func, "id", "")) in ("fixture", "yield_fixture"):
            return mark
    return None


def _keyword(mark: ast.expr | None, name: str) -> ast.expr | None:
    given = mark.keywords if isinstance(mark, ast.Call) else []
    return next((one.value for one in given if one.arg == name), None)


def _fixture_name(node: Function) -> str:
    given = _keyword(_fixture_mark(node), "name")
    return str(given.value) if isinstance(given, ast.Constant) else node.name


def _fixtures(
    asked: Sequence[str], file: TestFile, shared: Sequence[TestFile], seen: frozenset[str]
) -> list[list[Step]]:
    """Ways to have the fixtures: the steps that bind their names, once a row of `params`."""
    ways: list[list[Step]] = [[]]
    for name in asked:
        home = next((one for one in (file, *shared) if name in one.fixtures), None)
        if name == "tmp_path":
            path = ast.parse("pathlib.Path('.')", mode="eval").body
            scope = Scope({"pathlib": "pathlib"})
            made = [[*_flattened([_assign(name, path)], scope, tested=False)]]
        elif home is None or name in seen:
            made = [[Step(Scope(), tested=False, binds=frozenset({name}))]]
        else:
            node = home.fixtures[name]
            scope = Scope({**home.scope.names, **imports_of(node.body)})
            given = [one.arg for one in node.args.args if one.arg not in ("self", "cls", "request")]
            params = _keyword(_fixture_mark(node), "params")
            rows = _elements(params, home.tree.body)[:4] if params is not None else []
            top = [] if home is file else [one for one in home.tree.body if not _is_test(one)]
            before = [*_flattened(top, home.scope, tested=False)]
            made = []
            for way in _fixtures(given, file, shared, seen | {name}):
                for row in rows or [ast.Constant(None)]:
                    body = [_Gives(name, row).visit(copy.deepcopy(one)) for one in node.body]
                    made.append([*before, *way, *_flattened(body, scope, tested=False)])
        ways = [[*one, *other] for one in ways for other in made][:4]
    return ways


class _Gives(ast.NodeTransformer):
    """Turn what a fixture returns or yields into an assignment to its name."""

    def __init__(self, name: str, param: ast.expr) -> None:
        self.name = name
        self.param = param

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        return _assign(self.name, node.value or ast.Constant(None))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Yield):
            return _assign(self.name, node.value.value or ast.Constant(None))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node) == "request.param":
            return self.param
        return self.generic_visit(node)


# -- steps -----------------------------------------------------------------------------------------


def _flattened(body: Iterable[ast.stmt], scope: Scope, *, tested: bool = True) -> Iterator[Step]:
    """The steps of statements in the order in which they would run: loops turned, contexts
    entered."""

    def inner(statements: Iterable[ast.stmt]) -> Iterator[Step]:
        return _flattened(statements, scope, tested=tested)

    def seen(*looked: ast.expr) -> Step:
        changes = frozenset(name for one in looked for name in _changed(one, given=False))
        return Step(scope, None, looked, tested, changes=changes)

    for node in body:
        match node:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call(func=func) as call) if _checks(func):
                yield seen(*_checked(call))
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr() | ast.Delete():
                yield _step(node, scope, tested)
            case ast.Assert(test=value) | ast.Return(value=ast.expr() as value):
                yield seen(value)
            case ast.With(items=items, body=within) | ast.AsyncWith(items=items, body=within):
                names = [_called(item.context_expr) for item in items]
                for item, name in zip(items, names, strict=True):
                    if name not in _RAISING | _TRANSPARENT and isinstance(node, ast.With):
                        yield _step(_entered(item, name), scope, tested)
                steps = list(inner(within))
                if steps and not _RAISING.isdisjoint(names):  # the last one raises
                    steps[-1] = replace(steps[-1], node=None, binds=frozenset())
                yield from steps
            case ast.For(target=target, iter=table, body=within):
                yield seen(table)
                for turn in _bind_turns(target, table)[:MOST_TURNS]:
                    yield from _flattened(turn, scope, tested=False)
                    yield from inner(within)
            case ast.If(test=value, body=within):
                yield seen(value)
                yield from inner(within)
            case ast.Try(body=within, orelse=orelse, finalbody=final):
                yield from inner([*within, *orelse, *final])
            case ast.FunctionDef() | ast.ClassDef():
                yield Step(scope, node, (), False, frozenset({node.name}))
            case ast.AsyncFunctionDef() | ast.While() | ast.AsyncFor():
                stored = {n.id for n in ast.walk(node)
                          if isinstance(n, ast.Name) and not _is_read(n)}  # fmt: skip
                stored |= {getattr(node, "name", "")}
                yield Step(scope, None, (), False, frozenset(stored))


def _step(node: ast.stmt, scope: Scope, tested: bool) -> Step:
    """The step of a simple statement."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        node = ast.Assign([node.target], node.value, lineno=0)
    value: ast.expr | None = getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.Expr) and isinstance(value, ast.Await):
        node = copy.copy(node)
        node.value = value = value.value
    changes = _changed(value, given=isinstance(node, ast.Expr)) if value is not None else set()
    if isinstance(node, ast.AugAssign):
        changes.add(root_of(node.target))
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    changes |= {root_of(one) for target in targets for one in ast.walk(target)
                if isinstance(one, ast.Attribute | ast.Subscript)}  # fmt: skip
    looked = (value,) if value is not None else ()
    waits = any(isinstance(one, ast.Await | ast.Yield | ast.YieldFrom) for one in ast.walk(node))
    repeated = None if waits else node
    return Step(scope, repeated, looked, tested, _bound(node), frozenset(changes - {""}))


def _bound(node: ast.stmt) -> frozenset[str]:
    """The names that an assignment binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.AugAssign):
        return frozenset()
    every = (one for target in targets if target is not None for one in ast.walk(target))
    return frozenset(n.id for n in every if isinstance(n, ast.Name) and not _is_read(n))


def _changed(node: ast.expr, *, given: bool) -> set[str]:
    """Names on which methods are called; `given`: those that are passed to a function, too."""
    found: set[str] = set()
    for one in ast.walk(node):
        if not isinstance(one, ast.Call):
            continue
        if isinstance(one.func, ast.Attribute):
            found.add(root_of(one.func))
        name = _called(one)
        if (given and name not in _LOOKING) or name == "next":
            arguments = [*one.args, *(keyword.value for keyword in one.keywords)]
            found |= {arg.id for arg in arguments if isinstance(arg, ast.Name)}
    return found - {""}


def root_of(node: ast.expr) -> str:
    """Return `c` of ``c.items[0].add``; "" where no name stands there."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _called(node: ast.expr) -> str:
    """The last name of what is called, or stands there."""
    func = node.func if isinstance(node, ast.Call) else node
    return str(getattr(func, "attr", getattr(func, "id", "")))


def _checks(func: ast.expr) -> bool:
    """Return whether a function is an assertion of unittest, or pytest's ``raises`` as a
    function."""
    match func:
        case ast.Attribute(value=ast.Name("self" | "cls"), attr=name):
            return name.startswith("assert")
        case ast.Attribute(value=ast.Name("pytest"), attr="raises"):
            return True
        case ast.Name(name):
            return name in ("raises", "assert_raises", "assert_equal", "assert_", "eq_", "ok_")
    return False


def _checked(call: ast.Call) -> list[ast.expr]:
    """Return what an assertion looks at; of ``raises(E, f, x)`` the call ``f(x)``."""
    name = _called(call)
    first = 2 if name.endswith(("Regex", "Regexp")) else 1
    if name not in _RAISING or len(call.args) <= first:
        return list(call.args)
    function, *arguments = call.args[first:]
    if isinstance(function, ast.Lambda):
        return [function.body]
    keywords = [one for one in call.keywords if one.arg not in ("match", "msg")]
    return [ast.Call(function, arguments, keywords)]


def _entered(item: ast.withitem, name: str) -> ast.stmt:
    """A context as a statement that enters it."""
    enter = item.context_expr
    if name != "open":
        enter = ast.Call(ast.Attribute(enter, "__enter__", ast.Load()), [], [])
    target = item.optional_vars
    return ast.Expr(enter) if target is None else ast.Assign([target], enter, lineno=0)


def _bind_turns(target: ast.expr, table: ast.expr) -> list[list[ast.stmt]]:
    """The assignments that each turn of a loop makes; of a table that is not written out those of
    the first turn."""
    turns = [_pairs(target, row) for row in _elements(table)]
    if not turns or None in turns:
        first = ast.parse("next(iter(x))", mode="eval").body
        return [[ast.Assign([target], _Put({"x": table}).visit(first), lineno=0)]]
    return [[_assign(k, v) for k, v in turn.items()] for turn in turns if turn is not None]


def _pairs(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    match target, value:
        case ast.Name(name), _ if not isinstance(value, ast.Starred):
            return {name: value}
        case ((ast.Tuple(names) | ast.List(names)), (ast.Tuple(values) | ast.List(values))):
            found: dict[str, ast.expr] = {}
            for one, inner in zip(names, values, strict=False):
                pairs = _pairs(one, inner)
                if pairs is None or len(names) != len(values):
                    return None
                found |= pairs
            return found
    return None


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)
