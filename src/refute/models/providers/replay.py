"""Recorded answers."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.specs import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from pathlib import Path

    from refute.models.replay import ReplayModel

    return ReplayModel(Path(rest))


REPLAY = Provider(
    name="replay",
    syntax="replay:FILE",
    summary="recorded answers (--record)",
    open=_open,
)
