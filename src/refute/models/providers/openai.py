"""A server that speaks the OpenAI API."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.opening import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from refute.models.openai import OpenAIModel
    from refute.models.patience import Patience

    patience = Patience(attempt=link.timeout, total=3 * link.timeout)
    return OpenAIModel(
        rest, base_url=link.base_url, concurrency=link.concurrency, patience=patience
    )


OPENAI = Provider(
    name="openai",
    syntax="openai:NAME",
    summary="a server that speaks the OpenAI API",
    open=_open,
    served=True,
)
