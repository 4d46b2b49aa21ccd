"""Several questions put at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")


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
