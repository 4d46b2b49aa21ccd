"""Weights on this machine, by transformers."""

from __future__ import annotations

from refute.models.contract import Model
from refute.models.specs import Connection, Provider


def _open(rest: str, link: Connection) -> Model:
    from refute.models.hf import open_hf

    return open_hf(rest)


HF = Provider(
    name="hf",
    syntax="hf:PATH_OR_ID[+ADAPTER]",
    summary="weights on this machine, for smoke tests, with the extra [train]",
    open=_open,
)
