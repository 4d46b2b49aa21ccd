"""Bytes of requests that a tenant has here: one that sends much has to wait, the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Full(Exception):
    """The tenant has as much here as it may."""


class Held:
    """Counts bytes for each tenant, up to `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()

    @contextmanager
    def share(self, tenant: str) -> Iterator[Share]:
        """What one request holds until it is answered."""
        share = Share(self, tenant)
        try:
            yield share
        finally:
            self._held[tenant] -= share.bytes
            if not self._held[tenant]:
                del self._held[tenant]

    def add(self, tenant: str, count: int) -> None:
        """Raises `Full`."""
        if self._held[tenant] + count > self.most:
            raise Full
        self._held[tenant] += count


class Share:
    """See `Held.share`."""

    def __init__(self, held: Held, tenant: str) -> None:
        self._held = held
        self._tenant = tenant
        self.bytes = 0

    def add(self, count: int) -> None:
        """Raises `Full`."""
        self._held.add(self._tenant, count)
        self.bytes += count
