"""What speaks against an edit, whatever examples it passes: seen in the code alone.

An edit that passes a few examples by cutting a branch, or by no longer looking at an argument, is
more often an accident than a fix; and one in a helper changes what other callers get, of which
nothing is known.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from refute.function.search.edit import same
from refute.syntax import Function, find_function

__all__ = ["ELSEWHERE", "Suspicion", "suspicions"]


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One reason to doubt an edit; `weight` is what it adds to the fix's log weight (0: the edit's
    own weight says it already)."""

    text: str
    weight: float


ELSEWHERE = -1.5
"""Outside of the function that was asked about: others may rely on it."""
UNUSED = -1.0
"""A parameter or a variable without effect."""
EMPTY = -2.0
"""A condition that depends on nothing."""


def suspicions(before: ast.Module, after: ast.Module, entry_point: str) -> tuple[Suspicion, ...]:
    """Reasons to doubt that `after` is the fix of `before`; () where none is."""
    own = entry_point.split(".", maxsplit=1)[0]
    found: list[Suspicion] = []
    method, changed = find_function(before, entry_point), find_function(after, entry_point)
    if own != entry_point and method is not None and changed is not None and same(method, changed):
        text = f"it changes what lies outside of {entry_point}, which more than that may use"
        found.append(Suspicion(text, 0.0))
    for was, now in zip(before.body, after.body, strict=False):
        if same(was, now):
            continue
        name = getattr(was, "name", None)
        if name != own:
            place = name or "what lies outside of functions"
            found.append(Suspicion(f"it changes {place}, which more than {own} may use", 0.0))
        for old, new in zip(_functions(was), _functions(now), strict=False):
            gone = sorted(_used(old) - _used(new) - (_stored(old) - _stored(new)))
            if gone:
                text = f"`{'`, `'.join(gone)}` would have no effect any more"
                found.append(Suspicion(text, UNUSED))
            found += _guards(old, new)
    return tuple(dict.fromkeys(found))


def _functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _used(function: Function) -> set[str]:
    """The parameters and variables that the body reads."""
    spec = function.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    read = {
        node.id
        for stmt in function.body
        for node in ast.walk(stmt)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return ({arg.arg for arg in every if arg is not None} | _stored(function)) & read


def _stored(function: Function) -> set[str]:
    nodes = (node for stmt in function.body for node in ast.walk(stmt))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _guards(was: Function, now: Function) -> Iterator[Suspicion]:
    """Conditions that always or never hold."""
    counts = Counter(map(ast.dump, _tests(was)))
    counts.subtract(Counter(map(ast.dump, _tests(now))))
    for test in {ast.dump(test): test for test in _tests(now)}.values():
        if counts[ast.dump(test)] < 0 and (isinstance(test, ast.Constant) or _never(test)):
            yield Suspicion(f"`{ast.unparse(test)}` depends on nothing", EMPTY)


def _tests(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _never(test: ast.expr) -> bool:
    """Compares a thing with itself."""
    return isinstance(test, ast.Compare) and any(
        ast.dump(a) == ast.dump(b)
        for a, b in zip([test.left, *test.comparators], test.comparators, strict=False)
    )
