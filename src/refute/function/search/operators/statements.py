"""Operators on statements: deleted, moved, swapped, guarded, inserted.

Each yields `(kind, changes, extra, statements it happens in)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import Change, copy_of
from refute.function.search.facts import Facts
from refute.function.search.fuel import is_mark
from refute.function.search.operators.algebra import ARITHMETIC
from refute.function.search.operators.build import binary, call, compare, const, load, negated
from refute.function.search.operators.insertions import (
    Draft,
    clamps,
    counts,
    guards,
    is_docstring,
    store,
    updates,
)
from refute.function.search.sites import Context

__all__ = ["statements", "swapped_returns"]


def statements(
    owner: ast.AST, field: str, body: list[ast.stmt], context: Context, facts: Facts
) -> Iterator[Draft]:
    """All edits of one list of statements."""
    real = [at for at, stmt in enumerate(body) if not is_mark(stmt) and not is_docstring(stmt)]

    def new(items: list[ast.stmt]) -> tuple[Change, ...]:
        if not any(not is_mark(item) for item in items):
            if field == "body":
                items = [*items, ast.Pass()]
            elif field == "orelse":
                items = []
        return (Change(owner, field, None, items),)

    for order, at in enumerate(real):
        stmt = body[at]
        before, after = body[:at], body[at + 1 :]
        if not isinstance(stmt, ast.FunctionDef):
            kind = "drop check" if _refuses(stmt) else "delete"
            yield kind, new([*before, *after]), _deletion(stmt), (stmt,)
        if order + 1 < len(real):
            second = body[real[order + 1]]
            pair = (stmt, second)
            flat = not any(isinstance(s, ast.FunctionDef | ast.Return) for s in pair)
            if flat:
                yield "delete two", new([*before, *body[real[order + 1] + 1 :]]), 0.0, (stmt,)
            if not isinstance(stmt, ast.FunctionDef | ast.Return):
                rest = body[real[order + 1] + 1 :]
                yield "reorder", new([*before, second, stmt, *rest]), 0.0, pair
        for kind, items, extra in _rewritten(stmt, context, facts):
            yield kind, new([*before, *items, *after]), extra, (stmt,)
        # A statement at the end of a block that belongs after it, and the reverse.
        for name in ("body", "orelse"):
            inner = getattr(stmt, name, None)
            if not isinstance(inner, list) or not inner or isinstance(stmt, ast.FunctionDef):
                continue
            for last, moved in _tails(stmt, name, inner):
                yield "dedent", (moved, *new([*before, stmt, last, *after])), 0.0, (last, stmt)
            if name == "orelse" and isinstance(stmt, ast.For | ast.While):
                flat_changes = Change(stmt, "orelse", None, [])
                yield "dedent", (flat_changes, *new([*before, stmt, *inner, *after])), 0.4, (stmt,)
            if order + 1 < len(real) and not isinstance(stmt, ast.FunctionDef):
                follower = body[real[order + 1]]
                taken = Change(stmt, name, None, [*inner, follower])
                rest = body[real[order + 1] + 1 :]
                changes = (taken, *new([*before, stmt, *rest]))
                yield "indent", changes, 0.0, (stmt, follower)
        if isinstance(stmt, ast.For | ast.While):
            # An assignment just before a loop that belongs into it, and the reverse.
            if order and isinstance(body[real[order - 1]], ast.Assign):
                first = body[real[order - 1]]
                into = Change(stmt, "body", None, [*stmt.body[:1], first, *stmt.body[1:]])
                outer = [*body[: real[order - 1]], stmt, *after]
                yield "into loop", (into, *new(outer)), 0.0, (first, stmt)
            head = next((s for s in stmt.body if not is_mark(s)), None)
            if isinstance(head, ast.Assign) and len(stmt.body) > 2:
                less = [s for s in stmt.body if s is not head]
                out = Change(stmt, "body", None, less)
                yield "out of loop", (out, *new([*before, head, stmt, *after])), 0.0, (stmt,)
            yield from updates(stmt, context)
            yield from clamps(stmt)
    if context.loops and not isinstance(body[-1], ast.Return | ast.Break | ast.Continue):
        tail = body[real[-1]] if real else None
        if tail is not None:
            yield "insert break", new([*body, ast.Break()]), 0.0, (tail,)
            yield "insert break", new([*body, ast.Continue()]), -1.0, (tail,)


def _tails(stmt: ast.stmt, name: str, inner: list[ast.stmt]) -> Iterator[tuple[ast.stmt, Change]]:
    """The last statement of a block, and of the branches of an `elif` there: it, without it."""
    last, kept = inner[-1], inner[:-1]
    if not isinstance(last, ast.stmt) or is_mark(last):
        return
    if not any(not is_mark(item) for item in kept):
        kept = [*kept, ast.Pass()] if name == "body" else []
    yield last, Change(stmt, name, None, kept)
    if name == "orelse" and isinstance(stmt, ast.If) and isinstance(last, ast.If):
        yield from _tails(last, "body", last.body)
        if last.orelse:
            yield from _tails(last, "orelse", last.orelse)


def _refuses(stmt: ast.stmt) -> bool:
    """Whether the statement does no more than reject some arguments, or answer with a complaint."""
    if not isinstance(stmt, ast.If) or stmt.orelse:
        return False
    return all(
        is_mark(inner)
        or isinstance(inner, ast.Raise)
        or (isinstance(inner, ast.Return) and _is_sentence(inner.value))
        for inner in stmt.body
    )


def _is_sentence(node: ast.expr | None) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and " " in text.strip()


def _deletion(stmt: ast.stmt) -> float:
    if isinstance(stmt, ast.Return):
        return -1.0
    if isinstance(stmt, ast.For | ast.While | ast.With):
        return -1.5
    if isinstance(stmt, ast.Break | ast.Continue):
        return 0.5
    return 0.0


def _rewritten(
    stmt: ast.stmt, context: Context, facts: Facts
) -> Iterator[tuple[str, list[ast.stmt], float]]:
    """A statement become others."""
    match stmt:
        case ast.If(test=test, body=body, orelse=orelse):
            yield "unguard", list(body), 0.0
            if orelse:
                if not (len(orelse) == 1 and isinstance(orelse[0], ast.If)):
                    yield "swap branches", [ast.If(test=test, body=orelse, orelse=body)], 0.0
                yield "unguard", list(orelse), -0.7
                yield "drop else", [ast.If(test=test, body=body, orelse=[])], 0.0
                flat = [ast.If(test=test, body=body, orelse=[]), *orelse]
                yield "elif to if", flat, 0.0
            loop = ast.While(test=test, body=body, orelse=[])
            if not orelse and not any(isinstance(s, ast.Return) for s in body):
                yield "if to while", [loop], 0.0
        case ast.While(test=test, body=body) if len(body) > 1:
            yield "while to if", [ast.If(test=test, body=body[1:], orelse=[])], 0.0
        case ast.Break():
            yield "break", [ast.Continue()], 0.0
            for value in _results(context):
                yield "break to return", [ast.Return(value=value)], 0.0
        case ast.Continue():
            yield "break", [ast.Break()], 0.0
        case ast.Pass():
            yield "break", [ast.Continue()], 0.0
        case ast.AugAssign(target=target, op=op, value=value):
            for other, extra in ARITHMETIC.get(type(op), ()):
                new = ast.AugAssign(target=target, op=other(), value=value)
                yield "augmented", [new], extra
            if isinstance(op, ast.Add) and isinstance(value, ast.Constant) and value.value == 1:
                yield from counts(target, context, facts)
            if isinstance(target, ast.Name):
                plain = ast.Assign(targets=[target], value=value)
                yield "augmented to plain", [plain], 0.0
                if isinstance(op, ast.Add):
                    before = binary(value, op, load(target.id))
                    yield "prepend", [ast.Assign(targets=[target], value=before)], 0.0
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
            if name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
                pass
            elif context.loops or facts.used.get(name, 0):
                new = ast.AugAssign(target=target, op=ast.Add(), value=value)
                inside = 0.0 if context.loops else -1.5
                yield "plain to augmented", [new], inside
                if context.loops:
                    for function in ("max", "min"):
                        best = call(function, load(name), value)
                        yield "keep best", [ast.Assign(targets=[target], value=best)], 0.0
        case ast.Return(value=value):
            if value is not None and isinstance(value, ast.expr) and _is_condition(value):
                yield "negate return", [ast.Return(value=negated(value))], 0.0
            for result in _results(context):
                if not (isinstance(value, ast.Name) and value.id == getattr(result, "id", "")):
                    yield "return other", [ast.Return(value=result)], 0.0
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) as c):
            if attr in ("append", "add") and len(c.args) == 1:
                member = compare(c.args[0], ast.NotIn(), load(name))
                yield "guard", [ast.If(test=member, body=[stmt], orelse=[])], 0.5
            if attr not in ("append", "add", "extend", "sort", "reverse", "insert", "update"):
                yield "keep result", [ast.Assign(targets=[store(name)], value=c)], 0.0
        case ast.Expr(value=value) if isinstance(value, ast.Call | ast.Compare | ast.BinOp):
            yield "missing return", [ast.Return(value=value)], 0.0
    if context.loops and isinstance(stmt, ast.Assign | ast.AugAssign | ast.Expr | ast.Return):
        yield from guards(stmt, context, facts)


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("any", "all", "bool", "isinstance")
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _results(context: Context) -> list[ast.expr]:
    return [const(True), const(False), const(0), *[load(name) for name in context.names[:5]]]


def swapped_returns(function: ast.FunctionDef) -> Iterator[Draft]:
    """Two constant results of a function exchanged, the classic inverted predicate."""
    returns = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    for i, a in enumerate(returns):
        for b in returns[i + 1 :]:
            assert a.value is not None
            assert b.value is not None
            if ast.dump(a.value) == ast.dump(b.value):
                continue
            changes = (
                Change(a, "value", None, copy_of(b.value)),
                Change(b, "value", None, copy_of(a.value)),
            )
            constants = isinstance(a.value, ast.Constant) and isinstance(b.value, ast.Constant)
            yield "swap returns", changes, 0.0 if constants else -1.0, (a, b)
