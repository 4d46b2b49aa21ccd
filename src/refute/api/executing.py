"""What does the units of a run, by name."""

from __future__ import annotations

from dataclasses import replace

from refute.errors import InputError
from refute.models.asking import Asked
from refute.registry import EXECUTORS
from refute.runs.executors import Executor, Workers

__all__ = ["asked_of_workers", "executor_of", "on_gpus"]


def executor_of(given: Executor | str | None, workers: Workers) -> Executor | None:
    """The executor `NAME[:PLACE]`, or the one that was given; None: the run's own.

    Raises `InputError` for one that does not do such work.
    """
    if isinstance(given, str):
        name, _, place = given.partition(":")
        return EXECUTORS.get(name).make(replace(workers, place=place))
    if given is not None and workers.waits:
        raise InputError("an executor for work that waits is given by its name, as in ray:ADDRESS")
    return given


def on_gpus(workers: Workers, asked: Asked) -> Workers:
    """With a GPU for each where the models are in the process (`hf:`)."""
    models = (asked.model or "", asked.tester or "")
    return replace(workers, gpus=1.0) if any(m.startswith("hf:") for m in models) else workers


def asked_of_workers(asked: Asked) -> Asked:
    """What several workers may ask models for, each on its own.

    Raises `InputError` for what only one process can keep.
    """
    kept = {
        "--budget-usd": asked.budget_usd,
        "--budget-tokens": asked.budget_tokens,
        "--record": asked.record,
        "--prompts": asked.prompts,
    }
    for option, value in kept.items():
        if value is not None:
            raise InputError(f"{option} is kept by one process; leave out --executor")
    for model in (asked.model, asked.tester):
        if model is not None and model.startswith("batch:"):
            raise InputError(f"{model} is asked by one process; leave out --executor")
    return asked
