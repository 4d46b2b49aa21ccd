"""Values that have no literal of their own, and values built from the nodes of an encoding.

This file is also loaded by path inside the sandbox, so it imports the standard library only and
nothing of `refute`. What a node is: see `values`.
"""

from __future__ import annotations

import struct
from typing import Any

MAX_DEPTH = 150  # in plain Python recursion on both sides, whatever calls them
MAX_FRACTION_BITS = 20_000  # reducing one takes quadratic time


class MalformedValue(ValueError):
    """The bytes are not an encoding of any value."""


class Unencodable(TypeError):
    """The value has no faithful encoding, so it cannot be an argument or an expected output."""


class Record:
    """A tiny value class; this module must stay cheap to import, so no dataclasses."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *parts: Any) -> None:
        for name, part in zip(self.__slots__, parts):  # noqa: B905 (Python 3.8)
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()  # the default one sets attributes

    def __hash__(self) -> int:
        return hash((type(self).__name__, repr(self._key())))


class NDArray(Record):
    """A numpy array: `dtype` by name, `shape`, and its items `data` as nested plain lists."""

    __slots__ = ("data", "dtype", "shape")
    data: Any
    dtype: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"array({self.data!r}, dtype={self.dtype!r})"


class Iterated(Record):
    """An iterator or generator: its type's name, the items it gave, and whether more were left."""

    __slots__ = ("items", "more", "type")
    items: tuple[Any, ...]
    more: bool
    type: str

    def __eq__(self, other: object) -> bool:
        return not self.more and super().__eq__(other)

    __hash__ = Record.__hash__

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.items[:20]))
        dots = ", ..." if self.more or len(self.items) > 20 else ""
        return f"<{self.type} of {inner}{dots}>"


class Opaque(Record):
    """A value of another type: the type's name, a bounded `repr`, and its attributes.

    Two opaque values are equal when all three are: for grading that is the best that can be said
    about, for example, two instances of a class that the program itself defines.
    """

    __slots__ = ("attributes", "repr", "type")
    attributes: tuple[tuple[str, Any], ...]
    repr: str
    type: str

    def __repr__(self) -> str:
        return self.repr or f"<{self.type}>"


class Incomplete(Record):
    """A value that was not encoded as a whole: a function, an object of unknown state, a deep nest.

    It equals nothing, itself included: nobody can say whether two of these are the same.
    """

    __slots__ = ("repr", "type")
    repr: str
    type: str

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = Record.__hash__

    def __repr__(self) -> str:
        return self.repr or f"<{self.type}>"


# -- nodes ----------------------------------------------------------------------------------------


def from_node(tree: Any, depth: int = MAX_DEPTH) -> Any:
    """Build the value of a node. Raises ValueError or TypeError on anything that is not one."""
    if depth < 0:
        raise MalformedValue("nested too deeply")
    if type(tree) is not tuple or not tree or type(tree[0]) is not str:
        raise MalformedValue("not a node")
    kind, inner = tree[0], depth - 1
    if kind == "opaque":
        _, name, text, attributes = tree
        pairs = tuple((printable(str(k)), from_node(v, inner)) for k, v in attributes)
        return Opaque(pairs, printable(str(text)), printable(str(name)))
    if kind == "cut":
        _, name, text = tree
        return Incomplete(printable(_exactly(text, str)), printable(_exactly(name, str)))
    if kind == "iter":
        _, name, items, more = tree
        return Iterated(tuple(from_node(i, inner) for i in items), bool(more), printable(str(name)))
    _, payload = tree
    if kind == "v":
        return payload
    if kind in ("l", "t", "s", "f"):
        items = [from_node(item, inner) for item in payload]
        return BUILDERS[_CODES[kind]](items)
    if kind == "d":
        return mapping_of([(from_node(k, inner), from_node(v, inner)) for k, v in payload])
    if kind == "bytearray":
        return bytearray(_exactly(payload, bytes))
    if kind == "range":
        return range(*(_exactly(part, int) for part in payload))
    return _from_library_node(kind, payload, inner)


def printable(text: str) -> str:
    """The text with what a terminal would obey (escape sequences, ...) written out; lines stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _from_library_node(kind: str, payload: Any, depth: int) -> Any:
    if kind == "Decimal":
        from decimal import Decimal

        return Decimal(_exactly(payload, str))
    if kind == "Fraction":
        from fractions import Fraction

        parts = [_exactly(part, int) for part in payload]
        if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
            raise MalformedValue("fraction too long")
        return Fraction(*parts)
    if kind in ("datetime", "date", "time", "timedelta"):
        import datetime

        if kind == "timedelta":
            return datetime.timedelta(*(_exactly(part, int) for part in payload))
        return getattr(datetime, kind).fromisoformat(_exactly(payload, str))
    if kind == "deque":
        from collections import deque

        items, maxlen = payload
        return deque([from_node(item, depth) for item in items], maxlen)
    if kind == "ndarray":
        data, dtype, shape = payload
        sizes = tuple(_exactly(n, int) for n in shape)
        return NDArray(from_node(data, depth), _exactly(dtype, str), sizes)
    raise MalformedValue(f"unknown kind {kind[:40]!r}")


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise MalformedValue(f"{kind.__name__} expected")
    return value


def _spread(items: list[Any]) -> list[Any]:
    """Refuse items made to share a hash: a set of 100,000 of those takes hours to build."""
    if len(items) > 100 and 8 * len(set(map(hash, items))) < len(items):
        raise MalformedValue("too many items with the same hash")
    return items


def mapping_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    _spread([key for key, _ in pairs])
    return dict(pairs)


def _set(items: list[Any]) -> set[Any]:
    return set(_spread(items))


def _frozenset(items: list[Any]) -> frozenset[Any]:
    return frozenset(_spread(items))


BUILDERS: dict[bytes, Any] = {b"[": list, b"(": tuple, b"<": _set, b">": _frozenset}
_CODES = {"l": b"[", "t": b"(", "s": b"<", "f": b">"}


def decode(data: bytes) -> Any:
    """Decode bytes that may come from hostile code; executes nothing. Raises `MalformedValue`."""
    tag, body = data[:1], data[1:]
    try:
        if tag == b"M":
            return _Reader(body).whole()
        if tag == b"X" or tag == b"I":
            return from_node(_Reader(body).whole())
    except (struct.error, UnicodeDecodeError, TypeError, ValueError, KeyError, RecursionError) as e:
        raise MalformedValue(str(e) or type(e).__name__) from None
    except (ArithmeticError, MemoryError) as e:
        raise MalformedValue(str(e) or type(e).__name__) from None
    raise MalformedValue("unknown tag")


class _Reader:
    """A strict parser of marshal version 2, plain types only."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def whole(self) -> Any:
        value = self.value(MAX_DEPTH * 4)
        if self.at != len(self.data):
            raise MalformedValue("bytes left over")
        return value

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise MalformedValue("cut short")
        part = self.data[self.at : self.at + count]
        self.at += count
        return part

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def value(self, depth: int) -> Any:
        if depth <= 0:
            raise MalformedValue("nested too deeply")
        code = self.take(1)
        if code == b"i":
            return self.int32()
        if code in _SINGLETONS:
            return _SINGLETONS[code]
        if code == b"u":
            return self.take(self.int32()).decode("utf-8", "surrogatepass")
        if code == b"g":
            return struct.unpack("<d", self.take(8))[0]
        if code in BUILDERS:
            count = self.int32()
            if count < 0 or count > len(self.data) - self.at:  # each item takes at least one byte
                raise MalformedValue("cut short")
            return BUILDERS[code]([self.value(depth - 1) for _ in range(count)])
        if code == b"{":
            return self.mapping(depth)
        if code == b"l":
            return self.long()
        if code == b"s":
            return self.take(self.int32())
        if code == b"y":
            return complex(*struct.unpack("<dd", self.take(16)))
        raise MalformedValue(f"type code {code!r}")

    def mapping(self, depth: int) -> dict[Any, Any]:
        pairs: list[tuple[Any, Any]] = []
        while self.data[self.at : self.at + 1] != b"0":
            key = self.value(depth - 1)
            pairs.append((key, self.value(depth - 1)))
        self.at += 1
        return mapping_of(pairs)

    def long(self) -> int:
        count = self.int32()
        total = _join_digits(self.take(2 * abs(count)))
        return -total if count < 0 else total


def _join_digits(digits: bytes) -> int:
    """The int of base-2**15 digits, two bytes each, little endian, in quasi-linear time.

    Read as one number with a gap of one bit in every 16; then gaps are closed between neighbours,
    in lanes that double: 15 bits of 16, 30 of 32, 60 of 64, ...
    """
    total, size = int.from_bytes(digits, "little"), len(digits)
    if total & int.from_bytes(b"\x00\x80" * (size // 2), "little"):
        raise MalformedValue("bad digit")
    lane, gap = 2, 1
    while lane < size:
        pattern = b"\xff" * lane + bytes(lane)
        low = int.from_bytes(pattern * (size // (2 * lane) + 1), "little")
        total = (total & low) | ((total & (low << 8 * lane)) >> gap)
        lane, gap = 2 * lane, 2 * gap
    return total


_SINGLETONS: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
