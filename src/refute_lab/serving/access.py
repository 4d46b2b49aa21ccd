"""Who may ask: tokens, each of a tenant."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from refute.errors import InputError

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
