"""The lab: for people who compare methods and train models.

Datasets, benches, grading by the rules of benchmarks, the papers' methods and figures, reports,
rewards and their service, training and Ray. Its verbs, methods, presets and executors reach the
command line through entry points, as those of any other package do; `refute` imports none of it.

    import refute_lab

    refute_lab.bench("he-fix", method="search").figures["code_accuracy"]

What `refute report`, `data` and `train` do is in `refute_lab.verbs`. Everything is imported on
first use; what is not named here is private by convention and may change at any time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute_lab.datasets import load_dataset as load_dataset
    from refute_lab.rewards import Grader as Grader
    from refute_lab.rewards import Task as Task
    from refute_lab.rewards import Test as Test
    from refute_lab.rewards import TestResult as TestResult
    from refute_lab.rewards import TestReward as TestReward
    from refute_lab.rewards import Verdict as Verdict
    from refute_lab.rewards import grade_test as grade_test
    from refute_lab.runs.executors import Executor as Executor
    from refute_lab.verbs.bench import BenchOptions as BenchOptions
    from refute_lab.verbs.bench import BenchResult as BenchResult
    from refute_lab.verbs.bench import FilterResult as FilterResult
    from refute_lab.verbs.bench import IssueBenchResult as IssueBenchResult
    from refute_lab.verbs.bench import bench as bench
    from refute_lab.verbs.grade import GradeOptions as GradeOptions
    from refute_lab.verbs.grade import GradeResult as GradeResult
    from refute_lab.verbs.grade import grade as grade
    from refute_lab.verbs.judge import JudgeResult as JudgeResult
    from refute_lab.verbs.judge import judge as judge

_HOMES = {
    "refute_lab.verbs.bench": (
        "BenchOptions",
        "BenchResult",
        "FilterResult",
        "IssueBenchResult",
        "bench",
    ),
    "refute_lab.verbs.grade": ("GradeOptions", "GradeResult", "grade"),
    "refute_lab.verbs.judge": ("JudgeResult", "judge"),
    "refute_lab.datasets": ("load_dataset",),
    "refute_lab.rewards": (
        "Grader",
        "Task",
        "Test",
        "TestResult",
        "TestReward",
        "Verdict",
        "grade_test",
    ),
    "refute_lab.runs.executors": ("Executor",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'refute_lab' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
