"""refute's own kinds of models. The HTTP client takes long to import: at opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refute.models.contract import Model
from refute.models.providers import Connection, Provider


def _anthropic(rest: str, link: Connection) -> Model:
    from refute.models.anthropic import AnthropicModel

    return AnthropicModel(rest, **_reached(link))


def _openai(rest: str, link: Connection) -> Model:
    from refute.models.openai import OpenAIModel

    return OpenAIModel(rest, **_reached(link))


def _replay(rest: str, link: Connection) -> Model:
    from refute.models.cache import ReplayModel

    return ReplayModel(Path(rest))


def _reached(link: Connection) -> dict[str, Any]:
    from refute.models.dialects import RetryPolicy

    retry = RetryPolicy(attempt=link.timeout, total=3 * link.timeout)
    return {"base_url": link.base_url, "concurrency": link.concurrency, "retry": retry}


ANTHROPIC = Provider(
    name="anthropic",
    syntax="anthropic:NAME",
    summary="Anthropic's messages API",
    open=_anthropic,
    served=True,
)
OPENAI = Provider(
    name="openai",
    syntax="openai:NAME",
    summary="a server that speaks the OpenAI API",
    open=_openai,
    served=True,
)
REPLAY = Provider(
    name="replay",
    syntax="replay:FILE",
    summary="recorded answers (--record)",
    open=_replay,
)
