"""The body of a server's answer: read up to a bound, unpacked here, and UTF-8.

A server's word on its body is not taken: not how long it is, not how far it unpacks, not its
charset (JSON is UTF-8, and Python knows "charsets" that are no encodings of text).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Any

__all__ = ["ACCEPTED", "LARGEST", "BodyRefused", "bound"]

ACCEPTED = {"accept-encoding": "gzip"}
"""The header of a request: what `bound` unpacks."""
LARGEST = 16 << 20
"""Bytes, on the wire and unpacked. A hundred answers of 32,000 tokens fit, and the objects that the
worst JSON of this size makes fit into 1 GB."""


class BodyRefused(Exception):
    """The body of an answer is not read any further. The text is one line for people."""


async def bound(response: Any) -> None:
    """The hook for every response of an HTTP client, whatever its status: its body is bounded.

    `response` is one of httpx or of httpx2, whose base classes the newer OpenAI client uses.
    Reading it raises `BodyRefused`.
    """
    packing = response.headers.pop("content-encoding", "").strip().lower()
    stream = response.stream
    base = next(kind for kind in type(stream).__mro__ if kind.__name__ == "AsyncByteStream")
    made = type("BoundStream", (base,), {"__aiter__": _chunks, "aclose": stream.aclose})()
    made.inner, made.packing = stream, packing
    response.stream = made
    response.encoding = "utf-8"


async def _chunks(bound_stream: Any) -> AsyncIterator[bytes]:
    """The unpacked body."""
    packing = bound_stream.packing
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise BodyRefused(f"its answer is packed as {packing[:40]!r}, which it was not asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in packing else None
    sent = size = 0
    async for chunk in bound_stream.inner:
        sent += len(chunk)
        if unpack is not None:
            try:
                chunk = unpack.decompress(chunk, LARGEST + 1)
            except zlib.error:
                raise BodyRefused("its answer is said to be packed by gzip, and is not") from None
        size += len(chunk)
        if max(sent, size) > LARGEST:
            raise BodyRefused(f"its answer is larger than {LARGEST >> 20} MiB")
        yield chunk
