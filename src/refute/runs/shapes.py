"""What JSON data must look like before it is believed: a journal may be damaged or foreign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["COUNT", "FLAG", "NUMBER", "OBJECT", "TALLY", "Shape", "maybe", "misfit", "optional"]


class _Atom:
    """A value that is no list and no object of known fields."""

    def __init__(self, name: str) -> None:
        self.name = name

    def holds(self, value: Any) -> bool:
        if self is OBJECT:
            return isinstance(value, dict)
        if self is FLAG or isinstance(value, bool):
            return self is FLAG and isinstance(value, bool)
        if self is COUNT:
            return isinstance(value, int) and 0 <= value < 2**53
        return isinstance(value, int | float) and abs(value) < 2**53 and math.isfinite(value)


NUMBER, COUNT, FLAG = _Atom("a number"), _Atom("a whole number from 0"), _Atom("true or false")
OBJECT = _Atom("an object")
"""Whatever its fields are."""

Shape = Any
"""`str`; an atom above; a list of one shape (a list of such items) or of several (exactly these);
a mapping of fields (further ones are let be); a tuple of shapes (one of them); a frozenset of texts
(one of them); None (null)."""


def optional(shape: Shape) -> tuple[Shape, None]:
    """The shape or null; the field of an object may be missing as well."""
    return (shape, None)


TALLY = {
    "samples": COUNT,
    "cached": COUNT,
    "prompt_tokens": COUNT,
    "completion_tokens": COUNT,
    "usd": optional(NUMBER),
}
"""What every `refute.models.contract.Tally` in a record holds, and more."""


class maybe:
    """A field that may be missing, but not null."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


def misfit(value: Any, shape: Shape, where: str = "") -> str:
    """Where the value is not of the shape, and what is wanted there; "" where it is."""
    if isinstance(shape, tuple):
        found = [misfit(value, one, where) for one in shape]
        return "" if "" in found else found[0]
    if isinstance(shape, Mapping):
        return _misfit_object(value, shape, where)
    if isinstance(shape, list):
        if not isinstance(value, list) or (len(shape) > 1 and len(value) != len(shape)):
            return f"{where or 'it'} is not a list" + (f" of {len(shape)}" * (len(shape) > 1))
        wanted = shape if len(shape) > 1 else shape * len(value)
        pairs = enumerate(zip(value, wanted, strict=True))
        return next((bad for i, (v, s) in pairs if (bad := misfit(v, s, f"{where}[{i}]"))), "")
    if shape is None:
        return "" if value is None else f"{where or 'it'} is not null"
    if isinstance(shape, frozenset):
        ok = isinstance(value, str) and value in shape
        return "" if ok else f"{where or 'it'} is none of {', '.join(sorted(shape))}"
    if shape is str:
        return "" if isinstance(value, str) else f"{where or 'it'} is not a text"
    return "" if shape.holds(value) else f"{where or 'it'} is not {shape.name}"


def _misfit_object(value: Any, shape: Mapping[str, Shape], where: str) -> str:
    if not isinstance(value, dict):
        return f"{where or 'it'} is not an object"
    for name, wanted in shape.items():
        if name not in value and (isinstance(wanted, maybe) or _takes_null(wanted)):
            continue
        wanted = wanted.shape if isinstance(wanted, maybe) else wanted
        place = f"{where}.{name}" if where else name
        if name not in value:
            return f"{place} is missing"
        if bad := misfit(value[name], wanted, place):
            return bad
    return ""


def _takes_null(shape: Shape) -> bool:
    return isinstance(shape, tuple) and None in shape
