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
    from refute.api.diffing import DiffResult, diff
    from refute.api.failing import FailingResult, debug_failing
    from refute.api.fixes import RankedFixes, rank_fixes
    from refute.api.fixing import FixResult, fix
    from refute.api.functions import DebugResult, HuntResult, debug, hunt
    from refute.api.gating import GateResult, HookAnswer, gate, gate_hook
    from refute.api.hardening import HardenResult, harden
    from refute.api.issues import (
        ReproduceResult,
        VetResult,
        reproduce,
        vet,
    )
    from refute.api.judging import JudgeResult, judge
    from refute.api.red_green import RedGreenResult, red_green
    from refute.api.starting import InitResult, init
    from refute.combinators import backtrack, best_of, cross_check, refine, vote
    from refute.errors import InputError, LimitReached, RefuteError, SandboxUnavailable, Unavailable
    from refute.function.contract import Candidate, FailingTest, Finding, MethodResult, State
    from refute.function.examples import read_examples
    from refute.function.search.engine import search
    from refute.function.target import open_target, problem_of
    from refute.issue.contract import Reproduction
    from refute.methods import Bounds, Context, Method, MethodSpec, method
    from refute.models.asking import Asked
    from refute.models.contract import Model
    from refute.models.specs import open_model
    from refute.problems import (
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
    from refute.sandbox import Limits, Outcome, Program, Sandbox
    from refute.sandbox.local import LocalSandbox
    from refute.surfaces.notebook import load_ipython_extension
    from refute.workspace.contract import Workspace

_HOMES = {
    "refute.api.diffing": ("DiffResult", "diff"),
    "refute.api.fixes": ("RankedFixes", "rank_fixes"),
    "refute.api.fixing": ("FixResult", "fix"),
    "refute.api.failing": ("FailingResult", "debug_failing"),
    "refute.api.gating": ("GateResult", "HookAnswer", "gate", "gate_hook"),
    "refute.api.functions": (
        "DebugResult",
        "HuntResult",
        "debug",
        "hunt",
    ),
    "refute.api.hardening": ("HardenResult", "harden"),
    "refute.api.issues": (
        "ReproduceResult",
        "VetResult",
        "reproduce",
        "vet",
    ),
    "refute.api.judging": ("JudgeResult", "judge"),
    "refute.api.red_green": ("RedGreenResult", "red_green"),
    "refute.api.starting": ("InitResult", "init"),
    "refute.combinators": ("backtrack", "best_of", "cross_check", "refine", "vote"),
    "refute.errors": (
        "InputError",
        "LimitReached",
        "RefuteError",
        "SandboxUnavailable",
        "Unavailable",
    ),
    "refute.function.contract": ("Candidate", "FailingTest", "Finding", "MethodResult", "State"),
    "refute.function.examples": ("read_examples",),
    "refute.function.search.engine": ("search",),
    "refute.function.target": ("open_target", "problem_of"),
    "refute.issue.contract": ("Reproduction",),
    "refute.methods": ("Bounds", "Context", "Method", "MethodSpec", "method"),
    "refute.models.asking": ("Asked",),
    "refute.models.contract": ("Model",),
    "refute.models.specs": ("open_model",),
    "refute.problems": (
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
    "refute.sandbox": ("Limits", "Outcome", "Program", "Sandbox"),
    "refute.sandbox.local": ("LocalSandbox",),
    "refute.surfaces.notebook": ("load_ipython_extension",),
    "refute.workspace.contract": ("Workspace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Asked",
    "Bounds",
    "Call",
    "Candidate",
    "Context",
    "DebugResult",
    "DiffResult",
    "Expression",
    "FailingResult",
    "FailingTest",
    "Finding",
    "FixResult",
    "FunctionKey",
    "FunctionPrediction",
    "FunctionProblem",
    "GateResult",
    "HardenResult",
    "HookAnswer",
    "HuntResult",
    "InitResult",
    "InputError",
    "IssueKey",
    "IssuePrediction",
    "IssueProblem",
    "JudgeResult",
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
    "RedGreenResult",
    "RefuteError",
    "ReproduceResult",
    "Reproduction",
    "Sandbox",
    "SandboxUnavailable",
    "Scenario",
    "State",
    "Trust",
    "Unavailable",
    "UnitTest",
    "VetResult",
    "Workspace",
    "__version__",
    "backtrack",
    "best_of",
    "cross_check",
    "debug",
    "debug_failing",
    "diff",
    "fix",
    "gate",
    "gate_hook",
    "harden",
    "hunt",
    "init",
    "judge",
    "load_ipython_extension",
    "method",
    "open_model",
    "open_target",
    "problem_of",
    "rank_fixes",
    "read_examples",
    "red_green",
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
