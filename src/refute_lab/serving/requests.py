"""Requests over HTTP, checked: a text becomes programs and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from refute.core.storage import parse_json
from refute.errors import InputError
from refute_lab.rewards import Task, Test
from refute_lab.rewards.task import Demands, Kind, TaskData, TestData

MOST_MEMORY = 4 << 30
"""Bytes that a program may ask for."""

Read = TypeVar("Read")


class Malformed(Exception):
    """The text is not JSON; `str()` is one line."""


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
class Trial:
    """One generated test to be graded."""

    test: Test | str
    """A call, or the source of a file of asserts."""
    reference: str
    faulty: tuple[str, ...]
    how: dict[str, Any]
    """The other arguments of `refute_lab.rewards.grade_test`."""


Asked = Program | Trial
"""What a sandbox is asked for."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a request."""

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
                "(most_seconds)"
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


def _named(kind: type[Any], *others: dict[str, Any]) -> Meta:
    """Name in the schema the parts that `Task.from_json` reads later."""
    ref = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return Meta(extra_json_schema={"anyOf": [ref, *others]})


_TASK = _named(TaskData)


class Grade(msgspec.Struct, forbid_unknown_fields=True):
    """One program, and a task or a problem of a dataset."""

    program: Annotated[str, Meta(description="Source of a module.")]
    task: Annotated[Any, _TASK] = None
    dataset: str = ""
    problem: str = ""
    partial: Annotated[
        bool, Meta(description="Whether the reward is the share of tests that are passed.")
    ] = False


class Item(Grade):
    """One program of many; `task` may be the name of one of `tasks`."""

    task: Annotated[Any, _named(TaskData, {"type": "string"})] = None


class GradeBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Many programs."""

    items: list[Item]
    tasks: Annotated[
        dict[str, Annotated[Any, _TASK]], Meta(description="Tasks that items name.")
    ] = {}
    partial: Annotated[bool, Meta(description="Of all items.")] = False


class GradeTest(Demands, forbid_unknown_fields=True, kw_only=True):
    """A generated test: a call, or the source of a file of asserts."""

    test: str | TestData
    reference: Annotated[str, Meta(description="A right program.")]
    faulty: Annotated[
        list[str], Meta(min_length=1, description="Programs that the test should tell from it.")
    ]


_ANY_TEST = "assert True"
"""Stands for a file of asserts whose own words are not looked at yet."""


def read_trial(body: bytes, bounds: Bounds) -> Trial:
    """A request for what a test is worth. Raises `Malformed` and `InputError`."""
    read = decoded(body, GradeTest)
    how: dict[str, Any] = {
        name: getattr(read, name) for name in ("entry_point", "seconds", "memory")
    }
    compared: dict[str, Any] = {}
    if isinstance(read.test, str):
        parts: dict[str, Any] = {"kind": "asserts", "source": _ANY_TEST}
    else:
        compared = {"atol": read.atol, "checker": read.checker}
        parts = {"kind": "calls", "tests": [read.test]}
    task = _task({**parts, **how, **compared}, bounds)
    programs = len(read.faulty) + 1
    seconds = max(read.seconds, 0, *(test.seconds or 0 for test in task.tests))
    if programs * seconds > bounds.seconds:
        raise InputError(
            f"{programs} programs of {seconds:g} s: this server gives {bounds.seconds:g} s to all "
            "of them (most_seconds); ask for less `seconds`, or of fewer"
        )
    test = read.test if isinstance(read.test, str) else task.tests[0]
    return Trial(test, read.reference, tuple(read.faulty), {**how, **compared})


def read_one(body: bytes, bounds: Bounds, kind: Kind | None = None) -> Program:
    """A request for one verdict. `kind`: of the task, where it has to be that.

    Raises `Malformed` and `InputError`.
    """
    return _program(decoded(body, Grade), bounds, {}, kind)


def read_batch(body: bytes, bounds: Bounds) -> list[Program]:
    """A request for many verdicts. Raises `Malformed` and `InputError`."""
    batch = decoded(body, GradeBatch)
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
        raise Malformed(f"the body is not JSON: {' '.join(str(error).split())}") from None
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise InputError(" ".join(str(error).split())) from None


def _program(
    one: Grade,
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
        _ = task.is_small  # makes ready what is compared: a thread reads large bodies
    except InputError as error:
        raise InputError(f"{place}{error}") from None
    if kind is not None and task.kind != kind:
        raise InputError(f"{place}a task of {task.kind}; here they are of {kind}")
    return task
