"""Tasks that a server keeps: each tenant's own, few, small, and read as if they were new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refute.core.extras import missing
from refute.errors import InputError

if missing("serve"):
    pytest.skip("no extra [serve]", allow_module_level=True)

from refute_lab.rewards import Task
from refute_lab.serving import Bounds, Known, Malformed, read_one

BOUNDS = Bounds(20.0)
ADD: dict[str, Any] = {"entry_point": "f", "tests": [{"args": [1], "expected": 2}]}


def body(program: str = "def f(x): return x", task: Any = ADD, **more: Any) -> bytes:
    return json.dumps({"program": program, "task": task, **more}).encode()


def task_of(known: Known, tenant: str, asked: bytes) -> Task:
    task = known.read(tenant, asked).task
    assert isinstance(task, Task)
    return task


def test_a_task_is_read_once_for_a_tenant_and_is_no_others() -> None:
    known = Known(BOUNDS)
    first = known.read("ann", body("one"))
    again = known.read("ann", body("two", partial=True))
    other = known.read("bob", body("one"))
    assert again.task is first.task
    assert (again.source, again.partial) == ("two", True)
    assert other.task is not first.task
    assert other == first


def test_what_is_kept_is_little() -> None:
    known = Known(BOUNDS)
    first = task_of(known, "ann", body())
    for number in range(64):
        task_of(known, "ann", body(task={**ADD, "id": str(number)}))
    assert task_of(known, "ann", body()) is not first
    for task in (
        {**ADD, "id": "x" * 20_000},
        {**ADD, "tests": [{"args": [1], "expected": "x" * 10_000}] * 4},
        {"entry_point": "f", "source": "assert f(1) == 2"},
    ):
        assert task_of(known, "ann", body(task=task)) is not task_of(known, "ann", body(task=task))


@pytest.mark.parametrize(
    "asked",
    [
        b"{",
        b'{"program": "\xff", "task": {}}',
        b"[" * 100_000,
        b'{"program": "x"}',
        body(task="t"),
        body(task=None),
        body(more=1),
        body(dataset="humaneval"),
        b'{"program": 1, "task": {}}',
        b'{"program": "\\ud800", "task": {"entry_point": "f", "tests": [{"args": [NaN]}]}}',
        body(task={**ADD, "seconds": 100}),
    ],
)
def test_other_requests_are_told_the_same(asked: bytes) -> None:
    told = []
    for read in (lambda: Known(BOUNDS).read("ann", asked), lambda: read_one(asked, BOUNDS)):
        try:
            told.append(repr(read()))
        except (InputError, Malformed) as error:
            told.append(f"{type(error).__name__}: {error}")
    assert told[0] == told[1]
