"""From `--model SPEC` to a model."""

from __future__ import annotations

from pathlib import Path

from refute.errors import InputError
from refute.models.contract import Model

__all__ = ["SPECS", "open_model"]

SPECS = "openai:NAME, hf:PATH_OR_ID[+ADAPTER], batch:DIR or replay:FILE"


def open_model(
    spec: str,
    *,
    base_url: str | None = None,
    concurrency: int = 64,
    timeout: float = 300.0,
) -> Model:
    """The model that a spec names (`SPECS`).

    `base_url`, `concurrency` (requests at once) and `timeout` (seconds for one try of a request;
    all tries together have three times as long) concern `openai:` only. Raises `InputError` for a
    spec that is none and for files that cannot be used, `ModelUnavailable` where a key is missing.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or not rest or kind not in ("openai", "hf", "batch", "replay"):
        raise InputError(f"--model {spec}: must be {SPECS}")
    if base_url is not None and kind != "openai":
        raise InputError(f"--base-url is for openai:NAME models, not for {kind}:")
    if not timeout > 0 or concurrency < 1:
        raise InputError("the time limit and the number of requests at once must be positive")
    # Each kind is imported where it is asked for: torch and the HTTP client take seconds.
    if kind == "openai":
        from refute.models.openai import OpenAIModel
        from refute.models.patience import Patience

        patience = Patience(attempt=timeout, total=3 * timeout)
        return OpenAIModel(rest, base_url=base_url, concurrency=concurrency, patience=patience)
    if kind == "hf":
        from refute.models.hf import open_hf

        return open_hf(rest)
    if kind == "batch":
        from refute.models.batch import open_batch

        return open_batch(rest)
    from refute.models.replay import ReplayModel

    return ReplayModel(Path(rest))
