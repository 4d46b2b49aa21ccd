"""Test files and documents as sessions: for each test the steps that lead to it, in order.

A session of a test holds its module's statements, those of its class and `setUp`, of the fixtures
that it asks for, and its own; rows of `parametrize` make one session each.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from refute.function.scenarios.carving.fixtures import MOST_ROWS, fixture_steps, table_of
from refute.function.scenarios.carving.places import Package, imports_of
from refute.function.scenarios.carving.steps import (
    Step,
    as_lambda,
    assignment,
    flattened,
    identifiers,
    step_of,
    substituted,
    untested,
)
from refute.function.scenarios.carving.testfiles import TestFile, is_test
from refute.function.scenarios.carving.trees import clone, statements_of, walk
from refute.source.syntax import Function

_SET_UP = ("setUpClass", "setup_class", "setup_method", "setup", "setUp", "asyncSetUp")


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
    top = [node for node in file.tree.body if not is_test(node)]
    before = list(flattened(top, file.names))
    mentioned = {name for step in before for one in step.looked for name in identifiers(one)}
    if words & mentioned:
        yield before
    prefix = [untested(step) for step in before]
    yield from _tests(file.tree.body, file, shared, package, words, prefix)


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
                assign = assignment(f"self.{getattr(member, 'name', '')}", made)
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
        table_of(one, file.tree, members)
        for one in (*node.decorator_list, *_class_marks(node, file.tree))
    ]
    rows = [dict(pair for row in rows for pair in row.items()) for rows in
            islice(product(*(table for table in tables if table)), MOST_ROWS)] or [{}]  # fmt: skip
    needed = [name for name in asked if name not in rows[0]]
    for prelude in fixture_steps(needed, file, shared, package, set()):
        for row in rows:
            small = {k: v for k, v in row.items() if len(ast.unparse(v)) <= 200}
            given = [step_of(assignment(k, v), names, tested=False)
                     for k, v in row.items() if k not in small]  # fmt: skip
            stored = {n.id for n in walk(own)
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
            given += [step_of(assignment(k, v), names, tested=False)
                      for k, v in small.items() if k in stored]  # fmt: skip
            small = {k: v for k, v in small.items() if k not in stored}
            body = [substituted(one, small) for one in own.body]
            statements = [one for one in body if isinstance(one, ast.stmt)]
            whole = [*prefix, *prelude, *before, *given, *flattened(statements, names)]
            yield whole
            for inner in statements_of(*statements):
                if isinstance(inner, Function):
                    yield [*map(untested, whole), *_inside(inner, names)]


def _inside(node: Function, names: Mapping[str, str]) -> Iterator[Step]:
    """The steps of a function that a test defines; what it is given is not known."""
    given = {one.arg for one in walk(node.args) if isinstance(one, ast.arg)}
    problem = "a parameter of a function of the test"
    yield Step(None, (), names, False, frozenset(given), problem=problem)
    yield from flattened(node.body, names)


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
                for one in walk(member) if inner else ():
                    if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
                        self.known |= {one.attr} if _is_self(one.value) else set()
            elif isinstance(member, ast.Assign | ast.AnnAssign):
                targets = member.targets if isinstance(member, ast.Assign) else [member.target]
                self.known |= {one.id for one in targets if isinstance(one, ast.Name)}
        used = {one.id for one in walk(test) if isinstance(one, ast.Name)}
        self.taken = used | set(names) | set(dir(builtins))

    def of(self, node: ast.stmt) -> ast.stmt:
        changed = self.visit(clone(node))
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


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _class_marks(node: Function, tree: ast.Module) -> list[ast.expr]:
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and node in one.body:
            return one.decorator_list
    return []
