"""Inspect: a task and a scorer (tried with inspect-ai 0.3.285).

    inspect eval refute/programs -T rows=rows.jsonl --model ...

The names are found by the entry point `inspect_ai`.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from refute_lab.adapters import read_rows, score_async

__all__ = ["programs", "refute_scorer"]


@task
def programs(rows: str, partial: bool = False) -> Task:
    """The rows of a file that `refute data rows` has written.

    `partial`: see `refute_lab.adapters.score`.
    """
    samples = [
        Sample(input=row.question, id=row.id, metadata={"task": row.task})
        for row in read_rows(rows)
    ]
    return Task(MemoryDataset(samples), solver=generate(), scorer=refute_scorer(partial))


@scorer(metrics=[accuracy(), mean(), stderr()])
def refute_scorer(partial: bool = False) -> Any:
    """The verdict on the completion; a sample's `metadata["task"]` is its task as JSON."""

    async def verdict(state: TaskState, target: Target) -> Score:
        one = await score_async(state.output.completion, state.metadata["task"], partial=partial)
        return Score(value=one.reward, explanation=one.reason)

    return verdict
