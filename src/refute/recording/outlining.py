"""Values as short texts that two runs can be compared by: types and fields, no addresses.

No code of a project runs for it: objects are read through the descriptors of `type` itself. A text
says less than the value: what lies deep or is too much is `...`, so equal texts are no proof of
equal values, but different ones are of different values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

_MOST_VALUES = 120
_DEEPEST = 4
_LONGEST_TEXT = 400
_PLAIN = frozenset({bool, int, float, complex, type(None), type(Ellipsis), range, slice})
_TEXTS = frozenset({str, bytes, bytearray})
_SEQUENCES: dict[Any, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}
_ATOMS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
}
"""Atom type -> function that returns the plain value of an object of a derived class."""
_PRINTABLE = frozenset({"datetime", "decimal", "fractions", "pathlib", "re", "uuid", "_decimal"})
"""Modules of the standard library whose objects say all of themselves in their `repr`."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = vars(type)["__module__"].__get__
_flags = type.__dict__["__flags__"].__get__
_HEAP = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: set for each class that a `class` statement made."""


def outline(value: Any, deepest: int = _DEEPEST) -> str:
    """The text of a value as it is now; `deepest`: levels of fields and items that are read."""
    return _Outline(deepest).of(value, 0)


class _Outline:
    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.left = _MOST_VALUES
        self.inside: set[int] = set()

    def of(self, value: Any, depth: int) -> str:
        kind = type(value)
        self.left -= 1
        if kind in _TEXTS:
            text = value[:_LONGEST_TEXT]
            return _ADDRESS.sub("0x", repr(text)) + ("..." if len(value) > len(text) else "")
        if kind in _PLAIN:
            large = kind is int and value.bit_length() > 4096
            return "..." if large else repr(value)
        if kind is type or issubclass(kind, type):
            return "<class " + str(_qualname(value)) + ">"
        if kind is FunctionType or kind is BuiltinFunctionType:
            return "<function " + str(value.__qualname__) + ">"
        if kind is MethodType:
            return "<method " + str(getattr(value.__func__, "__qualname__", "")) + ">"
        if kind is ModuleType:
            return "<module>"
        if _module_of(kind) in _PRINTABLE:
            return repr(value)
        if self.left < 0 or depth > self.deepest or id(value) in self.inside:
            return "..."
        self.inside.add(id(value))
        try:
            return self.container(value, kind, depth)
        finally:
            self.inside.discard(id(value))

    def container(self, value: Any, kind: type, depth: int) -> str:
        marks = _SEQUENCES.get(kind)
        if marks is not None:
            texts = [self.of(item, depth + 1) for item in list(value)[: max(self.left, 0)]]
            if kind is set or kind is frozenset:
                texts.sort()
            rest = ["..."] if len(texts) < len(value) else []
            return marks[0] + ", ".join(texts + rest) + marks[1]
        if kind is dict:
            return "{" + self.pairs(list(value.items()), depth) + "}"
        held = self.held(value, depth)
        own = self.pairs([(name, item) for name, item in _fields(value).items()], depth, "=")
        name: str = _qualname(kind)
        return name + "(" + ", ".join(part for part in (held, own) if part) + ")"

    def held(self, value: Any, depth: int) -> str:
        """Return the built-in value inside an object of a derived class."""
        kind = type(value)
        if issubclass(kind, dict):
            return "{" + self.pairs(list(dict.items(value)), depth) + "}"
        for sequence in _SEQUENCES:
            if issubclass(kind, sequence):
                return self.container(sequence(sequence.__iter__(value)), sequence, depth)
        for atom, held in _ATOMS.items():
            if issubclass(kind, atom):
                return self.of(held(value), depth)
        return ""

    def pairs(self, items: list[tuple[Any, Any]], depth: int, mark: str = ": ") -> str:
        texts = []
        for name, item in items:
            if self.left < 0:
                texts.append("...")
                break
            key = name if mark == "=" and type(name) is str else self.of(name, depth + 1)
            texts.append(key + mark + self.of(item, depth + 1))
        return ", ".join(texts)


def _module_of(kind: type) -> str:
    """The module that a class says it is of; "" where that is not a text."""
    try:
        name = _module(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def _fields(value: Any) -> dict[str, Any]:
    """The attributes that an object itself holds, in `__dict__` and in slots."""
    found: dict[str, Any] = {}
    for base in _mro(type(value)):
        made = _flags(base) & _HEAP
        for name, member in list(_namespace(base).items()) if made or base is BaseException else ():
            if made and type(member) is MemberDescriptorType:
                try:
                    found[name] = member.__get__(value)
                except AttributeError:
                    pass
            elif name == "__dict__" and type(member) is GetSetDescriptorType:
                held = member.__get__(value)
                if type(held) is dict:
                    found.update(held)
    return found
