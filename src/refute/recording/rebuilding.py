"""Which objects their constructor makes again from their fields, told without running it."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, List, Tuple

from refute.recording.looking import MISSING, fields, lookup, module_of

Arguments = Tuple[List[Any], List[Tuple[str, Any]]]
"""Positional ones, and named ones after them."""


def constructor_fields(value: Any, kind: type) -> Arguments | None:
    """The arguments that make an object like `value`; None where that cannot be told."""
    for read in (_named_tuple, _dataclass, _attrs, _content):
        found = read(value, kind)
        if found is not None:
            return found
    return None


def _function(kind: type, name: str) -> Any:
    """The Python function that a class has under a name; None where it is not one."""
    member = lookup(kind, name)
    member = member.__func__ if type(member) is staticmethod else member
    return member if type(member) is types.FunctionType else None


def _generated(function: Any) -> bool:
    """Whether a function was compiled from text without a file, as dataclasses and attrs do."""
    return function is not None and function.__code__.co_filename.startswith("<")


def _named_tuple(value: Any, kind: type) -> Arguments | None:
    names = lookup(kind, "_fields")
    if not issubclass(kind, tuple) or type(names) is not tuple or fields(value):
        return None
    new = _function(kind, "__new__")
    generated = _generated(new) and new.__code__.co_argcount == len(names) + 1
    if not generated or _function(kind, "__init__") is not None:
        return None
    return list(tuple.__iter__(value)), []


def _dataclass(value: Any, kind: type) -> Arguments | None:
    declared = lookup(kind, "__dataclass_fields__")
    if type(declared) is not dict or not _constructed_by_fields(kind):
        return None
    held = fields(value)
    positional: list[Any] = []
    named: list[tuple[str, Any]] = []
    left_out = False
    for name, field in declared.items():
        if type(field) is not dataclasses.Field:
            return None
        role = field._field_type  # type: ignore[attr-defined]
        if role is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if not field.init or name not in held or role is not dataclasses._FIELD:  # type: ignore[attr-defined]
            return None
        current = held.pop(name)
        if current is field.default:
            left_out = True
        elif left_out or getattr(field, "kw_only", False) is True:
            named.append((name, current))
        else:
            positional.append(current)
    return None if held else (positional, named)


def _attrs(value: Any, kind: type) -> Arguments | None:
    declared = lookup(kind, "__attrs_attrs__")
    if declared is MISSING or not issubclass(type(declared), tuple):
        return None
    if not _constructed_by_fields(kind):
        return None
    held = fields(value)
    named: list[tuple[str, Any]] = []
    for attribute in tuple.__iter__(declared):
        if module_of(type(attribute)) != "attr._make":
            return None
        about = fields(attribute)
        name, default = about.get("name"), about.get("default")
        if about.get("init") is not True or name not in held:
            return None
        current = held.pop(name)
        if current is not default:
            named.append((about.get("alias") or name.lstrip("_"), current))
    return None if held else ([], named)


def _constructed_by_fields(kind: type) -> bool:
    return _generated(_function(kind, "__init__")) and _function(kind, "__new__") is None


def _content(value: Any, kind: type) -> Arguments | None:
    """Objects without a constructor of their own: empty ones, and Python's values under another
    class."""
    if _function(kind, "__init__") is not None or _function(kind, "__new__") is not None:
        return None
    if fields(value):
        return None
    if issubclass(kind, BaseException):
        arguments = BaseException.__dict__["args"].__get__(value)
        return list(arguments), []
    for base, read in _CONTENT.items():
        if issubclass(kind, base):
            inherited = all(lookup(kind, name) is lookup(base, name) for name in _CONSTRUCTION)
            return ([read(value)], []) if inherited else None
    plain = lookup(kind, "__init__") is object.__init__ and lookup(kind, "__new__") is _NEW
    return ([], []) if plain else None


_CONSTRUCTION = ("__init__", "__new__")
_NEW = object.__dict__["__new__"]
_CONTENT: Any = {
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
    tuple: lambda value: list(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: list(frozenset.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
}
"""How the plain value is read out of one of a subclass."""
