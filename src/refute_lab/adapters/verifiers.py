"""verifiers (Prime Intellect): a taskset of rows and its reward (tried with verifiers 0.4.0).

An installed module of your own names it, and its name is the taskset's id:

    from refute_lab.adapters.verifiers import RefuteTaskset
    __all__ = ["RefuteTaskset"]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from refute_lab.adapters import read_rows, score_async

__all__ = ["RefuteConfig", "RefuteData", "RefuteTask", "RefuteTaskConfig", "RefuteTaskset"]


class RefuteTaskConfig(vf.TaskConfig):
    """Settings of the reward."""

    partial: bool = False
    """See `refute_lab.adapters.score`."""


class RefuteConfig(vf.TasksetConfig):
    """Settings of the task set."""

    task: RefuteTaskConfig = RefuteTaskConfig()
    rows: Path = Path("rows.jsonl")
    """Output of `refute data rows`."""


class RefuteData(vf.TaskData):
    """A row. `answer_key` is in traces, and is shown to no model."""

    answer_key: str
    """The task as JSON."""


class RefuteTask(vf.Task[RefuteData, vf.State, RefuteTaskConfig]):
    """A task that is paid by the sandbox."""

    @vf.reward
    async def refute(self, trace: vf.Trace[Any, Any, Any]) -> float:
        """The reward of the last answer."""
        key = self.data.answer_key
        return (await score_async(trace.last_reply, key, partial=self.config.partial)).reward


class RefuteTaskset(vf.Taskset[RefuteTask, RefuteConfig]):
    """The rows of a file."""

    def load(self) -> Iterator[RefuteTask]:
        """A task for each row. Raises `InputError`."""
        for row in read_rows(self.config.rows):
            data = RefuteData(id=row.id, name=row.id, prompt=row.question, answer_key=row.task)
            yield RefuteTask(data, self.config.task)
