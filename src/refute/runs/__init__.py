"""Runs: an append-only journal that survives `kill -9`, and a pool of worker processes."""

from __future__ import annotations

from refute.runs.journal import Journal, new_run, read_header, read_run
from refute.runs.pool import Failed, cores, run_tasks
from refute.runs.spawning import shared_slots

__all__ = [
    "Failed",
    "Journal",
    "cores",
    "new_run",
    "read_header",
    "read_run",
    "run_tasks",
    "shared_slots",
]
