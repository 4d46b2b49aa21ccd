"""A server that speaks the OpenAI API."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.specs import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from refute.models.dialects import RetryPolicy
    from refute.models.openai import OpenAIModel

    retry = RetryPolicy(attempt=link.timeout, total=3 * link.timeout)
    return OpenAIModel(rest, base_url=link.base_url, concurrency=link.concurrency, retry=retry)


OPENAI = Provider(
    name="openai",
    syntax="openai:NAME",
    summary="a server that speaks the OpenAI API",
    open=_open,
    served=True,
)
