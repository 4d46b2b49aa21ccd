"""Tasks that a tenant asked for lately, found by their text: many programs are graded by one task,
and to read and prepare it costs more than the rest of a request."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from refute_lab.rewards import Task
from refute_lab.rewards.task import Kind
from refute_lab.serving.requests import Bounds, Program, read_one

_MOST = 64
"""Tasks of a tenant that are kept."""
_LARGEST = 1 << 14
"""Bytes of the text of one."""


class _Told(msgspec.Struct, forbid_unknown_fields=True):
    program: str
    task: msgspec.Raw
    partial: bool = False


class Known:
    """Reads requests for one verdict. What it keeps of a tenant, no other tenant meets."""

    def __init__(self, bounds: Bounds) -> None:
        """For one thread: that of the event loop."""
        self._bounds = bounds
        self._tasks: dict[tuple[str, Kind | None], OrderedDict[bytes, Task]] = {}

    def read(self, tenant: str, body: bytes, kind: Kind | None = None) -> Program:
        """See `refute_lab.serving.requests.read_one`. Raises `Malformed` and `InputError`."""
        told = _told(body)
        if told is None:
            return read_one(body, self._bounds, kind)
        tasks = self._tasks.setdefault((tenant, kind), OrderedDict())
        text = bytes(told.task)
        task = tasks.get(text)
        if task is not None:
            tasks.move_to_end(text)
            return Program(told.program, task, told.partial)
        read = read_one(body, self._bounds, kind)
        if isinstance(read.task, Task) and read.task.is_small:
            tasks[text] = read.task
            if len(tasks) > _MOST:
                tasks.popitem(last=False)
        return read


def _told(body: bytes) -> _Told | None:
    """The request with the task as text; None where it is another request, or not a right one."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return told if len(told.task) <= _LARGEST else None
