"""TRL: a function for `reward_funcs` of `GRPOTrainer` and its kin (tried with TRL 1.16).

    GRPOTrainer(model, reward_funcs=[reward_func()], train_dataset=rows, ...)

`rows` have the columns `prompt` and `task`, as `refute data rows` writes them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from refute.errors import InputError
from refute.models.contract import together
from refute_lab.adapters.scoring import score_async, text_of
from refute_lab.rewards.grading import ManyAtOnce

__all__ = ["reward_func"]


def reward_func(
    *, column: str = "task", partial: bool = False, grader: ManyAtOnce | None = None
) -> Callable[..., Awaitable[list[float]]]:
    """The reward function; `partial`, `grader`: see `refute_lab.adapters.scoring.score`.

    `column`: that of the rows which holds the task as JSON.
    """

    async def refute_reward(completions: Sequence[Any], **columns: Any) -> list[float]:
        if column not in columns:
            raise InputError(f"the rows have no column {column}: they have {', '.join(columns)}")

        async def one(pair: tuple[Any, Any]) -> float:
            scored = await score_async(text_of(pair[0]), pair[1], partial=partial, grader=grader)
            return scored.reward

        return list(await together(map(one, zip(completions, columns[column], strict=True))))

    return refute_reward
