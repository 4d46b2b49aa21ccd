"""Micro-batches: what many tasks ask of one model at nearly the same time is worked on together.

One thread takes what has arrived, waits a few milliseconds for more, picks what may share a batch
and works on it. While it works, the next batch gathers. Knows nothing of the model behind it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Generic, TypeVar

from refute.errors import ModelUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Work = Callable[[Sequence[Item], Callable[[int], bool]], Sequence[Answer]]
"""Items -> one answer for each. The second argument tells whether anyone still waits for item i."""


class TooLarge(Exception):
    """The batch does not fit into memory; a smaller one may."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[Item, Answer]):
    item: Item
    future: Future[Answer]


class MicroBatcher(Generic[Item, Answer]):
    """Collects items from any thread and any event loop, and works on them in one thread.

    `alike` gives the key that the items of one batch share. A batch has at most `limit` items; the
    oldest item is always in the next batch. Where `work` raises `TooLarge`, the batch is halved,
    and no later one is larger than the halves.
    """

    def __init__(
        self,
        work: Work[Item, Answer],
        *,
        alike: Callable[[Item], Hashable],
        limit: int,
        window: float = 0.005,
    ) -> None:
        """`window`: seconds to wait for more after the first item."""
        self.limit = limit
        self._work = work
        self._alike = alike
        self._window = window
        self._arrivals: queue.SimpleQueue[_Job[Item, Answer] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, item: Item) -> Future[Answer]:
        """Queue the item. Cancelling the future withdraws it. Raises `ModelUnavailable`: closed."""
        job: _Job[Item, Answer] = _Job(item, Future())
        with self._lock:
            if self._closed:
                raise ModelUnavailable("the model is closed")
            if self._thread is None:  # a daemon: a forgotten `close` must not keep Python alive
                self._thread = threading.Thread(target=self._run, name="microbatch", daemon=True)
                self._thread.start()
            self._arrivals.put(job)
        return job.future

    def close(self) -> None:
        """Fail what is waiting and end the thread; idempotent. A batch in work is cut short."""
        with self._lock:
            self._closed = True
            self._arrivals.put(None)
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        waiting: list[_Job[Item, Answer]] = []
        while not self._closed:
            waiting += self._gather(patient=not waiting)
            waiting = [job for job in waiting if not job.future.cancelled()]
            if waiting and not self._closed:
                key = self._alike(waiting[0].item)
                batch = [job for job in waiting if self._alike(job.item) == key][: self.limit]
                taken = set(map(id, batch))
                waiting = [job for job in waiting if id(job) not in taken]
                self._serve(batch)
        for job in waiting + self._gather(patient=False):
            _fail(job.future, ModelUnavailable("the model is closed"))

    def _gather(self, *, patient: bool) -> list[_Job[Item, Answer]]:
        """What arrives within the window; if `patient`, the window opens with the first arrival."""
        arrived: list[_Job[Item, Answer]] = []
        deadline = None if patient else time.monotonic() + self._window
        while True:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                job = self._arrivals.get(timeout=wait)
            except queue.Empty:
                return arrived
            if job is None:
                return arrived
            arrived.append(job)
            deadline = deadline or time.monotonic() + self._window

    def _serve(self, batch: Sequence[_Job[Item, Answer]]) -> None:
        def wanted(index: int) -> bool:
            return not (self._closed or batch[index].future.cancelled())

        try:
            answers = self._work([job.item for job in batch], wanted)
        except TooLarge as error:
            if len(batch) == 1:
                _fail(batch[0].future, ModelUnavailable(f"out of memory: {error}"))
                return
        except BaseException as error:
            for job in batch:
                _fail(job.future, error)
            return
        else:
            for job, answer in zip(batch, answers, strict=True):
                if self._closed:  # cut short: not an answer
                    _fail(job.future, ModelUnavailable("the model is closed"))
                else:
                    _finish(job.future, answer)
            return
        # Outside of the handler, whose traceback would keep the failed batch's memory in use.
        half = len(batch) // 2
        self.limit = max(half, len(batch) - half)
        self._serve(batch[:half])
        self._serve(batch[half:])


def _finish(future: Future[Answer], answer: Answer) -> None:
    try:
        future.set_result(answer)
    except InvalidStateError:  # withdrawn meanwhile
        pass


def _fail(future: Future[Answer], error: BaseException) -> None:
    try:
        future.set_exception(error)
    except InvalidStateError:
        pass
