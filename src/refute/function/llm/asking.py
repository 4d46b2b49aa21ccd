"""How the methods put a request: what does not fit into the context has no answer."""

from __future__ import annotations

from collections.abc import Sequence

from refute.errors import ContextTooLong
from refute.models.contract import Asker, Completion, Message, Sampling

__all__ = ["samples", "user"]


async def samples(
    ask: Asker, messages: Sequence[Message], *, first: int, n: int, sampling: Sampling
) -> list[Completion | None]:
    """Samples number `first` to `first + n - 1`; None for each where the request is too long.

    Raises what `Asker.ask` raises besides.
    """
    try:
        return list(await ask.ask(messages, n=n, first=first, sampling=sampling))
    except ContextTooLong:
        return [None] * n


def user(content: str) -> Message:
    """A message of the user."""
    return Message("user", content)
