"""How the methods put a request: what does not fit into the context is an unreadable answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from refute.models.contract import Asker, Completion, ContextTooLong, Message, Sampling

__all__ = ["samples", "together", "user"]

Result = TypeVar("Result")


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


async def together(jobs: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Their results, in their order, all at once. Raises the first exception, when all have ended.

    So every one gets to put its question, even where the answers come later (`AnswersPending`).
    """
    ended = await asyncio.gather(*jobs, return_exceptions=True)
    results: list[Result] = []
    for one in ended:
        if isinstance(one, BaseException):
            raise one
        results.append(one)
    return results


def user(content: str) -> Message:
    """A message of the user."""
    return Message("user", content)
