"""Who may ask: tokens, each of a tenant."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from refute.errors import InputError
from refute_lab.rewards import Task
from refute_lab.rewards.task import Kind
from refute_lab.serving.requests import Bounds, Program, read_one

EVERYBODY = "everybody"
"""The tenant of a server without tokens."""
_SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What a header may hold as a bearer's token (RFC 6750)."""


class Tokens:
    """Tokens by their digests, so that a look-up takes as long for one that is nearly right."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens`: token -> tenant."""
        self._tenants = {_digest(token): tenant for token, tenant in tokens.items()}

    def __len__(self) -> int:
        return len(self._tenants)

    def tenant(self, authorization: str | None) -> str | None:
        """The tenant that a header ``Authorization: Bearer TOKEN`` names; None: nobody."""
        if not self._tenants:
            return EVERYBODY
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._tenants.get(_digest(token.strip()))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def read_tokens(text: str, source: str) -> Tokens:
    """Lines ``TENANT TOKEN``; empty ones and those that begin with ``#`` say nothing. A tenant may
    have several tokens. `source`: what the text is of, for messages. Raises `InputError`, whose
    message holds no token."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where, parts = f"{source}, line {number}", line.split()
        if len(parts) != 2:
            raise InputError(f"{where}: a line is TENANT TOKEN")
        tenant, token = parts
        if not _NAME.fullmatch(tenant):
            raise InputError(f"{where}: a tenant's name is of letters, digits, '_', '.' and '-'")
        if not _TOKEN.fullmatch(token) or len(token) < _SHORTEST:
            raise InputError(
                f"{where}: a token has {_SHORTEST} characters and more, of letters, digits and "
                "._~+/=- (openssl rand -hex 32)"
            )
        if found.setdefault(token, tenant) != tenant:
            raise InputError(f"{where}: the token is another tenant's too")
    if not found:
        raise InputError(f"{source}: no token; a line is TENANT TOKEN")
    return Tokens(found)


# -- held ------------------------------------------------------------------------------------------


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


# -- known -----------------------------------------------------------------------------------------


_MOST = 64
"""Tasks of a tenant that are kept."""
_LARGEST = 1 << 14
"""Bytes of the text of one."""


class _Told(msgspec.Struct, forbid_unknown_fields=True):
    program: str
    task: msgspec.Raw
    partial: bool = False


class Known:
    """Reads requests for one verdict. What it keeps of a tenant, no other tenant meets."""

    def __init__(self, bounds: Bounds) -> None:
        """For one thread: that of the event loop."""
        self._bounds = bounds
        self._tasks: dict[tuple[str, Kind | None], OrderedDict[bytes, Task]] = {}

    def read(self, tenant: str, body: bytes, kind: Kind | None = None) -> Program:
        """See `refute_lab.serving.requests.read_one`. Raises `Malformed` and `InputError`."""
        told = _told(body)
        if told is None:
            return read_one(body, self._bounds, kind)
        tasks = self._tasks.setdefault((tenant, kind), OrderedDict())
        text = bytes(told.task)
        task = tasks.get(text)
        if task is not None:
            tasks.move_to_end(text)
            return Program(told.program, task, told.partial)
        read = read_one(body, self._bounds, kind)
        if isinstance(read.task, Task) and read.task.is_small:
            tasks[text] = read.task
            if len(tasks) > _MOST:
                tasks.popitem(last=False)
        return read


def _told(body: bytes) -> _Told | None:
    """The request with the task as text; None where it is another request, or not a right one."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return told if len(told.task) <= _LARGEST else None
