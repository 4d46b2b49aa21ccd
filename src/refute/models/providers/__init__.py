"""Open the model of `--model SPEC`. The modules of this package define the kinds of models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refute.core.registry import MODELS
from refute.errors import InputError
from refute.models.contract import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Address and limits of a served model."""

    base_url: str | None = None
    concurrency: int = 64
    """Requests at once."""
    timeout: float = 300.0
    """Seconds for one try of a request; all tries together have three times as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A kind of model by name: what stands before the colon of a spec.

    A module of this package defines one; another package names its own as entry points
    `refute.models`. `refute.core.registry.MODELS` finds them.
    """

    name: str
    syntax: str
    """The spec for people: "openai:NAME"."""
    summary: str
    open: Callable[[str, Connection], Model]
    """Made of the text after the colon. Raises `InputError`, `ModelUnavailable`."""
    served: bool = False
    """True if it is at a URL."""


def specs() -> str:
    """The specs that there are, for people."""
    *some, last = (provider.syntax for provider in MODELS.all())
    return f"{', '.join(some)} or {last}"


def open_model(
    spec: str,
    *,
    base_url: str | None = None,
    concurrency: int = 64,
    timeout: float = 300.0,
) -> Model:
    """The model that a spec names (`specs`).

    `base_url`, `concurrency` and `timeout`: see `Connection`. Raises `InputError` for a spec that
    is none and for files that cannot be used, `ModelUnavailable` where a key is missing.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or not rest or kind not in MODELS:
        raise InputError(f"--model {spec}: must be {specs()}")
    provider = MODELS.get(kind)
    if base_url is not None and not provider.served:
        served = " and ".join(one.syntax for one in MODELS.all() if one.served)
        raise InputError(f"--base-url is for {served} models, not for {kind}:")
    if not timeout > 0 or concurrency < 1:
        raise InputError("the time limit and the number of requests at once must be positive")
    link = Connection(base_url=base_url, concurrency=concurrency, timeout=timeout)
    return provider.open(rest, link)
