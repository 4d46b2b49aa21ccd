"""Statements that are missing: conditions around, updates in loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import Change
from refute.function.search.facts import CodeFacts
from refute.function.search.rules.rule import (
    Draft,
    Restated,
    binary,
    call,
    compare,
    const,
    load,
    negated,
    number,
    rule,
    states,
    store,
)  # fmt: skip
from refute.function.search.sites import Scope

__all__ = ["clamps", "is_docstring", "updates"]


_PAIR_TESTS: tuple[tuple[ast.cmpop, float], ...] = (
    (ast.Eq(), 0.3), (ast.NotEq(), 0.0), (ast.Lt(), -0.3), (ast.Gt(), -0.3), (ast.NotIn(), -0.5),
)  # fmt: skip
_ZERO_TESTS: tuple[tuple[ast.cmpop, float], ...] = (
    (ast.Gt(), 0.0), (ast.GtE(), -0.5), (ast.Lt(), -0.5), (ast.NotEq(), -0.3),
)  # fmt: skip


rule("guard", 0.12, "n = 0\nfor x in items:\n    n += x\nreturn n",
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
            both = {facts.types.get(a, "?"), facts.types.get(b, "?")} - {"?"}
            if len(both) > 1:
                continue
            for op, extra in _PAIR_TESTS:
                test = compare(load(a), op, load(b))
                tests.append((test, extra))
        for op, extra in _ZERO_TESTS:
            if facts.types.get(a, "?") in ("?", "int", "num"):
                zero = compare(load(a), op, const(0))
                tests.append((zero, extra - 0.3))
        for rest in (0, 1):
            if facts.types.get(a, "?") in ("?", "int", "num"):
                left = binary(load(a), ast.Mod(), const(2))
                parity = compare(left, ast.Eq(), const(rest))
                tests.append((parity, 0.0))
    for condition, extra in tests:
        yield "guard", [ast.If(test=condition, body=[stmt], orelse=[])], extra


rule("insert update", 0.1, "while a > 0:\n    b += 1\nreturn b",
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


rule("clamp", 0.06, "n = 0\nfor x in items:\n    n += x\n    b = n\nreturn b",
    "n = 0\nfor x in items:\n    n += x\n    n = max(n, 0)\n    b = n\nreturn b")  # fmt: skip


def clamps(loop: ast.For | ast.While) -> Iterator[Draft]:
    """A missing floor of an accumulator in a loop: `total = max(total, 0)`."""
    added = [
        node.target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    ]
    for name in dict.fromkeys(added):
        for place, items in enumerate(([*loop.body], [*loop.body])):
            floor = call("max", load(name), const(0))
            clamp = ast.Assign(targets=[store(name)], value=floor)
            if place == 0:
                items.append(clamp)
            else:
                after = next((i for i, s in enumerate(items) if _adds(s, name)), None)
                if after is None or after == len(loop.body) - 1:
                    continue
                items.insert(after + 1, clamp)
            yield "clamp", (Change(loop, "body", None, items),), 0.0, (loop,)


def _adds(stmt: ast.stmt, name: str) -> bool:
    return (
        isinstance(stmt, ast.AugAssign)
        and isinstance(stmt.target, ast.Name)
        and stmt.target.id == name
    )


def is_docstring(stmt: ast.stmt) -> bool:
    """Return whether the statement is a text that stands alone."""
    return (
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Constant)
        and isinstance(stmt.value.value, str)
    )
