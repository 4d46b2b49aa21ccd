"""By what names source calls a function, a method or a property: all that can be seen statically.

Whether it is this one that is called, and not another of that name, is seen when the source runs
(`refute.sandbox.replay.observe`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CalledAs:
    """How calls of one function look."""

    names: frozenset[str]
    """Bare names: `total(...)`; of `Cart.__init__` the class's."""
    attribute: str
    """`cart.total(...)`, `shop.total(...)`."""
    held: str
    """What its module holds: the function itself, or the class."""
    method: bool
    operator: bool
    """A special method but the constructor: operators, loops and built-in functions call it."""


def called_as(entry_point: str) -> CalledAs:
    """How a function of this qualified name is called."""
    owner, _, name = entry_point.rpartition(".")
    held = owner.partition(".")[0]
    if not owner:
        return CalledAs(frozenset({name}), name, name, method=False, operator=False)
    if name in ("__init__", "__new__"):
        cls = owner.rpartition(".")[2]
        return CalledAs(frozenset({cls}), cls, held, method=True, operator=False)
    special = name.startswith("__") and name.endswith("__")
    return CalledAs(frozenset(), name, held, method=True, operator=special)


def is_shown(node: ast.AST, about: CalledAs, named: Callable[[ast.AST], bool]) -> bool:
    """Whether a test, or a helper of tests, looks at what the function does.

    A test of a method calls others to set its object up, and is no test of these: an assertion, or
    what a helper returns, must hold the call (`named`), or a name that its value was given.
    """
    if not named(node) or not about.method:
        return named(node)
    looks = [one for one in ast.walk(node) if _looks(one)]
    if about.names:  # what a made object does is its methods' affair
        held = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        calls = (one for look in looks for one in ast.walk(look) if isinstance(one, ast.Call))
        return any(id(one) not in held and named(one.func) for one in calls)
    given = {
        name.id
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and named(one.value)
        for target in one.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    read = (name for one in looks for name in ast.walk(one) if isinstance(name, ast.Name))
    return not looks or any(map(named, looks)) or any(name.id in given for name in read)


def _looks(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Return():
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith("assert")
        case ast.With(items=items):
            return any("raises" in ast.unparse(one).lower() for one in items)
    return False
