"""Output of any length, of which a bounded part is kept.

Also loaded by path inside the jail: standard library only.
"""

from __future__ import annotations


class OutputBuffer:
    """The beginning and the end of a stream of bytes, at most `limit` together."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        """The next bytes of the stream."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half + 65536:
            self._trim()

    def _trim(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            self._cut += over
            del self._tail[:over]

    def content(self) -> bytes:
        """What was kept; a line in the middle tells how much was not."""
        self._trim()
        gap = b"\n[... %d bytes left out ...]\n" % self._cut if self._cut else b""
        return bytes(self._head) + gap + bytes(self._tail)
