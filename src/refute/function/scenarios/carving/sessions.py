"""Test files and documents as sessions: for each test the steps that lead to it, in order.

A session of a test holds its module's statements, those of its class and `setUp`, of the fixtures
that it asks for, and its own; rows of `parametrize` make one session each.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from textwrap import dedent

from refute.function.scenarios.carving.places import Package, imports_of
from refute.function.scenarios.carving.steps import (
    Step,
    as_lambda,
    flattened,
    identifiers,
    step_of,
    substituted,
)
from refute.syntax import Function, readable_module, try_parse_statements

__all__ = ["TestFile", "read_file", "sessions_of"]

MOST_ROWS = 24
"""Rows of one test."""
_SET_UP = ("setUpClass", "setup_class", "setup_method", "setup", "setUp", "asyncSetUp")
_FENCE = re.compile(r"^```\s*(?:py|python|python3|pycon)\b[^\n]*\n(.*?)^```", re.M | re.S)
_BLOCK = re.compile(
    r"^( *)\.\. (?:code-block|code|sourcecode|testcode|ipython)::\s*(?:python|py)?3?[^\n]*\n"
    r"((?:\1 +[^\n]*\n|\s*\n)+)",
    re.M,
)

_Test = Function


@dataclass(slots=True)
class TestFile:
    """A file that shows uses, read."""

    name: str
    tree: ast.Module
    names: Mapping[str, str]
    """What its imports bind."""
    fixtures: dict[str, Function] = field(default_factory=dict)
    documents: list[tuple[str, list[ast.stmt]]] = field(default_factory=list)
    """(module whose globals are seen or "", statements) of each doctest or block of code."""
    __test__ = False  # no test of pytest's


def read_file(name: str, text: str, package: Package, module: str = "") -> TestFile:
    """Read a Python file or a document. `module`: the file's dotted name, "" where it has none."""
    if not name.endswith(".py"):
        return TestFile(name, ast.Module([], []), {}, documents=[("", _document(text))])
    tree = readable_module(text)
    own = module in package.modules
    names = imports_of(
        [tree], package, module or "tests." + _stem(name), folder=name.endswith("__init__.py")
    )
    read = TestFile(name, tree, names)
    if ">>>" in text:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function):
                shown = ast.get_docstring(node) or ""
                if ">>>" in shown:
                    read.documents.append((module if own else "", _examples(shown)))
    if own:
        read.tree = ast.Module([], [])
        return read
    for node in ast.walk(tree):
        if isinstance(node, Function) and _fixture_mark(node) is not None:
            read.fixtures[_fixture_name(node)] = node
    return read


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".py")


def _document(text: str) -> list[ast.stmt]:
    """Statements of the examples and the blocks of code of a document, in order."""
    found = _examples(text)
    blocks = [one.group(1) for one in _FENCE.finditer(text)]
    blocks += [dedent(one.group(2)) for one in _BLOCK.finditer(text)]
    for block in blocks:
        if ">>>" not in block:
            found += try_parse_statements(block) or []
    return found


def _examples(text: str) -> list[ast.stmt]:
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    found: list[ast.stmt] = []
    for one in examples:
        statements = try_parse_statements(one.source) or []
        if one.exc_msg is not None and statements and isinstance(statements[-1], ast.Expr):
            # what raises can be looked at, and is no part of a set-up
            statements[-1] = ast.Assert(statements[-1].value, None)
        found += statements
    return found


# -- sessions --------------------------------------------------------------------------------------


def sessions_of(
    file: TestFile, shared: Sequence[TestFile], package: Package, words: set[str]
) -> Iterator[list[Step]]:
    """The sessions of a file whose own statements mention one of the words.

    `shared`: the conftest.py files whose fixtures it may ask for.
    """
    for module, body in file.documents:
        if words & {name for node in body for name in identifiers(node)}:
            names = dict(imports_of(body, package, module))
            yield list(flattened(body, names, module=module))
    top = [node for node in file.tree.body if not _is_test(node)]
    before = list(flattened(top, file.names))
    mentioned = {name for step in before for one in step.looked for name in identifiers(one)}
    if words & mentioned:
        yield before
    prefix = [_untested(step) for step in before]
    yield from _tests(file.tree.body, file, shared, package, words, prefix)


def _untested(step: Step) -> Step:
    return Step(
        step.node, step.looked, step.names, False, step.binds, step.changes, step.problem,
        step.module,
    )  # fmt: skip


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(isinstance(one, Function) and one.name.startswith("test") for one in node.body)
    return isinstance(node, Function) and (
        node.name.startswith("test") or _fixture_mark(node) is not None
    )


def _tests(
    body: Sequence[ast.stmt], file: TestFile, shared: Sequence[TestFile], package: Package,
    words: set[str], prefix: list[Step],
) -> Iterator[list[Step]]:  # fmt: skip
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            if words & identifiers(node):
                yield from _sessions(node, None, file, shared, package, prefix)
        elif isinstance(node, ast.ClassDef):
            members = _class_members(node, file.tree)
            for one in members:
                if isinstance(one, Function) and one.name.startswith("test"):
                    inside = any(
                        isinstance(other, Function) and other.name in (*_SET_UP, *file.fixtures)
                        and words & identifiers(other)
                        for other in members
                    )  # fmt: skip
                    if inside or words & identifiers(one):
                        yield from _sessions(one, members, file, shared, package, prefix)


def _class_members(node: ast.ClassDef, tree: ast.Module) -> list[ast.stmt]:
    """The class's statements behind those of its bases in the same file."""
    known = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    found: list[ast.stmt] = []
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in known and base.id != node.name:
            found += [
                one for one in known[base.id].body
                if not (isinstance(one, Function) and one.name.startswith("test"))
            ]  # fmt: skip
    return found + node.body


def _sessions(
    node: Function, members: list[ast.stmt] | None, file: TestFile, shared: Sequence[TestFile],
    package: Package, prefix: list[Step],
) -> Iterator[list[Step]]:  # fmt: skip
    names = {**file.names, **imports_of(node.body, package)}
    before: list[Step] = []
    own: ast.stmt = node
    asked = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if members is not None:
        rename = _Own(node, members, names)
        for member in members:
            made = as_lambda(member, method=True) if isinstance(member, Function) else None
            if made is not None:
                assign = _assign(f"self.{getattr(member, 'name', '')}", made)
                before.append(step_of(rename.of(assign), names, tested=False))
            elif isinstance(member, ast.Assign | ast.AnnAssign):
                before.append(step_of(rename.of_class(member), names, tested=False))
        for label in _SET_UP:
            for member in members:
                if isinstance(member, Function) and member.name == label:
                    changed = rename.of(member)
                    assert isinstance(changed, Function)
                    before += flattened(changed.body, names)
        own = rename.of(node)
        asked = asked[1:]
    assert isinstance(own, Function)
    tables = [
        _table(one, file.tree, members)
        for one in (*node.decorator_list, *_class_marks(node, file.tree))
    ]
    rows = [dict(pair for row in rows for pair in row.items()) for rows in
            islice(product(*(table for table in tables if table)), MOST_ROWS)] or [{}]  # fmt: skip
    needed = [name for name in asked if name not in rows[0]]
    for prelude in _fixtures(needed, file, shared, package, set()):
        for row in rows:
            small = {k: v for k, v in row.items() if len(ast.unparse(v)) <= 200}
            given = [step_of(_assign(k, v), names, tested=False)
                     for k, v in row.items() if k not in small]  # fmt: skip
            stored = {n.id for n in ast.walk(own)
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
            given += [step_of(_assign(k, v), names, tested=False)
                      for k, v in small.items() if k in stored]  # fmt: skip
            small = {k: v for k, v in small.items() if k not in stored}
            body = [substituted(one, small) for one in own.body]
            steps = flattened([one for one in body if isinstance(one, ast.stmt)], names)
            yield [*prefix, *prelude, *before, *given, *steps]


def _assign(name: str, value: ast.expr) -> ast.Assign:
    owner, _, last = name.rpartition(".")
    target: ast.expr = ast.Name(last, ast.Store())
    if owner:
        target = ast.Attribute(ast.Name(owner, ast.Load()), last, ast.Store())
    return ast.Assign([target], value, lineno=1)


class _Own(ast.NodeTransformer):
    """Names in the place of `self.name` that the class or its set-up binds."""

    def __init__(
        self, test: Function, members: Sequence[ast.stmt], names: Mapping[str, str]
    ) -> None:
        self.known: set[str] = set()
        for member in members:
            if isinstance(member, Function):
                made = as_lambda(member, method=True)
                self.known |= {member.name} if made is not None else set()
                inner = member is test or member.name in _SET_UP
                for one in ast.walk(member) if inner else ():
                    if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
                        self.known |= {one.attr} if _is_self(one.value) else set()
            elif isinstance(member, ast.Assign | ast.AnnAssign):
                targets = member.targets if isinstance(member, ast.Assign) else [member.target]
                self.known |= {one.id for one in targets if isinstance(one, ast.Name)}
        used = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
        self.taken = used | set(names) | set(dir(builtins))

    def of(self, node: ast.stmt) -> ast.stmt:
        changed = self.visit(_copy(node))
        assert isinstance(changed, ast.stmt)
        return changed

    def of_class(self, node: ast.Assign | ast.AnnAssign) -> ast.stmt:
        """An assignment in the class's body."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        made = [ast.Name(self.named(one.id), ast.Store()) if isinstance(one, ast.Name) else one
                for one in targets]  # fmt: skip
        if node.value is None:
            return ast.Pass()
        return ast.Assign(list(made), node.value, lineno=1)

    def named(self, name: str) -> str:
        return f"self_{name}" if name in self.taken else name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _is_self(node.value) and node.attr in self.known:
            return ast.Name(self.named(node.attr), node.ctx)
        return self.generic_visit(node)


def _copy(node: ast.stmt) -> ast.stmt:
    copied = substituted(node, {"": ast.Constant(None)})
    assert isinstance(copied, ast.stmt)
    return copied


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


# -- parametrize and fixtures ----------------------------------------------------------------------


def _class_marks(node: Function, tree: ast.Module) -> list[ast.expr]:
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and node in one.body:
            return one.decorator_list
    return []


def _table(
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


def _fixture_mark(node: Function) -> ast.expr | None:
    for mark in node.decorator_list:
        func = mark.func if isinstance(mark, ast.Call) else mark
        if getattr(func, "attr", getattr(func, "id", "")) in ("fixture", "yield_fixture"):
            return mark
    return None


def _keywords(mark: ast.expr | None) -> dict[str | None, ast.expr]:
    if not isinstance(mark, ast.Call):
        return {}
    return {one.arg: one.value for one in mark.keywords}


def _fixture_name(node: Function) -> str:
    given = _keywords(_fixture_mark(node)).get("name")
    return str(given.value) if isinstance(given, ast.Constant) else node.name


def _fixtures(
    asked: Sequence[str], file: TestFile, shared: Sequence[TestFile], package: Package,
    seen: set[str],
) -> list[list[Step]]:  # fmt: skip
    """Ways to have the fixtures: the steps that bind their names, once a row of `params`."""
    ways: list[list[Step]] = [[]]
    for name in asked:
        if name == "tmp_path":
            path = ast.parse("pathlib.Path('.')", mode="eval").body
            made = [[step_of(_assign(name, path), {"pathlib": "pathlib"}, tested=False)]]
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
    table = _keywords(_fixture_mark(node)).get("params")
    params: list[ast.expr | None] = [None]
    if table is not None:
        params = [*_elements(table, home.tree.body)[:4]] or params
    top: list[Step] = []
    if home is not file:
        nodes = [one for one in home.tree.body if not _is_test(one)]
        top = [_untested(one) for one in flattened(nodes, home.names)]
    found = []
    for prelude in _fixtures(asked, file, shared, package, seen):
        for value in params:
            body: list[ast.stmt] = []
            for one in node.body:
                changed = _Gives(name, value).visit(_copy(one))
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
        return _assign(self.name, node.value or ast.Constant(None))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Yield):
            return _assign(self.name, node.value.value or ast.Constant(None))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(value=ast.Name("request"), attr="param") if self.param is not None:
                return self.param
        return self.generic_visit(node)
