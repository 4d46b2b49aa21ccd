"""A journalled run in worker processes: what has no result yet is done, and recorded as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar

from refute.runs.journal import Journal
from refute.runs.pool import Failed, run_tasks

__all__ = ["record_tasks"]

Record = dict[str, Any]
Task = TypeVar("Task")


def record_tasks(
    tasks: Sequence[Task],
    journal: Journal,
    *,
    id_of: Callable[[Task], str],
    start: Callable[[], Callable[[Task], Record]],
    jobs: int,
    unavailable: type[Exception],
    failed: Callable[[Task, str], Record],
    stands: Callable[[Task, Record], bool] = lambda task, record: True,
) -> Iterator[int]:
    """Do the tasks that the journal has no result of; yield how many of `tasks` have a record.

    A record with `status` "error" is no result, and one that no longer `stands` is made anew.
    `start` and `jobs` are those of `run_tasks`; `failed` makes the record of a task that has no
    result, for the reason given. Raises `unavailable` when no worker can work at all.
    """

    def done(task: Task) -> bool:
        record = journal.records.get(id_of(task))
        return record is not None and record.get("status") != "error" and stands(task, record)

    left = [task for task in tasks if not done(task)]
    finished = len(tasks) - len(left)
    yield finished
    with closing(run_tasks(left, start=start, jobs=jobs)) as results:
        for task, record in results:
            if isinstance(record, Failed):
                if record.fatal:
                    raise unavailable(record.reason)
                record = failed(task, record.reason)
            journal.append(record)
            finished += 1
            yield finished
