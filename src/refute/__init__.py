"""Unit tests that prove Python code wrong, and fixes that prove themselves right.

The public API on one screen. Everything is imported on first use, so `import refute` is cheap.

    from refute import FunctionProblem, LocalSandbox, search

    with LocalSandbox() as box:
        result = search(problem, box=box, budget=10.0)
    result.failing      # unit tests that the code fails
    result.candidates   # fixes that pass every trusted test, best first; empty: abstained
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute.datasets import load
    from refute.errors import InputError, SandboxUnavailable
    from refute.function.contract import Candidate, FailingTest, Finding, MethodResult
    from refute.function.examples import read_examples
    from refute.function.search import search
    from refute.function.target import open_target, problem_of
    from refute.methods import Context, Method, MethodSpec, method
    from refute.problems import (
        Call,
        Expression,
        FunctionKey,
        FunctionPrediction,
        FunctionProblem,
        Trust,
        UnitTest,
    )
    from refute.sandbox import Limits, Outcome, Program, Sandbox
    from refute.sandbox.local import LocalSandbox

_HOMES = {
    "refute.problems": (
        "Call",
        "Expression",
        "FunctionKey",
        "FunctionPrediction",
        "FunctionProblem",
        "Trust",
        "UnitTest",
    ),
    "refute.function.contract": ("Candidate", "FailingTest", "Finding", "MethodResult"),
    "refute.methods": ("Context", "Method", "MethodSpec", "method"),
    "refute.function.examples": ("read_examples",),
    "refute.function.search": ("search",),
    "refute.function.target": ("open_target", "problem_of"),
    "refute.sandbox": ("Limits", "Outcome", "Program", "Sandbox"),
    "refute.sandbox.local": ("LocalSandbox",),
    "refute.datasets": ("load",),
    "refute.errors": ("InputError", "SandboxUnavailable"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Call",
    "Candidate",
    "Context",
    "Expression",
    "FailingTest",
    "Finding",
    "FunctionKey",
    "FunctionPrediction",
    "FunctionProblem",
    "InputError",
    "Limits",
    "LocalSandbox",
    "Method",
    "MethodResult",
    "MethodSpec",
    "Outcome",
    "Program",
    "Sandbox",
    "SandboxUnavailable",
    "Trust",
    "UnitTest",
    "load",
    "method",
    "open_target",
    "problem_of",
    "read_examples",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'refute' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
