"""The codec by which values cross the sandbox's border: data only, never pickled, never executed.

This file is also loaded by path inside the sandbox, so it imports the standard library only and
nothing of `refute`.

An encoding is one tag byte and a body:

- ``M``: the body is `marshal` version 2 of a value made only of the plain types None, bool, int,
  float, complex, str, bytes, list, tuple, dict, set and frozenset, exactly (no subclasses).
  Version 2 has no back references, so equal plain values have equal bytes up to the order of sets
  and dictionaries.
- ``X``: the body is `marshal` version 2 of a node ``(kind, payload)``, where containers hold
  nodes. Kinds: ``v`` plain value; ``l t s f d`` list, tuple, set, frozenset, dict (subclasses too:
  a namedtuple compares as a tuple, a Counter as a dict; items are read by the base class, so an
  override cannot lie); ``bytearray``, ``range``, ``Decimal``, ``Fraction``, ``datetime``,
  ``date``, ``time``, ``timedelta``, ``deque``, ``ndarray``; ``iter`` an iterator or generator, its
  first `MAX_ITEMS` items; ``opaque`` anything else: type name, a bounded `repr`, and attributes
  where it has a plain ``__dict__``.

The encoder runs inside the sandbox next to hostile code and may be made to lie about the value of
the program that it runs in, never about another. The decoder `decode` runs on the trusted side: it
parses the bytes itself with bounds on size and depth and builds plain values and the few types
above; it never calls `marshal.loads`.
"""

from __future__ import annotations

import marshal
import struct
import sys
from typing import Any

__all__ = [
    "Iterated",
    "MalformedValue",
    "NDArray",
    "Opaque",
    "Unencodable",
    "decode",
    "encode",
]

MAX_DEPTH = 150  # in plain Python recursion on both sides, whatever calls them
MAX_ITEMS = 10_000
MAX_REPR = 2_000
MAX_FRACTION_BITS = 200_000

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_SEQUENCES = frozenset({list, tuple, set, frozenset})


class MalformedValue(ValueError):
    """The bytes are not an encoding of any value."""


class Unencodable(TypeError):
    """The value has no faithful encoding, so it cannot be an argument or an expected output."""


class _Record:
    """A tiny value class; this module must stay cheap to import, so no dataclasses."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *parts: Any) -> None:
        for name, part in zip(self.__slots__, parts, strict=True):
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, repr(self._key())))


class NDArray(_Record):
    """A numpy array: `dtype` by name, `shape`, and its items `data` as nested plain lists."""

    __slots__ = ("data", "dtype", "shape")
    data: Any
    dtype: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"array({self.data!r}, dtype={self.dtype!r})"


class Iterated(_Record):
    """An iterator or generator: its type's name, the items it gave, and whether more were left."""

    __slots__ = ("items", "more", "type")
    items: tuple[Any, ...]
    more: bool
    type: str

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.items[:20]))
        dots = ", ..." if self.more or len(self.items) > 20 else ""
        return f"<{self.type} of {inner}{dots}>"


class Opaque(_Record):
    """A value without an encoding: its type, a bounded `repr`, and its attributes where it has any.

    Two opaque values are equal when all three are: for grading that is the best that can be said
    about, for example, two instances of a class that the program itself defines.
    """

    __slots__ = ("attributes", "repr", "type")
    attributes: tuple[tuple[str, Any], ...]
    repr: str
    type: str

    def __repr__(self) -> str:
        return self.repr or f"<{self.type}>"


# -- encoding --------------------------------------------------------------------------------------


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether `value` consists only of the plain types, exactly, nested at most `depth` deep."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind in _SEQUENCES:
        kinds = set(map(type, value))
    elif kind is dict:
        kinds = set(map(type, value.values()))
        kinds.update(map(type, value))
    else:
        return False
    if kinds <= _ATOMS:
        return True
    if depth <= 0:
        return False
    depth -= 1
    if kind is dict:
        return all(is_plain(k, depth) and is_plain(v, depth) for k, v in value.items())
    return all(is_plain(item, depth) for item in value)


def encode(value: Any, *, strict: bool = False) -> bytes:
    """Encode `value`; with `strict`, raise `Unencodable` where that would not be faithful."""
    if is_plain(value):
        return b"M" + marshal.dumps(value, 2)
    return b"X" + marshal.dumps(node(value, strict), 2)


def node(value: Any, strict: bool = False, depth: int = MAX_DEPTH) -> tuple[Any, ...]:
    """The tagged form of a value that is not plain (see the module's docstring)."""
    if depth <= 0:
        if strict:
            raise Unencodable("nested too deeply or cyclic")
        return ("opaque", type(value).__name__, "...", [])
    kind = type(value)
    if kind in _ATOMS:
        return ("v", value)
    inner = depth - 1
    # bool cannot be subclassed; the conversions by base class cannot be overridden
    if issubclass(kind, int):
        return ("v", int.__index__(value))
    if issubclass(kind, float):
        return ("v", float.__float__(value))
    if issubclass(kind, complex):
        return ("v", complex(complex.real.__get__(value), complex.imag.__get__(value)))
    if issubclass(kind, str):
        return ("v", str.__str__(value)[:] if kind is str else str.__getitem__(value, slice(None)))
    if issubclass(kind, bytes):
        return ("v", bytes.__getitem__(value, slice(None)))
    for base, tag in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f")):
        if issubclass(kind, base):
            items = base.__iter__(value)
            return (tag, [node(item, strict, inner) for item in items])
    if issubclass(kind, dict):
        pairs = dict.items(value)
        return ("d", [(node(k, strict, inner), node(v, strict, inner)) for k, v in pairs])
    if kind is bytearray:
        return ("bytearray", bytes(value))
    if kind is range:
        return ("range", (value.start, value.stop, value.step))
    special = _encode_library_type(kind, value, strict, inner)
    if special is not None:
        return special
    if strict:
        raise Unencodable(f"a value of type {kind.__name__} cannot cross into the sandbox")
    if hasattr(kind, "__next__"):
        return _encode_iterator(kind, value, inner)
    return _encode_opaque(kind, value, inner)


def _encode_library_type(
    kind: type, value: Any, strict: bool, depth: int
) -> tuple[Any, ...] | None:
    """Types of modules that are imported only if the program imported them."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in ("decimal.Decimal", "datetime.datetime", "datetime.date", "datetime.time"):
        return (kind.__name__, str(value) if kind.__name__ == "Decimal" else value.isoformat())
    if name == "fractions.Fraction":
        return ("Fraction", (value.numerator, value.denominator))
    if name == "datetime.timedelta":
        return ("timedelta", (value.days, value.seconds, value.microseconds))
    if name == "collections.deque":
        return ("deque", ([node(item, strict, depth) for item in value], value.maxlen))
    if name.startswith("collections.") and name in (
        "collections.UserDict",
        "collections.UserList",
        "collections.UserString",
    ):
        return node(value.data, strict, depth)
    if name in ("builtins.dict_keys", "builtins.dict_values", "builtins.dict_items"):
        tag = "l" if name.endswith("values") else "s"
        return (tag, [node(item, strict, depth) for item in value])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if issubclass(kind, numpy.ndarray):
            data = value.tolist()
            return ("ndarray", (node(data, strict, depth), str(value.dtype), tuple(value.shape)))
        if issubclass(kind, numpy.generic):
            return node(value.item(), strict, depth)
    return None


def _encode_iterator(kind: type, value: Any, depth: int) -> tuple[Any, ...]:
    items: list[Any] = []
    more = True
    for _ in range(MAX_ITEMS):
        try:
            items.append(node(next(value), False, depth))
        except StopIteration:
            more = False
            break
    return ("iter", kind.__name__, items, more)


def _encode_opaque(kind: type, value: Any, depth: int) -> tuple[Any, ...]:
    try:
        text = str(repr(value))[:MAX_REPR]
    except Exception:
        text = ""
    if " at 0x" in text:  # the default repr names an address, which is no part of the value
        text = f"<{kind.__name__}>"
    fields = getattr(value, "__dict__", None)
    attributes = []
    if type(fields) is dict and not isinstance(value, type) and not callable(value):
        attributes = [(str(k), node(v, False, depth)) for k, v in list(fields.items())[:100]]
    return ("opaque", kind.__name__, text, attributes)


# -- decoding (trusted side; also used on trusted data inside the sandbox) -------------------------


def decode(data: bytes) -> Any:
    """Decode bytes that may come from hostile code; executes nothing. Raises `MalformedValue`."""
    tag, body = data[:1], data[1:]
    try:
        if tag == b"M":
            return _Reader(body).whole()
        if tag == b"X":
            return from_node(_Reader(body).whole())
    except (struct.error, UnicodeDecodeError, TypeError, ValueError, KeyError, RecursionError) as e:
        raise MalformedValue(str(e) or type(e).__name__) from None
    except (ArithmeticError, MemoryError) as e:
        raise MalformedValue(str(e) or type(e).__name__) from None
    raise MalformedValue("unknown tag")


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
    if kind == "iter":
        _, name, items, more = tree
        return Iterated(tuple(from_node(i, inner) for i in items), bool(more), printable(str(name)))
    _, payload = tree
    if kind == "v":
        return payload
    if kind in ("l", "t", "s", "f"):
        items = [from_node(item, inner) for item in payload]
        return _BUILDERS[_CODES[kind]](items)
    if kind == "d":
        return _dict([(from_node(k, inner), from_node(v, inner)) for k, v in payload])
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
            raise MalformedValue("fraction too long")  # reducing it takes quadratic time
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
        if code in _BUILDERS:
            count = self.int32()
            if count < 0 or count > len(self.data) - self.at:  # each item takes at least one byte
                raise MalformedValue("cut short")
            return _BUILDERS[code]([self.value(depth - 1) for _ in range(count)])
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
        return _dict(pairs)

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


def _spread(items: list[Any]) -> list[Any]:
    """Refuse items made to share a hash: a set of 100,000 of those takes hours to build."""
    if len(items) > 100 and 8 * len(set(map(hash, items))) < len(items):
        raise MalformedValue("too many items with the same hash")
    return items


def _dict(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    _spread([key for key, _ in pairs])
    return dict(pairs)


def _set(items: list[Any]) -> set[Any]:
    return set(_spread(items))


def _frozenset(items: list[Any]) -> frozenset[Any]:
    return frozenset(_spread(items))


_SINGLETONS: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_BUILDERS: dict[bytes, Any] = {b"[": list, b"(": tuple, b"<": _set, b">": _frozenset}
_CODES = {"l": b"[", "t": b"(", "s": b"<", "f": b">"}
