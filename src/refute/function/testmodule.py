"""Whole tests of a pytest or unittest file as sessions: what they need of it, then the call.

Where `pytests` reads single checks, this carries a test along as it stands: imports, helpers,
constants and fixtures of its file that it names, its rows of `parametrize`, its class. Nothing is
executed here; the sandbox runs it, and a test that fails for want of something of its own is not
believed (`verified`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from refute.core.problems import DoctestSession
from refute.function.bindings import NotUnderstood, parameter_names, row_values
from refute.function.called_as import called_as, is_shown
from refute.source.syntax import bound_names, first_line, parse_module, read_names

MOST_ROWS = 60
"""Rows of a literal table that become tests of their own; a longer table is looped over."""

_TestFunction = ast.FunctionDef | ast.AsyncFunctionDef
_BUILT_IN = {
    "tmp_path": "__import__('pathlib').Path(__import__('tempfile').mkdtemp())",
    "tmpdir": "__import__('tempfile').mkdtemp()",
}


@dataclass(frozen=True, slots=True)
class Whole:
    """A test function of the file, or one row of it."""

    session: DoctestSession
    name: str
    first: int
    last: int
    """Lines of the test function, its decorators included."""


_CHANGING = (ast.Assign, ast.AugAssign, ast.Delete, ast.Expr, ast.For)
"""Statements that may change what another one binds."""


def whole_tests(
    text: str, entry_point: str, *, package: str = ""
) -> tuple[list[Whole], list[tuple[int, int, str]]]:
    """The tests that name the function, and (first line, last line, reason) of those left out.

    `package`: the dotted name of the package that the file lies in. Raises SyntaxError.
    """
    tree = parse_module(text)
    top = _Top(tree, entry_point, package)
    found: list[Whole] = []
    odd: list[tuple[int, int, str]] = []
    for owner, node in _tests(tree):
        if not top.concerns(node):
            continue
        place = first_line(node), node.end_lineno or node.lineno
        try:
            if isinstance(node, _TestFunction):
                found += [Whole(one, node.name, *place) for one in top.sessions(owner, node)]
            else:
                found.append(Whole(top.alone(node), "", *place))
        except NotUnderstood as reason:
            odd.append((*place, str(reason)))
    return found, odd


def _tests(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, ast.stmt]]:
    """Test functions, with their class where they have one; then what checks at the top level."""
    for node in tree.body:
        if isinstance(node, _TestFunction) and node.name.startswith("test"):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _TestFunction) and inner.name.startswith("test"):
                    yield node, inner
    yield from ((None, node) for node in tree.body if isinstance(node, ast.Assert | ast.For))


class _Top:
    """The top level of a test file: what each name there is bound by."""

    def __init__(self, tree: ast.Module, entry_point: str, package: str) -> None:
        self.package = package
        self.statements = [
            node
            for node in tree.body
            if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        ]
        self.entry_point = entry_point
        self.fixtures = {
            node.name: node
            for node in self.statements
            if isinstance(node, ast.FunctionDef) and any(map(_is_fixture, node.decorator_list))
        }
        self.always = [name for name, node in self.fixtures.items() if _is_automatic(node)]
        self.marks = [
            node.value
            for node in self.statements
            if isinstance(node, ast.Assign) and bound_names(node) == {"pytestmark"}
        ]
        self.binders: dict[str, list[int]] = {}
        for index, node in enumerate(self.statements):
            for name in bound_names(node):
                self.binders.setdefault(name, []).append(index)

        self.changes = {
            index: read_names(node)
            for index, node in enumerate(self.statements)
            if isinstance(node, _CHANGING) and not bound_names(node) and not _asserts(node)
        }

    def concerns(self, test: ast.AST) -> bool:
        """Whether the test is of the function, itself or through what it uses of its file."""
        about = called_as(self.entry_point)
        if is_shown(test, about, self._names_it):
            return True
        return any(
            is_shown(self.statements[index], about, self._names_it)
            for index in self.needed(read_names(test))
            if not isinstance(self.statements[index], ast.Import | ast.ImportFrom)
        )

    def _names_it(self, node: ast.AST) -> bool:
        """Whether the function is named; where something of it is (`f.x`), it may be its module."""
        about = called_as(self.entry_point)
        aliases = {*about.names}
        for statement in self.statements:
            if isinstance(statement, ast.ImportFrom):
                aliases |= {a.asname for a in statement.names if a.name in about.names and a.asname}
        nodes = list(ast.walk(node))
        holders = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
        return any(
            (isinstance(one, ast.Name) and one.id in aliases and id(one) not in holders)
            or (isinstance(one, ast.Attribute) and one.attr == about.attribute)
            for one in nodes
        )

    def needed(self, names: set[str]) -> list[int]:
        """The statements that bind these names, and what those need, in order."""
        wanted, chosen = set(names), set(self.binders.get("*", ()))
        while True:
            new = {i for name in wanted for i in self.binders.get(name, ())} - chosen
            if not new:
                bound = {name for index in chosen for name in bound_names(self.statements[index])}
                new = {i for i, read in self.changes.items() if read & bound} - chosen
            if not new:
                return sorted(chosen)
            chosen |= new
            wanted = {name for index in new for name in read_names(self._bare(index))}

    def _bare(self, index: int) -> ast.stmt:
        """The statement without what only pytest reads."""
        node = self.statements[index]
        fixture = isinstance(node, ast.FunctionDef) and node.name in self.fixtures
        return _plain(node) if fixture and isinstance(node, ast.FunctionDef) else node

    def sessions(self, owner: ast.ClassDef | None, test: _TestFunction) -> Iterator[DoctestSession]:
        """One for each row of the test's table, or one that loops over it.

        Raises `NotUnderstood`.
        """
        for mark in self.marks:
            _check_mark(ast.unparse(mark))
        rows, loop = _table(test, self._literal)
        given = {name for row in rows[:1] for name in row}
        given |= {name.strip(",") for name in loop[0]} if loop else set()
        asked = test.args.args[: len(test.args.args) - len(test.args.defaults)]
        taken = [a.arg for a in asked if a.arg not in given and a.arg not in ("self", "cls")]
        fixtures = self._fixtures([*self.always, *taken])
        family = [] if owner is None else self._family(owner)
        body = _plain(test) if owner is None else _class_with(owner, test)
        names = read_names(body) | {name for name, _ in fixtures}
        names |= {n for row in rows for value in row.values() for n in read_names(value)}
        names |= read_names(loop[1]) if loop else set()
        before = [self._carried(index) for index in self.needed(names) if not self._is_test(index)]
        before += [ast.unparse(body)]
        before += [f"{name} = {source}" for name, source in fixtures]
        set_up, head = _call(owner, test, family)
        before += set_up
        named = [f"{name}={name}" for name in taken]
        for row in rows:
            arguments = [f"{name}={ast.unparse(value)}" for name, value in row.items()] + named
            yield _session(before, head.replace("...", ", ".join(arguments)))
        if loop:
            targets = ", ".join(loop[0])
            arguments = [f"{name}={name}" for name in targets.strip(",").split(", ")] + named
            call = head.replace("...", ", ".join(arguments))
            yield _session(before, f"for {targets} in {ast.unparse(loop[1])}:\n    {call}")

    def _literal(self, node: ast.expr) -> ast.expr:
        """What a name stands for that the file binds once."""
        at = self.binders.get(node.id, []) if isinstance(node, ast.Name) else []
        match self.statements[at[0]] if len(at) == 1 else None:
            case ast.Assign(targets=[ast.Name()], value=value):
                return value
        return node

    def alone(self, node: ast.stmt) -> DoctestSession:
        """A statement of the top level with what it needs."""
        needed = [
            index for index in self.needed(read_names(node)) if self.statements[index] != node
        ]
        return _session([self._carried(index) for index in needed], ast.unparse(node))

    def _family(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and those of the file that it is made of, first ancestors last.

        Raises `NotUnderstood` where one comes from elsewhere, which may set anything up.
        """
        found = [owner]
        for base in owner.bases:
            name = ast.unparse(base)
            if name in ("object",) or name.endswith("TestCase"):
                continue
            at = self.binders.get(name, [])
            node = self.statements[at[0]] if len(at) == 1 else None
            if not isinstance(node, ast.ClassDef) or node is owner:
                raise NotUnderstood(f"a class that is made of {name}")
            found += self._family(node)
        return found

    def _is_test(self, index: int) -> bool:
        node = self.statements[index]
        return isinstance(node, _TestFunction) and node.name.startswith("test")

    def _carried(self, index: int) -> str:
        node = self.statements[index]
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = self.package.split(".") if self.package else []
            if node.level > len(parts):
                raise NotUnderstood("imports from a package that is not known")
            above = parts[: len(parts) - node.level + 1]
            source = ".".join([*above, *([node.module] if node.module else [])])
            return ast.unparse(ast.ImportFrom(source, node.names, 0))
        return ast.unparse(self._bare(index))

    def _fixtures(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """(name, source of its value) of each fixture that is needed, in order."""
        found: dict[str, str] = {}

        def need(name: str, way: tuple[str, ...]) -> None:
            if name in found:
                return
            if name in _BUILT_IN:
                found[name] = _BUILT_IN[name]
                return
            node = self.fixtures.get(name)
            if node is None or name in way or _has_params(node):
                raise NotUnderstood(f"needs the fixture {name}")
            inner = [arg.arg for arg in node.args.args]
            for one in inner:
                need(one, (*way, name))
            call = f"{name}({', '.join(f'{one}={one}' for one in inner)})"
            yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(node))
            found[name] = f"next({call})" if yields else call

        for name in names:
            need(name, ())
        return list(found.items())


def _session(before: Sequence[str], last: str) -> DoctestSession:
    return DoctestSession(tuple(f"{source}\n" for source in (*before, last)))


def _call(
    owner: ast.ClassDef | None, test: _TestFunction, family: Sequence[ast.ClassDef]
) -> tuple[list[str], str]:
    """Statements that set the test's object up, and source that runs the test, with ``...`` for
    its arguments. Raises `NotUnderstood`."""
    run = "__import__('asyncio').run({})" if isinstance(test, ast.AsyncFunctionDef) else "{}"
    if owner is None:
        return [], run.format(f"{test.name}(...)")
    defined = [n for one in family for n in one.body if isinstance(n, _TestFunction)]
    if any("TestCase" in ast.unparse(base) for one in family for base in one.bases):
        if len(test.args.args) > 1:
            raise NotUnderstood("a unittest method with parameters")
        hooked = any(node.name == "setUpClass" for node in defined)
        set_up = [f"{owner.name}.setUpClass()"] if hooked else []
        return set_up, f"{owner.name}({test.name!r}).debug()"
    if any(_is_automatic(node) for node in defined):
        raise NotUnderstood("a class that a fixture sets up")
    hooks = {node.name: node for node in defined if node.name in _HOOKS}
    if not hooks:
        return [], run.format(f"{owner.name}().{test.name}(...)")
    if any(len(node.args.args) > 1 for node in hooks.values()):
        raise NotUnderstood("a class whose set-up asks for the test")
    first = [f"{owner.name}.setup_class()"] if "setup_class" in hooks else []
    each = [f"{_CASE}.{name}()" for name in ("setup_method", "setup") if name in hooks]
    return [*first, f"{_CASE} = {owner.name}()", *each], run.format(f"{_CASE}.{test.name}(...)")


_HOOKS = ("setup_class", "setup_method", "setup")
_CASE = "test_case"


def _plain(node: _TestFunction) -> _TestFunction:
    """The function without what only pytest reads.

    Raises `NotUnderstood` where that changes its meaning.
    """
    kept = []
    for decorator in node.decorator_list:
        source = ast.unparse(decorator)
        name = source.partition("(")[0].rpartition(".")[2]
        _check_mark(source)
        if not (source.startswith(("pytest.", "mark.")) or name == "fixture"):
            kept.append(decorator)
    arguments = ast.arguments(
        node.args.posonlyargs, [ast.arg(a.arg) for a in node.args.args], node.args.vararg,
        node.args.kwonlyargs, node.args.kw_defaults, node.args.kwarg, node.args.defaults,
    )  # fmt: skip
    plain = type(node)(node.name, arguments, node.body, kept, None)
    return ast.copy_location(ast.fix_missing_locations(plain), node)


def _check_mark(source: str) -> None:
    """Raises `NotUnderstood` where a mark says that the test is not to run, or not to pass."""
    for name in ("skip", "skipif", "xfail"):
        if f"mark.{name}" in source or source.partition("(")[0].rpartition(".")[2] == name:
            raise NotUnderstood(f"is marked {name}")


def _class_with(owner: ast.ClassDef, test: _TestFunction) -> ast.ClassDef:
    """The class with this one of its tests."""
    body: list[ast.stmt] = []
    for node in owner.body:
        if isinstance(node, _TestFunction):
            if node is test:
                body.append(_plain(node))
            elif not node.name.startswith("test"):
                body.append(node)
        else:
            body.append(node)
    marks = [d for d in owner.decorator_list if not ast.unparse(d).startswith(("pytest.", "mark."))]
    if any("skip" in ast.unparse(d) for d in owner.decorator_list):
        raise NotUnderstood("is marked skip")
    shortened = ast.ClassDef(owner.name, owner.bases, owner.keywords, body, marks)
    return ast.copy_location(ast.fix_missing_locations(shortened), owner)


def _table(
    test: _TestFunction, literal: Callable[[ast.expr], ast.expr]
) -> tuple[list[Mapping[str, ast.expr]], tuple[list[str], ast.expr] | None]:
    """The rows of its `parametrize`, one empty row without; or (loop's targets, their source).

    Raises `NotUnderstood`."""
    tables = [
        node
        for node in test.decorator_list
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize")
    ]
    read = [_one_table(node, literal) for node in tables]
    if len(read) == 1 and read[0][1] is not None:
        return read[0]
    if any(loop is not None for _, loop in read):
        raise NotUnderstood("more than one table, not all written out")
    if prod(len(rows) for rows, _ in read) > MOST_ROWS:
        raise NotUnderstood("tables of too many rows")
    chosen = product(*(rows for rows, _ in reversed(read)))  # pytest's order
    return [{k: v for row in rows for k, v in row.items()} for rows in chosen], None


def _one_table(
    table: ast.Call, literal: Callable[[ast.expr], ast.expr]
) -> tuple[list[Mapping[str, ast.expr]], tuple[list[str], ast.expr] | None]:
    names, single = parameter_names(table)
    values = literal(table.args[1])
    if not isinstance(values, ast.List | ast.Tuple) or len(values.elts) > MOST_ROWS:
        return [], (names if single or len(names) > 1 else [f"{names[0]},"], table.args[1])
    rows = (row_values(row, names, single=single) for row in values.elts)
    return [row for row in rows if row is not None], None


def _asserts(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Assert) for one in ast.walk(node))


def _is_fixture(node: ast.expr) -> bool:
    return ast.unparse(node).partition("(")[0].rpartition(".")[2] == "fixture"


def _is_automatic(node: _TestFunction) -> bool:
    """Whether it is a fixture that every test gets."""
    return any(
        isinstance(one, ast.Call)
        and _is_fixture(one)
        and any(k.arg == "autouse" and ast.unparse(k.value) == "True" for k in one.keywords)
        for one in node.decorator_list
    )


def _has_params(node: _TestFunction) -> bool:
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    return any(k.arg in ("params", "name") for call in calls for k in call.keywords)
