"""Rules for statements: another in the place of one, left out, moved, or missing (conditions
around, updates in loops)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import Change, copy_of
from refute.function.search.facts import CodeFacts
from refute.function.search.fuel import is_mark
from refute.function.search.rules.operators import ARITHMETIC
from refute.function.search.rules.rule import (
    Draft,
    Restated,
    binary,
    compare,
    const,
    load,
    negated,
    number,
    restated,
    rewritten,
    rule,
    states,
    store,
)  # fmt: skip  # fmt: skip
from refute.function.search.sites import Scope

_PAIR_TESTS: tuple[tuple[ast.cmpop, float], ...] = (
    (ast.Eq(), 0.3), (ast.NotEq(), 0.0), (ast.Lt(), -0.3), (ast.Gt(), -0.3), (ast.NotIn(), -0.5),
)  # fmt: skip
_ZERO_TESTS: tuple[tuple[ast.cmpop, float], ...] = (
    (ast.Gt(), 0.0), (ast.GtE(), -0.5), (ast.Lt(), -0.5), (ast.NotEq(), -0.3),
)  # fmt: skip


rule("guard", "n = 0\nfor x in items:\n    n += x\nreturn n",
    "n = 0\nfor x in items:\n    if x > 0:\n        n += x\nreturn n")  # fmt: skip


@states(ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
def guards(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """A condition on loop variables around a statement inside a loop."""
    if not context.loops:
        return
    tests: list[tuple[ast.expr, float]] = [(atom, 0.0) for atom in facts.atoms[:6]]
    tests += [(negated(atom), -0.5) for atom in facts.atoms[:6]]
    fresh = [name for name in context.names if name in context.fresh]
    others = [name for name in context.names if name not in context.fresh][:4]
    for i, a in enumerate(fresh):
        for b in (*fresh[i + 1 :], *others):
            tests += [(compare(load(a), op, load(b)), extra) for op, extra in _PAIR_TESTS]
        tests += [(compare(load(a), op, const(0)), extra - 0.3) for op, extra in _ZERO_TESTS]
        half = binary(load(a), ast.Mod(), const(2))
        tests += [(compare(half, ast.Eq(), const(rest)), 0.0) for rest in (0, 1)]
    for condition, extra in tests:
        yield "guard", [ast.If(test=condition, body=[stmt], orelse=[])], extra


rule("insert update", "while a > 0:\n    b += 1\nreturn b",
    "while a > 0:\n    b += 1\n    a -= 1\nreturn b")  # fmt: skip


def updates(loop: ast.For | ast.While, context: Scope) -> Iterator[Draft]:
    """A missing update of a variable in a loop: `n += 1`, `n -= 1`, `n //= 10`."""
    assigned = {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    tested: list[str] = []
    if isinstance(loop, ast.While):
        tested = [n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)]
    leaves = any(isinstance(node, ast.Break | ast.Return | ast.Raise) for node in ast.walk(loop))
    endless = bool(tested) and not leaves and assigned.isdisjoint(tested)
    nested = [
        n.id
        for inner in ast.walk(loop)
        if isinstance(inner, ast.While) and inner is not loop
        for n in ast.walk(inner.test)
        if isinstance(n, ast.Name)
    ]
    local = [name for name in context.names if name not in context.fresh]
    for name in dict.fromkeys((*tested, *nested, *local[:5])):
        missing = 0.0 if name in tested and name not in assigned else -1.0
        if name in tested and name in assigned:
            missing = -1.5
        for op, value in (
            (ast.Add(), 1), (ast.Sub(), 1), (ast.FloorDiv(), 10), (ast.FloorDiv(), 2),
        ):  # fmt: skip
            if isinstance(op, ast.FloorDiv) and name not in tested:
                continue
            update = ast.AugAssign(target=store(name), op=op, value=number(value))
            changes = (Change(loop, "body", None, [*loop.body, update]),)
            yield "insert update", changes, missing + (endless and name in tested), (loop,)


def is_docstring(stmt: ast.stmt) -> bool:
    """Return whether the statement is a text that stands alone."""
    return (
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Constant)
        and isinstance(stmt.value.value, str)
    )


__all__ = ["is_docstring", "statements", "swapped_returns", "updates"]

# -- another statement in the place of one ---------------------------------------------------------


def _has_else(stmt: ast.stmt) -> bool:
    """Return whether the other branch is not an `elif`."""
    orelse: list[ast.stmt] = getattr(stmt, "orelse", [])
    return not (len(orelse) == 1 and isinstance(orelse[0], ast.If))


def _method(stmt: ast.stmt) -> str:
    """The method of a variable that a statement calls."""
    func = getattr(getattr(stmt, "value", None), "func", None)
    return func.attr if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) else ""


def _is_idle(stmt: ast.stmt) -> bool:
    """Return whether a value is computed and not used; a method call on a variable is a use."""
    value = getattr(stmt, "value", None)
    return isinstance(value, ast.Call | ast.Compare | ast.BinOp) and not _method(stmt)


_GUARDED = "if a:\n    b = 1\nreturn b"
_CHOICE = "if a:\n    b = 1\nelse:\n    b = 2\nreturn b"

rule("unguard", _GUARDED, "b = 1\nreturn b", _CHOICE, "b = 2\nreturn b", few=True)
rewritten("unguard", "if T: B", "B")
rewritten("unguard", "if T: B\nelse: E", "B")
rewritten("swap branches", "if T: B\nelse: E", "if T: E\nelse: B", when=_has_else)
rewritten("unguard", "if T: B\nelse: E", "E", extra=-0.7)
rule("elif to if", "if a:\n    b = 1\nelif b:\n    b = 2\nreturn b",
    "if a:\n    b = 1\nif b:\n    b = 2\nreturn b", few=True)  # fmt: skip
rewritten("elif to if", "if T: B\nelse: E", "if T: B\nE")


_LOOP = "for x in items:\n    if x:\n        {}\nreturn a"
rule("break", _LOOP.format("break"), _LOOP.format("continue"))
rewritten("break", "break", "continue")
rewritten("break", "continue", "break")
rewritten("break", "pass", "continue")


rule("augmented", "a -= b\nreturn a", "a += b\nreturn a", few=True, ordered=True)


@states(ast.AugAssign)
def augmented(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """Another operator."""
    assert isinstance(stmt, ast.AugAssign)
    for other, extra in ARITHMETIC.get(type(stmt.op), ()):
        new = ast.AugAssign(target=stmt.target, op=other(), value=stmt.value)
        yield "augmented", [new], extra


rewritten("guard", "V.M(A)", "if A not in V: V.M(A)", extra=0.5,
          when=lambda stmt: _method(stmt) in ("append", "add"))  # fmt: skip
rule("missing return", "len(items)", "return len(items)")
rewritten("missing return", "V", "return V", when=_is_idle)
# -- left out, moved -------------------------------------------------------------------------------

rule("delete", "items.sort()\nreturn items", "return items")
rule("drop check", "if not items:\n    raise ValueError('none')\nreturn items", "return items")
rule("dedent", "for x in items:\n    a += x\n    return a",
    "for x in items:\n    a += x\nreturn a", few=True)  # fmt: skip
rule("indent", "for x in items:\n    a += x\nb += 1\nreturn b",
    "for x in items:\n    a += x\n    b += 1\nreturn b", few=True)  # fmt: skip


def statements(
    owner: ast.AST, field: str, body: list[ast.stmt], context: Scope, facts: CodeFacts
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
        for kind, items, extra in restated(stmt, context, facts):
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
            yield from updates(stmt, context)


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
    """Return whether the statement only rejects some arguments, or returns a complaint."""
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


rule("swap returns", "if a:\n    return True\nreturn False",
    "if a:\n    return False\nreturn True", few=True)  # fmt: skip


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
