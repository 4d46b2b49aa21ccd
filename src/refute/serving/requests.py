"""What is asked over HTTP, checked: the text of a request becomes programs and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from refute.errors import InputError
from refute.jsontext import parse_json
from refute.reward import Task
from refute.reward.task import Kind

__all__ = ["MOST_MEMORY", "Bounds", "Malformed", "Named", "Program", "read_batch", "read_one"]

MOST_MEMORY = 4 << 30
"""Bytes that a program may ask for."""

Read = TypeVar("Read")


class Malformed(Exception):
    """The text is no JSON; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Named:
    """The private tests of a dataset's problem, as a task."""

    dataset: str
    problem: str


@dataclass(frozen=True, slots=True)
class Program:
    """One program to be graded."""

    source: str
    task: Task | Named
    partial: bool
    """Whether the reward is the share of tests that are passed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a request may ask for."""

    seconds: float
    """Elapsed seconds of a program."""
    datasets: tuple[str, ...] = ()

    @property
    def usual(self) -> float:
        """Elapsed seconds of a program whose task states none."""
        return min(self.seconds, Task.run_seconds)

    def check(self, task: Task) -> None:
        """Raises `InputError`."""
        times = [task.seconds, task.run_seconds, *(test.seconds or 0.0 for test in task.tests)]
        if max(times) > self.seconds:
            raise InputError(
                f"limits of {max(times):g} s: this server gives a program {self.seconds:g} s "
                "(--most-seconds)"
            )
        if max(task.memory, *(test.memory or 0 for test in task.tests), 0) > MOST_MEMORY:
            raise InputError(f"limits: a program has {MOST_MEMORY} bytes of memory at most")

    def named(self, dataset: str, problem: str) -> Named:
        """Raises `InputError` where it is not served."""
        if dataset not in self.datasets:
            served = ", ".join(self.datasets) or "none (refute serve --dataset NAME)"
            raise InputError(f"dataset {dataset}: this server has {served}")
        if not problem:
            raise InputError("a dataset needs the id of a `problem`")
        return Named(dataset, problem)


class _One(msgspec.Struct, forbid_unknown_fields=True):
    program: str
    task: Any = None
    dataset: str = ""
    problem: str = ""
    partial: bool = False


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    items: list[_One]
    tasks: dict[str, Any] = {}
    partial: bool = False


def read_one(body: bytes, bounds: Bounds, kind: Kind | None = None) -> Program:
    """A request for one verdict. `kind`: of the task, where it has to be that.

    Raises `Malformed` and `InputError`.
    """
    return _program(decoded(body, _One), bounds, {}, kind)


def read_batch(body: bytes, bounds: Bounds) -> list[Program]:
    """A request for many verdicts. Raises `Malformed` and `InputError`."""
    batch = decoded(body, _Batch)
    tasks = {name: _task(data, bounds, f"tasks.{name}: ") for name, data in batch.tasks.items()}
    return [
        _program(one, bounds, tasks, place=f"items[{index}]: ", partial=batch.partial)
        for index, one in enumerate(batch.items)
    ]


def decoded(body: bytes, form: type[Read]) -> Read:
    """A body of this form. Raises `Malformed` and `InputError`."""
    try:
        value = parse_json(body)
    except ValueError as error:
        raise Malformed(f"the body is no JSON: {' '.join(str(error).split())}") from None
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise InputError(" ".join(str(error).split())) from None


def _program(
    one: _One,
    bounds: Bounds,
    tasks: dict[str, Task],
    kind: Kind | None = None,
    place: str = "",
    partial: bool = False,
) -> Program:
    partial = partial or one.partial
    if (one.task is None) == (not one.dataset):
        raise InputError(f"{place}needs a `task`, or a `dataset` and a `problem`")
    if one.dataset:
        try:
            return Program(one.program, bounds.named(one.dataset, one.problem), partial)
        except InputError as error:
            raise InputError(f"{place}{error}") from None
    if isinstance(one.task, str):
        if one.task not in tasks:
            raise InputError(f"{place}task {one.task!r} is none of `tasks`")
        return Program(one.program, tasks[one.task], partial)
    return Program(one.program, _task(one.task, bounds, place, kind), partial)


def _task(data: Any, bounds: Bounds, place: str = "", kind: Kind | None = None) -> Task:
    if isinstance(data, dict):
        stated = {} if kind is None else {"kind": kind}
        data = {"run_seconds": bounds.usual, **stated, **data}
    try:
        task = Task.from_json(data)
        bounds.check(task)
    except InputError as error:
        raise InputError(f"{place}{error}") from None
    if kind is not None and task.kind != kind:
        raise InputError(f"{place}a task of {task.kind}; here they are of {kind}")
    return task
