"""Files of requests that somebody answers, in OpenAI's batch format."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.specs import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from refute.models.batch import open_batch

    return open_batch(rest)


BATCH = Provider(
    name="batch",
    syntax="batch:DIR",
    summary="files of requests that somebody answers",
    open=_open,
)
