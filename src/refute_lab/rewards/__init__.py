"""Rewards for programs and for tests that cannot be earned by cheating.

>>> from refute_lab import rewards
>>> task = rewards.Task(entry_point="double", tests=(rewards.Test((3,), expected=6),))
>>> rewards.grade("def double(x):\\n    return 2 * x\\n", task).reward
1.0

A program runs in the sandbox. It is given the inputs of the tests and never what is expected of it;
what it returns crosses as data, and this side compares. `Grader` is the same with many sandboxes.
"""

from __future__ import annotations

from refute_lab.rewards.grading import Grader, Remote, TestReward, grade, grade_async, grade_test
from refute_lab.rewards.suites import SuiteReward, grade_suite
from refute_lab.rewards.task import Task, Test, TestResult, Verdict

__all__ = [
    "Grader",
    "Remote",
    "SuiteReward",
    "Task",
    "Test",
    "TestResult",
    "TestReward",
    "Verdict",
    "grade",
    "grade_async",
    "grade_suite",
    "grade_test",
]
