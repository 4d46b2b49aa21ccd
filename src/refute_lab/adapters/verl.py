"""verl: `compute_score`, loaded by the path of this file (tried with verl 0.9.1).

    reward.custom_reward_function.path=.../refute_lab/adapters/verl.py
    reward.custom_reward_function.name=compute_score

A row's `reward_model.ground_truth` is the task as JSON.
"""

from __future__ import annotations

from typing import Any

from refute_lab.adapters import score_async

__all__ = ["compute_score"]


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Any = None,
    partial: bool = False,
    **others: Any,
) -> dict[str, float]:
    """The reward as `score`, and whether all is right as `acc`.

    `partial`: see `refute_lab.adapters.score`; it is one of verl's `reward_kwargs`.
    """
    one = await score_async(solution_str, ground_truth, partial=partial)
    return {"score": one.reward, "acc": float(one.passed)}
