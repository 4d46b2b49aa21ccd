"""Figures of a run, sent on to trackio, Weights & Biases or MLflow, whichever you have.

    with tracking("trackio", project="mine", name="utgen") as report:
        for record in read_log(folder / "log.jsonl"):
            report(record)

`report` is a `Report` of `train.run_folder`: it may as well be given to a training. Tried with
trackio 0.43.0, wandb 0.31.0 and mlflow-skinny 3.17.2.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from refute.errors import InputError

__all__ = ["TRACKERS", "tracking"]

TRACKERS = ("trackio", "wandb", "mlflow")
"""Their names are those of the packages, which are not part of any extra."""


@contextmanager
def tracking(
    tracker: str, *, project: str = "refute", name: str | None = None
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Begin a run of a tracker; what it gives logs the numbers of a record at its `step`.

    Where and how runs are kept is for the tracker's own settings to say. Raises `InputError`.
    """
    if tracker not in TRACKERS:
        raise InputError(f"tracker {tracker!r} is none of {', '.join(TRACKERS)}")
    try:
        package: Any = importlib.import_module(tracker)
    except ModuleNotFoundError:
        raise InputError(f"{tracker} is not installed: pip install {tracker}") from None
    if tracker == "mlflow":
        package.set_experiment(project)
        package.start_run(run_name=name)
        log, finish = package.log_metrics, package.end_run
    else:
        package.init(project=project, name=name)
        log, finish = package.log, package.finish

    def report(record: Mapping[str, Any]) -> None:
        numbers = {
            key: float(value)
            for key, value in record.items()
            if key != "step" and isinstance(value, int | float) and not isinstance(value, bool)
        }
        if numbers:
            log(numbers, step=int(record.get("step", 0)))

    try:
        yield report
    finally:
        finish()
