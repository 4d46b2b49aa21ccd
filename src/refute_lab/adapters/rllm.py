"""rLLM: an evaluator, ``--evaluator refute`` (tried with rLLM 0.3.0.pre of 2026-08-15, 9beb6e0).

A row's field `task` is the task as JSON.
"""

from __future__ import annotations

from typing import Any

from rllm.eval.reward_fns._helpers import extract_answer_text
from rllm.eval.types import EvalOutput, Signal

from refute_lab.adapters import score

__all__ = ["evaluate"]


def evaluate(task: Any, episode: Any) -> EvalOutput:
    """The verdict on the answer of an episode. `task`: rLLM's, or a row of it as a dict."""
    row = task if isinstance(task, dict) else task.metadata
    one = score(extract_answer_text(episode), row.get("task"))
    return EvalOutput(
        reward=one.reward,
        is_correct=one.passed,
        signals=[Signal(name="accuracy", value=float(one.passed))],
        metadata={"reason": one.reason},
    )
