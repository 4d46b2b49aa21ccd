"""Rules for statements: another in the place of one, left out, moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import Change, copy_of
from refute.function.search.facts import CodeFacts, type_of
from refute.function.search.fuel import is_mark
from refute.function.search.rules.insertions import clamps, is_docstring, updates
from refute.function.search.rules.operators import ARITHMETIC
from refute.function.search.rules.rule import (
    Draft,
    Restated,
    call,
    const,
    load,
    negated,
    restated,
    rewritten,
    rule,
    states,
    store,
)  # fmt: skip
from refute.function.search.sites import Scope

__all__ = ["statements", "swapped_returns"]

# -- another statement in the place of one ---------------------------------------------------------


def _has_else(stmt: ast.stmt) -> bool:
    """Whether the other branch is no `elif`."""
    orelse: list[ast.stmt] = getattr(stmt, "orelse", [])
    return not (len(orelse) == 1 and isinstance(orelse[0], ast.If))


def _goes_on(stmt: ast.stmt) -> bool:
    """Whether a branch does not end with a result."""
    return not any(isinstance(inner, ast.Return) for inner in getattr(stmt, "body", ()))


def _method(stmt: ast.stmt) -> str:
    """The method of a variable that a statement calls."""
    func = getattr(getattr(stmt, "value", None), "func", None)
    return func.attr if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) else ""


def _is_idle(stmt: ast.stmt) -> bool:
    """Whether a value is computed and not used; what a method of a variable does is its use."""
    value = getattr(stmt, "value", None)
    return isinstance(value, ast.Call | ast.Compare | ast.BinOp) and not _method(stmt)


_GUARDED = "if a:\n    b = 1\nreturn b"
_CHOICE = "if a:\n    b = 1\nelse:\n    b = 2\nreturn b"

rule("unguard", 0.15, _GUARDED, "b = 1\nreturn b", _CHOICE, "b = 2\nreturn b", few=True)
rewritten("unguard", "if T: B", "B")
rewritten("unguard", "if T: B\nelse: E", "B")
rewritten("swap branches", "if T: B\nelse: E", "if T: E\nelse: B", when=_has_else)
rewritten("unguard", "if T: B\nelse: E", "E", extra=-0.7)
rule("drop else", 0.05, _CHOICE, _GUARDED)
rewritten("drop else", "if T: B\nelse: E", "if T: B")
rule("elif to if", 0.12, "if a:\n    b = 1\nelif b:\n    b = 2\nreturn b",
    "if a:\n    b = 1\nif b:\n    b = 2\nreturn b", few=True)  # fmt: skip
rewritten("elif to if", "if T: B\nelse: E", "if T: B\nE")
rule("if to while", 0.15, "if a > 1:\n    a -= b\nreturn a", "while a > 1:\n    a -= b\nreturn a",
    few=True)  # fmt: skip
rewritten("if to while", "if T: B", "while T: B", when=_goes_on)
rule("while to if", 0.05, "while a > 1:\n    a -= b\nreturn a", "if a > 1:\n    a -= b\nreturn a",
    few=True)  # fmt: skip


@states(ast.While)
def loops(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """A condition in the place of a loop, whose mark it has no use for."""
    assert isinstance(stmt, ast.While)
    body = [inner for inner in stmt.body if not is_mark(inner)]
    if body:
        yield "while to if", [ast.If(test=stmt.test, body=body, orelse=[])], 0.0


_LOOP = "for x in items:\n    if x:\n        {}\nreturn a"
rule("break", 0.2, _LOOP.format("break"), _LOOP.format("continue"))
rewritten("break", "break", "continue")
rewritten("break", "continue", "break")
rewritten("break", "pass", "continue")
rule("break to return", 0.05, _LOOP.format("break"), _LOOP.format("return False"))
rule("return other", 0.12, "return items", "return a")
rule("negate return", 0.5, "return a < b", "return not a < b", few=True)


@states(ast.Break, ast.Return)
def results(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """Another result, the opposite result, a result in the place of `break`."""
    value = stmt.value if isinstance(stmt, ast.Return) else None
    shown = isinstance(value, ast.Constant | ast.Name)
    if value is not None and not shown and type_of(value, facts) == "bool":
        yield "negate return", [ast.Return(value=negated(value))], 0.0
    kind = "return other" if isinstance(stmt, ast.Return) else "break to return"
    names = [load(name) for name in context.names[:5]]
    for result in (const(True), const(False), const(0), *names):
        if not (isinstance(value, ast.Name) and value.id == getattr(result, "id", "")):
            yield kind, [ast.Return(value=result)], 0.0


rule("augmented", 0.5, "a -= b\nreturn a", "a += b\nreturn a", few=True, ordered=True)
rule("augmented to plain", 0.15, "a += b\nreturn a", "a = b\nreturn a", few=True)


@states(ast.AugAssign)
def augmented(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """Another operator, or none."""
    assert isinstance(stmt, ast.AugAssign)
    for other, extra in ARITHMETIC.get(type(stmt.op), ()):
        new = ast.AugAssign(target=stmt.target, op=other(), value=stmt.value)
        yield "augmented", [new], extra
    if isinstance(stmt.target, ast.Name):
        yield "augmented to plain", [ast.Assign(targets=[stmt.target], value=stmt.value)], 0.0


_JOINED = "r = ''\nfor x in items:\n    r {}\nreturn r"
rule("prepend", 0.1, _JOINED.format("+= x"), _JOINED.format("= x + r"))
rewritten("prepend", "T += V", "T = V + T",
          when=lambda stmt: isinstance(getattr(stmt, "target", None), ast.Name))  # fmt: skip
rule("plain to augmented", 0.15, _JOINED.format("= x"), _JOINED.format("+= x"), few=True)
rule("keep best", 0.08, _JOINED.format("= x"), _JOINED.format("= max(r, x)"))


@states(ast.Assign)
def accumulated(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """What a variable was, kept in what it becomes."""
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
            if name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
                return
            if context.loops or facts.used.get(name, 0):
                new = ast.AugAssign(target=target, op=ast.Add(), value=value)
                yield "plain to augmented", [new], 0.0 if context.loops else -1.5
            for function in ("max", "min") if context.loops else ():
                best = call(function, load(name), value)
                yield "keep best", [ast.Assign(targets=[target], value=best)], 0.0


rewritten("guard", "V.M(A)", "if A not in V: V.M(A)", extra=0.5,
          when=lambda stmt: _method(stmt) in ("append", "add"))  # fmt: skip
rule("keep result", 0.1, "a.strip()\nreturn a", "a = a.strip()\nreturn a")
rule("missing return", 0.3, "len(items)", "return len(items)")
rewritten("missing return", "V", "return V", when=_is_idle)
_IN_PLACE = ("append", "add", "extend", "sort", "reverse", "insert", "update")


@states(ast.Expr)
def kept_results(stmt: ast.stmt, context: Scope, facts: CodeFacts) -> Iterator[Restated]:
    """What a method returns, kept in the variable that it was called on."""
    called = _method(stmt)
    if called and called not in _IN_PLACE:
        value = stmt.value  # type: ignore[attr-defined]
        yield "keep result", [ast.Assign(targets=[store(value.func.value.id)], value=value)], 0.0


# -- left out, moved -------------------------------------------------------------------------------

rule("delete", 0.3, "items.sort()\nreturn items", "return items")
rule("drop check", 0.8, "if not items:\n    raise ValueError('none')\nreturn items", "return items")
rule("delete two", 0.1, "items.sort()\na += 1\nreturn items", "return items")
rule("reorder", 0.12, "a += 1\nb += a\nreturn b", "b += a\na += 1\nreturn b", few=True)
rule("dedent", 0.3, "for x in items:\n    a += x\n    return a",
    "for x in items:\n    a += x\nreturn a", few=True)  # fmt: skip
rule("indent", 0.15, "for x in items:\n    a += x\nb += 1\nreturn b",
    "for x in items:\n    a += x\n    b += 1\nreturn b", few=True)  # fmt: skip
_BEFORE, _INSIDE = (
    "n = 0\nfor x in items:\n    n += x\nreturn n",
    "for x in items:\n    n = 0\n    n += x\nreturn n",
)
rule("into loop", 0.15, _BEFORE, _INSIDE, few=True)
rule("out of loop", 0.1, _INSIDE, _BEFORE, few=True)
_FOUND = "for x in items:\n    if x:\n        a = x\n{}return a"
rule("insert break", 0.06, _FOUND.format(""), _FOUND.format("        break\n"))


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
        if order + 1 < len(real):
            second = body[real[order + 1]]
            pair = (stmt, second)
            flat = not any(isinstance(s, ast.FunctionDef | ast.Return) for s in pair)
            if flat:
                yield "delete two", new([*before, *body[real[order + 1] + 1 :]]), 0.0, (stmt,)
            if not isinstance(stmt, ast.FunctionDef | ast.Return):
                rest = body[real[order + 1] + 1 :]
                yield "reorder", new([*before, second, stmt, *rest]), 0.0, pair
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


rule("swap returns", 0.5, "if a:\n    return True\nreturn False",
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
