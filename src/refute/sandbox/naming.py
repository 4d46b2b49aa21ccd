"""Resolve names in a program: the called function, and the classes that `except` would catch.

Loaded by path inside the sandbox, and beside `asserts`: standard library only. Python's own
exceptions are known by what they are, from before there was a program: neither a class of their
name nor a metaclass has a say.
"""

from __future__ import annotations

import builtins
from typing import Any

_PYTHONS = {
    id(kind): kind.__name__
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
_TAKEN = frozenset(_PYTHONS.values())
_order, _bases = type.__dict__["__mro__"].__get__, type.__dict__["__bases__"].__get__
_title, _home = type.__dict__["__name__"].__get__, type.__dict__["__module__"].__get__


def find(module: Any, entry_point: str) -> Any:
    """Return the object of a dotted path in a module; `Class().method` is a method of a new object
    for each call. Raises `AttributeError`."""
    owner, made, method = entry_point.partition("().")
    found = module
    for part in owner.split("."):
        found = getattr(found, part)
    if not made:
        return found
    getattr(found, method)
    return lambda *args, **named: getattr(found(), method)(*args, **named)


def kinds(kind: type) -> list[str]:
    """The names of an exception's class and of all its bases, in the order in which Python looks
    at them; with its module where Python has another exception of that name."""
    return [_PYTHONS.get(id(one)) or _name(one) for one in _order(kind) if one is not object]


def lineage(kind: type) -> list[tuple[str, list[str]]]:
    """These names, each with those of its direct bases."""
    classes = [one for one in _order(kind) if one is not object]
    return [
        (kinds(one)[0], [kinds(base)[0] for base in _bases(one) if base is not object])
        for one in classes
    ]


def _name(kind: type) -> str:
    name = str.__str__(_title(kind))[:200]
    return f"{_home(kind)}.{name}"[:200] if name in _TAKEN else name
