"""The trusted half of the codec (`values`): bytes that hostile code may have written, to values.

The bytes are parsed here, with bounds on size and depth, and become plain values and the few types
of the codec; `marshal.loads` is never called, nothing is executed.
"""

from __future__ import annotations

import struct
from typing import Any

from refute.sandbox.nodes import BUILDERS, MAX_DEPTH, MalformedValue, from_node, mapping_of

__all__ = ["decode"]


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
