"""Inspect an object, whatever its class says of it: types, state, attributes.

This file is also loaded by path inside the sandbox, so it imports the standard library only and
nothing of `refute`. Classes are read by the descriptors of `type` itself, so that neither a
metaclass nor `__class__`, `__dict__` or `__getattribute__` has a say; a name alone makes no class
one of the standard library.
"""

from __future__ import annotations

import struct
import sys
from typing import Any


def _reader(name: str) -> Any:
    """Reads an attribute of a class past its metaclass."""
    return type.__dict__[name].__get__


mro_of = _reader("__mro__")
_names, _module, _name = map(_reader, ("__dict__", "__module__", "__name__"))
_flags, _basic_size = _reader("__flags__"), _reader("__basicsize__")
_item_size, _dict_offset = _reader("__itemsize__"), _reader("__dictoffset__")
_weak_offset = _reader("__weakrefoffset__")

_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT: the dictionary lies in front of the object


def name_of(kind: type) -> str:
    """The name that a class was made with."""
    return str.__getitem__(_name(kind), slice(None))


def module_of(kind: type) -> str:
    """The name of the module that a class says it is of; "" where that is no text."""
    try:
        said = _module(kind)
    except AttributeError:
        return ""
    return said if type(said) is str else ""


def is_heap(kind: type) -> bool:
    """Return whether a class was made while the program ran: not one of Python's own in C."""
    return bool(_flags(kind) & _HEAP)


def held(kind: type) -> bool:
    """Return whether the module that a class says it is of holds it under its name."""
    module = sys.modules.get(module_of(kind))
    return module is not None and vars(module).get(name_of(kind)) is kind


def library_place(kind: type) -> str:
    """`module.name` of a class of the standard library, or made in C; "" of any other."""
    module = module_of(kind)
    if is_heap(kind) and not (module.partition(".")[0] in sys.stdlib_module_names and held(kind)):
        return ""
    return f"{module}.{name_of(kind)}"


def defines(kind: type, name: str) -> bool:
    """Return whether a class or one of its bases defines a name."""
    return any(name in _names(base) for base in mro_of(kind))


def base_of(kind: type, package: str) -> Any:
    """The first of a class and its bases that a package of that name holds; None: there is none."""
    for base in mro_of(kind):
        if module_of(base).partition(".")[0] == package and held(base):
            return base
    return None


def told_by_repr(kind: type, value: Any) -> bool:
    """Return whether the repr of a value of the standard library identifies it among its type.

    Classes and functions of the standard library are: their name is theirs alone. Those of the
    program are not: two of a name may do different things.
    """
    if kind is type(...) or kind is type(NotImplemented):
        return True
    if library_place(kind).partition(".")[0] in ("pathlib", "ipaddress", "uuid", "zoneinfo"):
        return True
    if issubclass(kind, type):
        return bool(library_place(value)) and held(value)
    if kind is type(len):
        owner = value.__module__
        module = sys.modules.get(owner) if type(owner) is str else None
        known = owner in sys.stdlib_module_names
        return known and vars(module).get(value.__name__) is value
    return False


def library_parts(kind: type, value: Any) -> list[tuple[str, Any]] | None:
    """Return the complete state of a value of the standard library whose attributes are not
    enough."""
    name = library_place(kind)
    names = _PARTS.get(name)
    if names is not None:
        return [(part, getattr(value, part)) for part in names]
    if name == "re.Match":
        own = ("string", "pos", "endpos", "regs")
        return [("pattern", value.re), *((part, getattr(value, part)) for part in own)]
    if name == "array.array":
        return [("typecode", value.typecode), ("items", value.tolist())]
    if name == "builtins.memoryview":
        return [("format", value.format), ("shape", value.shape), ("bytes", value.tobytes())]
    if name in ("builtins.mappingproxy", "builtins.dict_items", "builtins.odict_items"):
        return [("items", dict(value))]
    if name in ("builtins.dict_values", "builtins.odict_values"):
        return [("items", list(value))]
    if name in ("_io.StringIO", "_io.BytesIO"):
        return [("content", value.getvalue()), ("position", value.tell())]
    if name == "datetime.timezone":
        return [("offset", value.utcoffset(None)), ("name", value.tzname(None))]
    enum = sys.modules.get("enum")
    if enum is not None and issubclass(kind, enum.Enum):
        fields = _own_dictionary(kind, value)
        return [("name", fields["_name_"]), ("value", fields["_value_"])]
    return None


def table_parts(pandas: Any, kind: type, value: Any) -> list[tuple[str, Any]]:
    """Return the complete state of a frame, series or index of pandas, by names that no attribute
    has."""
    if issubclass(kind, pandas.DataFrame):
        columns = [value.iloc[:, at] for at in range(value.shape[1])]
        return [
            ("column labels", value.columns),
            ("row labels", value.index),
            ("column types", [str(one.dtype) for one in columns]),
            ("all items", [list(one) for one in columns]),
        ]
    parts = [("its name", value.name), ("item type", str(value.dtype)), ("all items", list(value))]
    if issubclass(kind, pandas.Series):
        parts.append(("row labels", value.index))
    elif value.nlevels > 1:
        parts.append(("level names", list(value.names)))
    return parts


_PARTS = {"re.Pattern": ("pattern", "flags"), "builtins.slice": ("start", "stop", "step")}


def attributes(kind: type, value: Any) -> list[tuple[str, Any]] | None:
    """Every attribute of an instance by name; None where it may hold more than they show."""
    exception = issubclass(kind, BaseException)
    found, size = _slots(kind, value, exception)
    size += object.__basicsize__
    pointer = struct.calcsize("P")
    if _dict_offset(kind):
        fields = _own_dictionary(kind, value)
        if type(fields) is not dict:
            return None
        found += fields.items()
        size += 0 if _flags(kind) & _MANAGED_DICT else pointer
    size += pointer if _weak_offset(kind) > 0 else 0
    if exception:
        found.append(("args", _exception_arguments(value)))
    elif _item_size(kind) or _basic_size(kind) > size:
        return None  # it is made in C, or of something that is
    return sorted(found, key=lambda pair: str(pair[0]))


def own_attributes(kind: type, value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an instance of a builtin's subclass, without the builtin's items."""
    found, _ = _slots(kind, value, exception=False)
    fields = _own_dictionary(kind, value) if _dict_offset(kind) else None
    if type(fields) is dict:
        found += fields.items()
    return sorted(found, key=lambda pair: str(pair[0]))


def _slots(kind: type, value: Any, exception: bool) -> tuple[list[tuple[str, Any]], int]:
    """The slots that are set, and the bytes that all of them take."""
    found, size = [], 0
    for base in mro_of(kind):
        names = _names(base)
        if base is object or base is BaseException or not (exception or "__slots__" in names):
            continue
        for name, member in names.items():
            if type(member) is _Member:
                size += struct.calcsize("P")
                try:
                    found.append((name, member.__get__(value)))
                except AttributeError:  # never set
                    continue
    return found, size


def _own_dictionary(kind: type, value: Any) -> Any:
    """The instance's dictionary itself, whatever the class says it is; None where it hides it."""
    for base in reversed(mro_of(kind)):
        slot: Any = _names(base).get("__dict__")
        if type(slot) is _GetSet or type(slot) is _Member:
            return slot.__get__(value)
    reader: Any = getattr(object, "__getstate__", None)  # since Python 3.11
    state = reader(value) if reader else None
    return state[0] if type(state) is tuple else state  # with slots: a pair


class _Sample:
    __slots__ = ("__weakref__", "slot")


_Member = type(_Sample.__dict__["slot"])
_GetSet = type(_Sample.__dict__["__weakref__"])
_exception_arguments: Any = BaseException.__dict__["args"].__get__
