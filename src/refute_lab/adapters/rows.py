"""Rows of a dataset for training by rewards: a prompt, and the task that its answers are paid by.

    {"id": "HumanEval/0", "prompt": [{"role": "user", "content": ...}], "task": "{...}"}

`task` is JSON in a text, since tables (HF datasets, parquet) want one type in a column.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from refute.errors import InputError
from refute.prompts import render
from refute.sandbox.local import LocalSandbox
from refute_lab.adapters.scoring import read_task
from refute_lab.datasets import Item, load
from refute_lab.rewards import Task

__all__ = ["Answers", "Row", "read_rows", "rows"]

Answers = Literal["program", "test"]
"""What a model is asked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A problem, as frameworks want it."""

    id: str
    question: str
    """What the model is asked."""
    task: str
    """The task as JSON (`refute_lab.adapters.scoring.read_task`)."""

    def to_dict(self) -> dict[str, Any]:
        """The row of a file."""
        prompt = [{"role": "user", "content": self.question}]
        return {"id": self.id, "prompt": prompt, "task": self.task}


def rows(
    dataset: str,
    *,
    answers: Answers = "program",
    data: Path | str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> Iterator[Row]:
    """A row for each problem of a dataset, in its order (see `refute_lab.datasets.load`).

    "program": the function is to be written, and is paid by the private tests. "test": asserts are
    to be written for the code under test, and are paid by what they tell apart. Raises `InputError`
    and `SandboxUnavailable`.
    """
    items = load(dataset, data=data, ids=ids, limit=limit)
    if answers == "test":
        for item in items:
            yield Row(item.problem.id, _asked(item, "write_asserts"), json.dumps(_test_task(item)))
        return
    with LocalSandbox() as box:
        tasks = Task.all_of_dataset(dataset, data=data, ids=ids, limit=limit, box=box)
        for item, task in zip(items, tasks, strict=True):
            question = _asked(item, "write_program")
            yield Row(item.problem.id, question, json.dumps(task.to_json()))


def read_rows(path: Path | str) -> Iterator[Row]:
    """The rows of a file that `refute data rows` has written. Raises `InputError`."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = msgspec.json.decode(line, type=_Data)
            read_task(row.task)
        except (msgspec.MsgspecError, InputError) as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        yield Row(row.id, row.prompt[-1].content, row.task)


class _Said(msgspec.Struct):
    content: str


class _Data(msgspec.Struct):
    id: str
    prompt: list[_Said]
    task: str


def _asked(item: Item, prompt: str) -> str:
    problem = item.problem
    seen = {name: getattr(problem, name) for name in ("signature", "description", "entry_point")}
    if prompt == "write_asserts":
        seen["code"] = problem.code.strip("\n")
    return render(prompt, **seen)


def _test_task(item: Item) -> Mapping[str, Any]:
    key = item.key
    if not key.reference:
        raise InputError(f"{key.id}: has no reference, by which a test could be paid")
    task = {"entry_point": key.entry_point, "reference": key.reference}
    return {**task, "faulty": [item.problem.code], "atol": key.atol, "checker": key.checker}
