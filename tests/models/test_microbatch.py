"""Micro-batches: who shares a batch, who is told what, and how it ends. No model needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import pytest

from refute.errors import ModelUnavailable
from refute.models.checkpoint import MicroBatcher, TooLarge

WAIT = 60.0


class Worker:
    """Doubles numbers; the first batch waits for `gate`, so that a test can fill the queue."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.batches: list[list[int]] = []
        self.most = 10**9

    def __call__(self, items: Sequence[int], wanted: Callable[[int], bool]) -> list[int]:
        self.begun.set()
        assert self.gate.wait(WAIT)
        self.batches.append([item for at, item in enumerate(items) if wanted(at)])
        if len(items) > self.most:
            raise TooLarge(f"{len(items)} are too many")
        if 13 in items:
            raise KeyError("thirteen")
        return [2 * item for item in items]


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def batcher(worker: Worker) -> Iterator[MicroBatcher[int, int]]:
    made = MicroBatcher(worker, alike=lambda item: item % 2, limit=3, window=0.0)
    yield made
    worker.gate.set()
    made.close()


def queue(
    batcher: MicroBatcher[int, int], worker: Worker, items: Sequence[int]
) -> list[Future[int]]:
    """The items as they wait behind a batch of one in work."""
    batcher.submit(0)
    assert worker.begun.wait(WAIT)
    return [batcher.submit(item) for item in items]


def test_alike_items_share_batches_up_to_the_limit_in_order(
    batcher: MicroBatcher[int, int], worker: Worker
) -> None:
    futures = queue(batcher, worker, [1, 2, 3, 5, 4, 7])
    worker.gate.set()
    assert [future.result(WAIT) for future in futures] == [2, 4, 6, 10, 8, 14]
    assert worker.batches == [[0], [1, 3, 5], [2, 4], [7]]


def test_an_error_reaches_everyone_in_the_batch_and_nobody_else(
    batcher: MicroBatcher[int, int], worker: Worker
) -> None:
    futures = queue(batcher, worker, [13, 1, 2])
    worker.gate.set()
    for future in futures[:2]:
        with pytest.raises(KeyError):
            future.result(WAIT)
    assert futures[2].result(WAIT) == 4


def test_closing_fails_what_waits_and_what_is_in_work(
    batcher: MicroBatcher[int, int], worker: Worker
) -> None:
    first = batcher.submit(0)
    assert worker.begun.wait(WAIT)
    second = batcher.submit(2)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while not batcher._closed:
        pass
    worker.gate.set()
    closing.join(WAIT)
    for future in (first, second):
        with pytest.raises(ModelUnavailable, match="closed"):
            future.result(WAIT)
    with pytest.raises(ModelUnavailable, match="closed"):
        batcher.submit(4)
    batcher.close()
