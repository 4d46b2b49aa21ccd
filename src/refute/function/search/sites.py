"""Places where edits can happen: every expression and statement with its surroundings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from refute.function.search.edit import Change
from refute.function.search.fuel import is_mark

__all__ = ["Scope", "Site", "expressions", "statement_lists"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Scope:
    """Surroundings of a site; all sites of a statement share one object."""

    function: FunctionNode | None
    stmt: ast.stmt | None
    names: tuple[str, ...]
    """Variables in scope, nearest first."""
    loops: tuple[ast.stmt, ...] = ()
    fresh: frozenset[str] = frozenset()
    """Variables bound by the enclosing comprehensions and loops."""


@dataclass(slots=True)
class Site:
    """One expression and the place it stands in."""

    owner: ast.AST
    field: str
    index: int | None
    node: ast.expr
    context: Scope
    parents: tuple[ast.AST, ...] = ()
    """Nodes from the statement's expression down to the owner."""

    def change(self, new: object) -> Change:
        """The change that puts `new` in the place of the expression."""
        return Change(self.owner, self.field, self.index, new)

    @property
    def is_test(self) -> bool:
        """Return whether only the truth of the expression matters."""
        if self.field == "test" or self.field == "ifs":
            return True
        if isinstance(self.owner, ast.UnaryOp):
            return isinstance(self.owner.op, ast.Not)
        if isinstance(self.owner, ast.BoolOp):
            return any(
                isinstance(parent, ast.If | ast.While | ast.IfExp | ast.comprehension)
                for parent in self.parents[-2:]
            )
        return False


class _Scope:
    """The names of one function, looked up often."""

    def __init__(self, function: FunctionNode | ast.Module, outer: tuple[str, ...]) -> None:
        self.function = function
        self.outer = outer

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        if isinstance(self.function, ast.Module):
            return ()
        a = self.function.args
        every = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
        return tuple(arg.arg for arg in every if arg is not None)

    @cached_property
    def assigned(self) -> dict[str, list[int]]:
        """Variable -> lines where it is bound (comprehension variables excluded)."""
        found: dict[str, list[int]] = {}
        inner: set[int] = set()
        for node in _own(self.function):
            if isinstance(node, ast.comprehension):
                inner.update(id(name) for name in ast.walk(node.target))
            elif (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and id(node) not in inner
            ):
                found.setdefault(node.id, []).append(node.lineno)
        return found

    def names(self, near: ast.AST, fresh: tuple[str, ...]) -> tuple[str, ...]:
        line = getattr(near, "lineno", 0)

        def distance(name: str) -> tuple[int, int]:
            lines = self.assigned[name]
            before = [line - at for at in lines if at <= line]
            return (0, min(before)) if before else (1, min(lines) - line)

        local = sorted(self.assigned, key=distance)
        return tuple(dict.fromkeys((*fresh, *local, *self.parameters, *self.outer)))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it, in source order."""
    waiting = list(ast.iter_child_nodes(function))[::-1]
    while waiting:  # no recursion: a sum of 900 terms is 900 deep
        child = waiting.pop()
        yield child
        if not isinstance(child, FunctionNode | ast.Lambda | ast.ClassDef):
            waiting += list(ast.iter_child_nodes(child))[::-1]


def _target_names(target: ast.AST) -> tuple[str, ...]:
    return tuple(node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def expressions(tree: ast.Module, whole: ast.Module | None = None) -> Iterator[Site]:
    """Every expression of the functions of `tree`, and of the values of its global variables.

    `whole`: what `tree` is a part of.
    """
    outer = tuple(_Scope(whole or tree, ()).assigned)
    for stmt in tree.body:
        if isinstance(stmt, ast.Assign | ast.AnnAssign) and stmt.value is not None:
            context = Scope(None, None, outer)
            yield from _expression(stmt, "value", None, stmt.value, context, (), None)
        else:
            yield from _functions(stmt, outer)


def _functions(node: ast.AST, outer: tuple[str, ...]) -> Iterator[Site]:
    if isinstance(node, FunctionNode):
        scope = _Scope(node, outer)
        for owner_field in ("defaults", "kw_defaults"):
            for index, default in enumerate(getattr(node.args, owner_field)):
                if default is not None:
                    context = Scope(node, None, outer)
                    yield from _expression(
                        node.args, owner_field, index, default, context, (), None
                    )
        yield from _body(node.body, scope, (), ())
    elif isinstance(node, ast.ClassDef):
        for child in node.body:
            yield from _functions(child, outer)


def _body(
    body: list[ast.stmt], scope: _Scope, loops: tuple[ast.stmt, ...], fresh: tuple[str, ...]
) -> Iterator[Site]:
    function = scope.function
    assert not isinstance(function, ast.Module)
    for place, stmt in enumerate(body):
        if is_mark(stmt):
            continue
        if isinstance(stmt, FunctionNode | ast.ClassDef):
            inner = tuple(dict.fromkeys((*scope.assigned, *scope.parameters, *scope.outer)))
            yield from _functions(stmt, inner)
            continue
        if place == 0 and isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
            continue
        names = scope.names(stmt, fresh)
        context = Scope(function, stmt, names, loops, frozenset(fresh))
        for name, value in ast.iter_fields(stmt):
            if name == "annotation":
                continue
            items = value if isinstance(value, list) else [value]
            for index, item in enumerate(items):
                where = index if isinstance(value, list) else None
                if isinstance(item, ast.expr):
                    yield from _expression(stmt, name, where, item, context, (), scope)
                elif isinstance(item, ast.withitem):
                    opened = item.context_expr
                    yield from _expression(item, "context_expr", None, opened, context, (), scope)
                elif isinstance(item, ast.ExceptHandler) and item.type is not None:
                    yield from _expression(item, "type", None, item.type, context, (), scope)
        inside, inner_fresh = loops, fresh
        if isinstance(stmt, ast.For | ast.While | ast.AsyncFor):
            inside = (*loops, stmt)
            if not isinstance(stmt, ast.While):
                inner_fresh = (*_target_names(stmt.target), *fresh)
        for name in ("body", "orelse", "finalbody"):
            child = getattr(stmt, name, None)
            if isinstance(child, list):
                yield from _body(child, scope, inside, inner_fresh)
        for handler in getattr(stmt, "handlers", ()):
            yield from _body(handler.body, scope, inside, inner_fresh)


def _expression(
    owner: ast.AST,
    name: str,
    index: int | None,
    node: ast.expr,
    context: Scope,
    parents: tuple[ast.AST, ...],
    scope: _Scope | None,
) -> Iterator[Site]:
    if is_mark(node) or isinstance(node, ast.JoinedStr):
        return
    yield Site(owner, name, index, node, context, (*parents, owner))
    inner = context
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        bound = tuple(n for g in node.generators for n in _target_names(g.target))
        inner = _with(context, bound)
    elif isinstance(node, ast.Lambda):
        inner = _with(context, tuple(arg.arg for arg in node.args.args))
    for key, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        for at, item in enumerate(items):
            where = at if isinstance(value, list) else None
            if isinstance(item, ast.expr):
                yield from _expression(node, key, where, item, inner, (*parents, owner), scope)
            elif isinstance(item, ast.comprehension):
                above = (*parents, owner, node)
                yield from _expression(item, "iter", None, item.iter, inner, above, scope)
                for number, test in enumerate(item.ifs):
                    yield from _expression(item, "ifs", number, test, inner, above, scope)
            elif isinstance(item, ast.keyword):
                above = (*parents, owner, node)
                yield from _expression(item, "value", None, item.value, inner, above, scope)


def _with(context: Scope, bound: tuple[str, ...]) -> Scope:
    names = tuple(dict.fromkeys((*bound, *context.names)))
    return Scope(
        context.function, context.stmt, names, context.loops, context.fresh | frozenset(bound)
    )


def statement_lists(
    tree: ast.Module, whole: ast.Module
) -> Iterator[tuple[ast.AST, str, list[ast.stmt], Scope]]:
    """Every list of statements inside a function: owner, field, the list, context of its owner.

    `whole`: what `tree` is a part of.
    """

    def visit(
        owner: ast.AST,
        scope: _Scope,
        loops: tuple[ast.stmt, ...],
        fresh: tuple[str, ...],
        around: ast.stmt | None = None,
    ) -> Iterator[tuple[ast.AST, str, list[ast.stmt], Scope]]:
        function = scope.function
        assert not isinstance(function, ast.Module)
        if isinstance(owner, ast.For | ast.While | ast.AsyncFor):
            loops = (*loops, owner)
            if not isinstance(owner, ast.While):
                fresh = (*_target_names(owner.target), *fresh)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(owner, name, None)
            if not isinstance(body, list) or not body or isinstance(body[0], ast.expr):
                continue
            stmt = owner if isinstance(owner, ast.stmt) and owner is not function else around
            names = scope.names(body[-1], fresh)
            yield owner, name, body, Scope(function, stmt, names, loops, frozenset(fresh))
            for child in body:
                if isinstance(child, FunctionNode):
                    inner = (*scope.assigned, *scope.parameters, *scope.outer)
                    yield from visit(child, _Scope(child, tuple(dict.fromkeys(inner))), (), ())
                elif not is_mark(child):
                    yield from visit(child, scope, loops, fresh)
                    for handler in getattr(child, "handlers", ()):
                        yield from visit(handler, scope, loops, fresh, child)

    outer = tuple(_Scope(whole, ()).assigned)
    for stmt in tree.body:
        members = stmt.body if isinstance(stmt, ast.ClassDef) else [stmt]
        for member in members:
            if isinstance(member, FunctionNode):
                yield from visit(member, _Scope(member, outer), (), ())
