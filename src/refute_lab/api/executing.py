"""What does the units of a run, by name."""

from __future__ import annotations

from dataclasses import replace

from refute.errors import InputError
from refute.models.asking import Asked
from refute_lab.runs.executors import EXECUTORS, Executor, Workers


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
