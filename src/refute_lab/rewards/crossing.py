"""Runs inside the sandbox, on both sides of `asserts`: values as plain data, and back.

A value of Python's own types crosses by value, whatever it calls itself; so do arrays and numbers
of numpy and some types of the standard library. Anything else is held where it is and crosses as a
reference, ``("r", operation, number)``: nothing equals it but itself. Standard library only.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict, deque, namedtuple
from typing import Any

MOST_DEPTH = 60
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_LIBRARY = ("Decimal", "Fraction", "datetime", "date", "time", "timedelta", "UUID")


class CannotCross(Exception):
    """A value that has to cross and cannot."""


def pack(value: Any, hold: Any, depth: int = MOST_DEPTH) -> tuple[Any, ...]:
    """Plain data for a value; `hold` gives the data for what is held."""
    kind = type(value)
    if kind in _ATOMS:
        return ("v", value)
    if depth <= 0:
        raise CannotCross("nested too deeply")
    for base in _BASES:
        if issubclass(kind, base):
            return ("v", _BASES[base](value))
    held = hold(value) if hasattr(kind, "_refute_reference") else None
    if held is not None:
        return held  # type: ignore[no-any-return]
    if issubclass(kind, tuple):
        names, items = getattr(kind, "_fields", None), tuple.__iter__(value)
        packed = [pack(item, hold, depth - 1) for item in items]
        if type(names) is tuple and all(type(name) is str for name in names):
            return ("n", kind.__name__, names, packed)
        return ("t", packed)
    for tag, base in _CONTAINERS.items():
        if issubclass(kind, base):
            return (tag, [pack(item, hold, depth - 1) for item in base.__iter__(value)])
    for tag, mapping in _MAPPINGS.items():
        if issubclass(kind, mapping):
            pairs = list(dict.items(value))
            return (tag, [(pack(k, hold, depth - 1), pack(v, hold, depth - 1)) for k, v in pairs])
    if kind is bytearray:
        return ("bytearray", bytes(value))
    if kind is range:
        return ("range", value.start, value.stop, value.step)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, (numpy.ndarray, numpy.generic)):
        if value.dtype.kind not in "biufcUS":
            return hold(value)  # type: ignore[no-any-return]
        items, shape = value.tolist(), tuple(value.shape)
        return (
            "array" if issubclass(kind, numpy.ndarray) else "number",
            items,
            str(value.dtype),
            shape,
        )
    home = sys.modules.get(kind.__module__)
    if kind.__name__ in _LIBRARY and getattr(home, kind.__name__, None) is kind:
        if kind.__module__ in ("decimal", "fractions", "uuid"):
            return ("x", kind.__module__, kind.__name__, str(value))
        if kind.__module__ == "datetime":
            if kind.__name__ == "timedelta":
                return ("timedelta", value.days, value.seconds, value.microseconds)
            return ("x", "datetime", kind.__name__, value.isoformat())
    return hold(value)  # type: ignore[no-any-return]


_BASES: dict[type, Any] = {
    int: int.__index__,
    float: float.__float__,
    complex: lambda v: complex(complex.real.__get__(v), complex.imag.__get__(v)),
    str: lambda v: str.__getitem__(v, slice(None)),
    bytes: lambda v: bytes.__getitem__(v, slice(None)),
}
_CONTAINERS: dict[str, Any] = {"l": list, "s": set, "f": frozenset, "q": deque}
_MAPPINGS: dict[str, Any] = {"C": Counter, "O": OrderedDict, "d": dict}


def unpack(data: Any, held: Any, depth: int = MOST_DEPTH) -> Any:
    """The value of plain data; `held` gives what a reference stands for. Raises on other data."""
    tag, *rest = data
    inner = depth - 1
    if tag == "v":
        return _of(rest[0], *_ATOMS)
    if depth <= 0:
        raise CannotCross("nested too deeply")
    if tag in ("t", "n") or tag in _CONTAINERS:
        items = [unpack(item, held, inner) for item in rest[-1]]
        if tag == "n":
            return namedtuple(_of(rest[0], str), [_of(name, str) for name in rest[1]])(*items)
        return tuple(items) if tag == "t" else _CONTAINERS[tag](items)
    if tag in _MAPPINGS:
        return _MAPPINGS[tag]({unpack(k, held, inner): unpack(v, held, inner) for k, v in rest[0]})
    if tag == "bytearray":
        return bytearray(_of(rest[0], bytes))
    if tag == "range":
        return range(*[_of(part, int) for part in rest])
    if tag in ("array", "number"):
        import numpy

        items, dtype, shape = rest
        if not re.fullmatch(r"[<>|=]?[a-zA-Z]+\d*(_)?", dtype):
            raise CannotCross("no type of numpy's")
        array = numpy.array(items, dtype=dtype).reshape(shape)
        return array if tag == "array" else array[()]
    if tag == "timedelta":
        import datetime

        return datetime.timedelta(*[_of(part, int) for part in rest])
    if (
        tag == "x"
        and rest[1] in _LIBRARY
        and rest[0] in ("decimal", "fractions", "uuid", "datetime")
    ):
        kind = getattr(__import__(rest[0]), rest[1])
        text = _of(rest[2], str)
        return kind.fromisoformat(text) if rest[0] == "datetime" else kind(text)
    return held(*data)


def _of(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise CannotCross("not the type that it is said to be")
    return value
