"""Run untrusted Python functions on inputs: many per second, each contained.

The contract is `Sandbox`; `LocalSandbox` (in `refute.sandbox.local`) implements it with a warm fork
server per worker. Values cross as data (`refute.sandbox.values`) and are compared on the trusted
side (`refute.sandbox.equality`): expected outputs never enter the sandbox.
"""

from __future__ import annotations

from refute.sandbox.contract import (
    Killed,
    Limits,
    NotRun,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
    Sandbox,
    TimedOut,
)

__all__ = [
    "Killed",
    "Limits",
    "NotRun",
    "OutOfMemory",
    "Outcome",
    "Program",
    "Raised",
    "Returned",
    "Sandbox",
    "TimedOut",
]
