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
    from refute.core.combinators import backtrack as backtrack
    from refute.core.combinators import best_of as best_of
    from refute.core.combinators import cross_check as cross_check
    from refute.core.combinators import refine as refine
    from refute.core.combinators import vote as vote
    from refute.core.methods import Bounds as Bounds
    from refute.core.methods import Context as Context
    from refute.core.methods import Method as Method
    from refute.core.methods import MethodSpec as MethodSpec
    from refute.core.methods import method as method
    from refute.core.problems import Call as Call
    from refute.core.problems import Expression as Expression
    from refute.core.problems import FunctionKey as FunctionKey
    from refute.core.problems import FunctionPrediction as FunctionPrediction
    from refute.core.problems import FunctionProblem as FunctionProblem
    from refute.core.problems import IssueKey as IssueKey
    from refute.core.problems import IssuePrediction as IssuePrediction
    from refute.core.problems import IssueProblem as IssueProblem
    from refute.core.problems import Scenario as Scenario
    from refute.core.problems import Trust as Trust
    from refute.core.problems import UnitTest as UnitTest
    from refute.doors.notebook import load_ipython_extension as load_ipython_extension
    from refute.errors import InputError as InputError
    from refute.errors import LimitReached as LimitReached
    from refute.errors import RefuteError as RefuteError
    from refute.errors import SandboxUnavailable as SandboxUnavailable
    from refute.errors import Unavailable as Unavailable
    from refute.function.contract import Candidate as Candidate
    from refute.function.contract import FailingTest as FailingTest
    from refute.function.contract import Finding as Finding
    from refute.function.contract import MethodResult as MethodResult
    from refute.function.contract import State as State
    from refute.function.search.engine import search as search
    from refute.function.target import open_target as open_target
    from refute.function.target import problem_of as problem_of
    from refute.issue.contract import Reproduction as Reproduction
    from refute.models.asking import Asked as Asked
    from refute.models.contract import Model as Model
    from refute.models.providers import open_model as open_model
    from refute.sandbox import Limits as Limits
    from refute.sandbox import Outcome as Outcome
    from refute.sandbox import Program as Program
    from refute.sandbox import Sandbox as Sandbox
    from refute.sandbox.local import LocalSandbox as LocalSandbox
    from refute.verbs.debug import DebugOptions as DebugOptions
    from refute.verbs.debug import debug as debug
    from refute.verbs.diff import DiffOptions as DiffOptions
    from refute.verbs.diff import DiffResult as DiffResult
    from refute.verbs.diff import diff as diff
    from refute.verbs.fix import FixOptions as FixOptions
    from refute.verbs.fix import FixResult as FixResult
    from refute.verbs.fix import fix as fix
    from refute.verbs.functions import DebugResult as DebugResult
    from refute.verbs.functions import HuntResult as HuntResult
    from refute.verbs.gate import GateOptions as GateOptions
    from refute.verbs.gate import GateResult as GateResult
    from refute.verbs.gate import HookAnswer as HookAnswer
    from refute.verbs.gate import gate as gate
    from refute.verbs.gate import gate_hook as gate_hook
    from refute.verbs.harden import HardenOptions as HardenOptions
    from refute.verbs.harden import HardenResult as HardenResult
    from refute.verbs.harden import harden as harden
    from refute.verbs.hunt import HuntOptions as HuntOptions
    from refute.verbs.hunt import hunt as hunt
    from refute.verbs.init import InitResult as InitResult
    from refute.verbs.init import init as init
    from refute.verbs.issues import ReproduceResult as ReproduceResult
    from refute.verbs.issues import VetResult as VetResult
    from refute.verbs.reproduce import ReproduceOptions as ReproduceOptions
    from refute.verbs.reproduce import reproduce as reproduce
    from refute.verbs.vet import RankedFixes as RankedFixes
    from refute.verbs.vet import VetOptions as VetOptions
    from refute.verbs.vet import rank_fixes as rank_fixes
    from refute.verbs.vet import vet as vet
    from refute.workspace.contract import Workspace as Workspace

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

__all__ = sorted([*_HOME, "__version__"])


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
    return __all__
