"""What is graded, and how a run of grades may grow: tests and fixes alike.

What a grade is of stands in its record, not in the journal's header. So a run goes on where its
dataset has more instances, and an instance that has changed since is graded anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from refute.errors import InputError
from refute_lab.datasets.swe import IssueItem
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.predictions import Prediction


@dataclass(frozen=True, slots=True)
class GradingTask:
    """One instance with what was predicted for it."""

    item: IssueItem
    prediction: Prediction
    """Its patch is "" where nothing was predicted."""


class Graded(Protocol):
    """A record of a grade."""

    @property
    def content(self) -> str | None:
        """`content_of` its task; None: of an older version."""


def digest_of(*parts: object) -> str:
    """Of instances and predictions, as far as grades depend on them."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode(errors="surrogatepass"))
    return digest.hexdigest()[:32]


def content_of(task: GradingTask) -> str:
    """A digest of the instance and one of the prediction."""
    return f"{digest_of(task.item)}-{digest_of(task.prediction)}"


def stands(task: GradingTask, record: Graded) -> bool:
    """Whether the record is the grade of the task as it is now."""
    return record.content in (None, content_of(task))


def grown(
    header: Mapping[str, Any], tasks: Sequence[GradingTask], started: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The header of a run, as the one that is there has it.

    `started`: the header of a run that is there. It keeps the name of the dataset that it was
    started with; one of an older version holds a digest of all instances and predictions.
    """
    if started is None or started.get("kind") != header["kind"]:
        return dict(header)
    kept = {"dataset": started.get("dataset")}
    if "content" in started:
        kept["content"] = digest_of(*((task.item, task.prediction) for task in tasks))
    return {**header, **kept}


def check_growth(
    directory: Path,
    records: Mapping[str, Any],
    tasks: Sequence[GradingTask],
    dataset: str,
) -> None:
    """Raise `InputError` where the run in a folder has grades of instances that are not among the
    tasks, or of another prediction. `records`: `Graded` ones and errors, by instance."""
    if left := sorted(records.keys() - {task.item.problem.id for task in tasks}):
        told = f"holds grades of instances that {dataset} lacks, e.g. {left[0]}"
        raise InputError(f"{directory}: {told}; give another folder")
    for task in tasks:
        id = task.item.problem.id
        record = records.get(id)
        if record is None or isinstance(record, ErrorRecord) or record.content is None:
            continue
        if record.content.partition("-")[2] != digest_of(task.prediction):
            told = f"was started with another prediction for {id}"
            raise InputError(f"{directory}: {told}; use the same ones, or another folder")
