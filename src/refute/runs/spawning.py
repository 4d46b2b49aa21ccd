"""Start worker processes that import nothing from the current folder.

`multiprocessing` starts each as `python -c ...`, where that folder comes first on the path, before
the standard library. It may be anybody's checkout, with a `socket.py` in it.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import BoundedSemaphore

_SAFE = "PYTHONSAFEPATH"


@contextmanager
def spawning() -> Iterator[SpawnContext]:
    """The context that processes and what they share are made in, while this lasts."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield multiprocessing.get_context("spawn")
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


def shared_slots(count: int) -> BoundedSemaphore:
    """`count` places that tasks in several worker processes take turns in."""
    with spawning() as context:  # it starts a process that watches over what is shared
        return context.BoundedSemaphore(count)
