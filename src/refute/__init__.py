"""Unit tests that prove Python code wrong, and fixes that prove themselves right.

The public API on one screen. Everything is imported on first use, so `import refute` is cheap.

    import refute

    result = refute.debug("examples/shipping.py::shipping_cost")
    result.state     # "fixed"
    result.tests     # unit tests that the code fails
    result.diff      # the fix, as a unified diff

What compares and trains is in `refute_lab`. What else is not named here is private by convention
and may change at any time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute.core.combinators import backtrack, best_of, cross_check, refine, vote
    from refute.core.methods import Bounds, Context, Method, MethodSpec, method
    from refute.core.problems import (
        Call,
        Expression,
        FunctionKey,
        FunctionPrediction,
        FunctionProblem,
        IssueKey,
        IssuePrediction,
        IssueProblem,
        Scenario,
        Trust,
        UnitTest,
    )
    from refute.doors.notebook import load_ipython_extension
    from refute.errors import InputError, LimitReached, RefuteError, SandboxUnavailable, Unavailable
    from refute.function.contract import Candidate, FailingTest, Finding, MethodResult, State
    from refute.function.search.engine import search
    from refute.function.target import open_target, problem_of
    from refute.issue.contract import Reproduction
    from refute.models.asking import Asked
    from refute.models.contract import Model
    from refute.models.providers import open_model
    from refute.sandbox import Limits, Outcome, Program, Sandbox
    from refute.sandbox.local import LocalSandbox
    from refute.verbs.debug import DebugOptions, debug
    from refute.verbs.diff import DiffOptions, DiffResult, diff
    from refute.verbs.fix import FixOptions, FixResult, fix
    from refute.verbs.functions import DebugResult, HuntResult
    from refute.verbs.gate import GateOptions, GateResult, HookAnswer, gate, gate_hook
    from refute.verbs.harden import HardenOptions, HardenResult, harden
    from refute.verbs.hunt import HuntOptions, hunt
    from refute.verbs.init import InitResult, init
    from refute.verbs.issues import ReproduceResult, VetResult
    from refute.verbs.reproduce import ReproduceOptions, reproduce
    from refute.verbs.vet import RankedFixes, VetOptions, rank_fixes, vet
    from refute.workspace.contract import Workspace

_HOMES = {
    "refute.core.combinators": ("backtrack", "best_of", "cross_check", "refine", "vote"),
    "refute.core.methods": ("Bounds", "Context", "Method", "MethodSpec", "method"),
    "refute.core.problems": (
        "Call",
        "Expression",
        "FunctionKey",
        "FunctionPrediction",
        "FunctionProblem",
        "IssueKey",
        "IssuePrediction",
        "IssueProblem",
        "Scenario",
        "Trust",
        "UnitTest",
    ),
    "refute.doors.notebook": ("load_ipython_extension",),
    "refute.errors": (
        "InputError",
        "LimitReached",
        "RefuteError",
        "SandboxUnavailable",
        "Unavailable",
    ),
    "refute.function.contract": ("Candidate", "FailingTest", "Finding", "MethodResult", "State"),
    "refute.function.search.engine": ("search",),
    "refute.function.target": ("open_target", "problem_of"),
    "refute.issue.contract": ("Reproduction",),
    "refute.models.asking": ("Asked",),
    "refute.models.contract": ("Model",),
    "refute.models.providers": ("open_model",),
    "refute.sandbox": ("Limits", "Outcome", "Program", "Sandbox"),
    "refute.sandbox.local": ("LocalSandbox",),
    "refute.verbs.debug": ("DebugOptions", "debug"),
    "refute.verbs.diff": ("DiffOptions", "DiffResult", "diff"),
    "refute.verbs.fix": ("FixOptions", "FixResult", "fix"),
    "refute.verbs.functions": ("DebugResult", "HuntResult"),
    "refute.verbs.gate": ("GateOptions", "GateResult", "HookAnswer", "gate", "gate_hook"),
    "refute.verbs.harden": ("HardenOptions", "HardenResult", "harden"),
    "refute.verbs.hunt": ("HuntOptions", "hunt"),
    "refute.verbs.init": ("InitResult", "init"),
    "refute.verbs.issues": ("ReproduceResult", "VetResult"),
    "refute.verbs.reproduce": ("ReproduceOptions", "reproduce"),
    "refute.verbs.vet": ("RankedFixes", "VetOptions", "rank_fixes", "vet"),
    "refute.workspace.contract": ("Workspace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Asked",
    "Bounds",
    "Call",
    "Candidate",
    "Context",
    "DebugOptions",
    "DebugResult",
    "DiffOptions",
    "DiffResult",
    "Expression",
    "FailingTest",
    "Finding",
    "FixOptions",
    "FixResult",
    "FunctionKey",
    "FunctionPrediction",
    "FunctionProblem",
    "GateOptions",
    "GateResult",
    "HardenOptions",
    "HardenResult",
    "HookAnswer",
    "HuntOptions",
    "HuntResult",
    "InitResult",
    "InputError",
    "IssueKey",
    "IssuePrediction",
    "IssueProblem",
    "LimitReached",
    "Limits",
    "LocalSandbox",
    "Method",
    "MethodResult",
    "MethodSpec",
    "Model",
    "Outcome",
    "Program",
    "RankedFixes",
    "RefuteError",
    "ReproduceOptions",
    "ReproduceResult",
    "Reproduction",
    "Sandbox",
    "SandboxUnavailable",
    "Scenario",
    "State",
    "Trust",
    "Unavailable",
    "UnitTest",
    "VetOptions",
    "VetResult",
    "Workspace",
    "__version__",
    "backtrack",
    "best_of",
    "cross_check",
    "debug",
    "diff",
    "fix",
    "gate",
    "gate_hook",
    "harden",
    "hunt",
    "init",
    "load_ipython_extension",
    "method",
    "open_model",
    "open_target",
    "problem_of",
    "rank_fixes",
    "refine",
    "reproduce",
    "search",
    "vet",
    "vote",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module 'refute' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def _version() -> str:
    """The installed version; "unknown" where only the source is there."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("refute")
    except PackageNotFoundError:
        return "unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
