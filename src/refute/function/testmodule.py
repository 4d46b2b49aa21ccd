"""Whole tests of a pytest or unittest file as sessions: what they need of it, then the call.

Where `pytests` reads single checks, this carries a test along as it stands: imports, helpers,
constants and fixtures of its file that it names, its rows of `parametrize`, its class. Nothing is
executed here; the sandbox runs it, and a test that fails for want of something of its own is not
believed (`verified`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from refute.problems import Session
from refute.syntax import parse_module

__all__ = ["Whole", "whole_tests"]

MOST_ROWS = 60
"""Rows of a literal table that become tests of their own; a longer table is looped over."""

_TestFunction = ast.FunctionDef
_BUILT_IN = {
    "tmp_path": "__import__('pathlib').Path(__import__('tempfile').mkdtemp())",
    "tmpdir": "__import__('tempfile').mkdtemp()",
}


@dataclass(frozen=True, slots=True)
class Whole:
    """A test function of the file, or one row of it."""

    session: Session
    name: str
    first: int
    last: int
    """Lines of the test function, its decorators included."""


class _Odd(Exception):
    """This test needs something that is not carried along; the message says what."""


def whole_tests(text: str, entry_point: str) -> tuple[list[Whole], list[tuple[int, int, str]]]:
    """The tests that name the function, and (first line, last line, reason) of those left out.

    Raises SyntaxError.
    """
    tree = parse_module(text)
    top = _Top(tree, entry_point)
    found: list[Whole] = []
    odd: list[tuple[int, int, str]] = []
    for owner, test in _tests(tree):
        if not top.concerns(test):
            continue
        first = min([test.lineno, *(node.lineno for node in test.decorator_list)])
        last = test.end_lineno or test.lineno
        try:
            for session in top.sessions(owner, test):
                found.append(Whole(session, test.name, first, last))
        except _Odd as reason:
            odd.append((first, last, str(reason)))
    return found, odd


def _tests(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, _TestFunction]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test"):
                    yield node, inner


class _Top:
    """The top level of a test file: what each name there is bound by."""

    def __init__(self, tree: ast.Module, entry_point: str) -> None:
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
        self.binders: dict[str, list[int]] = {}
        for index, node in enumerate(self.statements):
            for name in _binds(node):
                self.binders.setdefault(name, []).append(index)

    def concerns(self, test: ast.AST) -> bool:
        """Whether the test names the function, itself or through what it uses of its file."""
        if self._names_it(test):
            return True
        return any(
            self._names_it(self.statements[index])
            for index in self.needed(_reads(test))
            if not isinstance(self.statements[index], ast.Import | ast.ImportFrom)
        )

    def _names_it(self, node: ast.AST) -> bool:
        aliases = {self.entry_point}
        for statement in self.statements:
            if isinstance(statement, ast.ImportFrom):
                aliases |= {
                    a.asname for a in statement.names if a.name == self.entry_point and a.asname
                }
        return any(
            (isinstance(one, ast.Name) and one.id in aliases)
            or (isinstance(one, ast.Attribute) and one.attr == self.entry_point)
            for one in ast.walk(node)
        )

    def needed(self, names: set[str]) -> list[int]:
        """The statements that bind these names, and what those need, in order."""
        wanted, chosen = set(names), set[int]()
        while True:
            new = {i for name in wanted for i in self.binders.get(name, ())} - chosen
            if not new:
                return sorted(chosen)
            chosen |= new
            wanted = {name for index in new for name in _reads(self._bare(index))}

    def _bare(self, index: int) -> ast.stmt:
        """The statement without what only pytest reads."""
        node = self.statements[index]
        fixture = isinstance(node, ast.FunctionDef) and node.name in self.fixtures
        return _plain(node) if fixture and isinstance(node, ast.FunctionDef) else node

    def sessions(self, owner: ast.ClassDef | None, test: _TestFunction) -> Iterator[Session]:
        """One for each row of the test's table, or one that loops over it. Raises `_Odd`."""
        rows, loop = _table(test)
        given = {name for row in rows[:1] for name in row}
        given |= {name.strip(",") for name in loop[0]} if loop else set()
        asked = test.args.args[: len(test.args.args) - len(test.args.defaults)]
        taken = [a.arg for a in asked if a.arg not in given and a.arg not in ("self", "cls")]
        fixtures = self._fixtures(taken)
        body = _plain(test) if owner is None else _class_with(owner, test)
        names = _reads(body) | {name for name, _ in fixtures}
        names |= {n for row in rows for value in row.values() for n in _reads(value)}
        names |= _reads(loop[1]) if loop else set()
        before = [self._carried(index) for index in self.needed(names) if not self._is_test(index)]
        before += [ast.unparse(body)]
        before += [f"{name} = {source}" for name, source in fixtures]
        named = [f"{name}={name}" for name in taken]
        head = _call(owner, test)
        for row in rows:
            arguments = [f"{name}={ast.unparse(value)}" for name, value in row.items()] + named
            yield _session(before, head.replace("...", ", ".join(arguments)))
        if loop:
            targets = ", ".join(loop[0])
            arguments = [f"{name}={name}" for name in targets.strip(",").split(", ")] + named
            call = head.replace("...", ", ".join(arguments))
            yield _session(before, f"for {targets} in {ast.unparse(loop[1])}:\n    {call}")

    def _is_test(self, index: int) -> bool:
        node = self.statements[index]
        return isinstance(node, ast.FunctionDef) and node.name.startswith("test")

    def _carried(self, index: int) -> str:
        node = self.statements[index]
        if isinstance(node, ast.ImportFrom) and node.level:
            raise _Odd("imports from its own package")
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
                raise _Odd(f"needs the fixture {name}")
            inner = [arg.arg for arg in node.args.args]
            for one in inner:
                need(one, (*way, name))
            call = f"{name}({', '.join(f'{one}={one}' for one in inner)})"
            yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(node))
            found[name] = f"next({call})" if yields else call

        for name in names:
            need(name, ())
        return list(found.items())


def _session(before: Sequence[str], last: str) -> Session:
    return Session(tuple(f"{source}\n" for source in (*before, last)))


def _call(owner: ast.ClassDef | None, test: _TestFunction) -> str:
    """Source that runs the test, with ``...`` for its arguments."""
    if owner is None:
        return f"{test.name}(...)"
    if any(ast.unparse(base).endswith("TestCase") for base in owner.bases):
        if len(test.args.args) > 1:
            raise _Odd("a unittest method with parameters")
        return f"{owner.name}({test.name!r}).debug()"
    if owner.bases or any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("setup") for node in owner.body
    ):
        raise _Odd("a class that is set up")
    return f"{owner.name}().{test.name}(...)"


def _plain(node: _TestFunction) -> _TestFunction:
    """The function without what only pytest reads. Raises `_Odd` where that changes its meaning."""
    kept = []
    for decorator in node.decorator_list:
        source = ast.unparse(decorator)
        name = source.partition("(")[0].rpartition(".")[2]
        if name in ("skip", "skipif", "xfail"):
            raise _Odd(f"is marked {name}")
        if not (source.startswith(("pytest.", "mark.")) or name == "fixture"):
            kept.append(decorator)
    arguments = ast.arguments(
        node.args.posonlyargs, [ast.arg(a.arg) for a in node.args.args], node.args.vararg,
        node.args.kwonlyargs, node.args.kw_defaults, node.args.kwarg, node.args.defaults,
    )  # fmt: skip
    plain = ast.FunctionDef(node.name, arguments, node.body, kept, None)
    return ast.copy_location(ast.fix_missing_locations(plain), node)


def _class_with(owner: ast.ClassDef, test: _TestFunction) -> ast.ClassDef:
    """The class with this one of its tests."""
    body: list[ast.stmt] = []
    for node in owner.body:
        if isinstance(node, ast.FunctionDef):
            if node is test:
                body.append(_plain(node))
            elif not node.name.startswith("test"):
                body.append(node)
        else:
            body.append(node)
    marks = [d for d in owner.decorator_list if not ast.unparse(d).startswith(("pytest.", "mark."))]
    if any("skip" in ast.unparse(d) for d in owner.decorator_list):
        raise _Odd("is marked skip")
    shortened = ast.ClassDef(owner.name, owner.bases, owner.keywords, body, marks)
    return ast.copy_location(ast.fix_missing_locations(shortened), owner)


def _table(
    test: _TestFunction,
) -> tuple[list[Mapping[str, ast.expr]], tuple[list[str], ast.expr] | None]:
    """The rows of its `parametrize`, one empty row without; or (loop's targets, their source)."""
    tables = [
        node
        for node in test.decorator_list
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize")
    ]
    if not tables:
        return [{}], None
    if len(tables) > 1 or len(tables[0].args) < 2:
        raise _Odd("more than one table")
    wanted, values = tables[0].args[:2]
    match wanted:
        case ast.Constant(value=str() as text):
            names = text.replace(",", " ").split()
            single = "," not in text
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            names = [str(one.value) for one in elts if isinstance(one, ast.Constant)]
            single = False
        case _:
            raise _Odd("a table without names")
    if not isinstance(values, ast.List | ast.Tuple) or len(values.elts) > MOST_ROWS:
        return [], (names if single or len(names) > 1 else [f"{names[0]},"], values)
    rows: list[Mapping[str, ast.expr]] = []
    for row in values.elts:
        cells = [row] if single else list(getattr(row, "elts", []))
        if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
            if any(k.arg == "marks" for k in row.keywords):
                continue
            cells = row.args
        if len(cells) != len(names):
            raise _Odd("a row of the table does not fit its names")
        rows.append(dict(zip(names, cells, strict=True)))
    return rows, None


def _is_fixture(node: ast.expr) -> bool:
    return ast.unparse(node).partition("(")[0].rpartition(".")[2] == "fixture"


def _has_params(node: _TestFunction) -> bool:
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    return any(k.arg in ("params", "name") for call in calls for k in call.keywords)


def _reads(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add((one.asname or one.name).partition(".")[0])
        elif isinstance(one, ast.FunctionDef | ast.ClassDef):
            found.add(one.name)
    return found
