"""A server that speaks Anthropic's messages API."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.specs import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from refute.models.anthropic import AnthropicModel
    from refute.models.dialects import RetryPolicy

    retry = RetryPolicy(attempt=link.timeout, total=3 * link.timeout)
    return AnthropicModel(rest, base_url=link.base_url, concurrency=link.concurrency, retry=retry)


ANTHROPIC = Provider(
    name="anthropic",
    syntax="anthropic:NAME",
    summary="Anthropic's messages API",
    open=_open,
    served=True,
)
