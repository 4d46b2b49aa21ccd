"""Whose fault is it that something could not be graded: the prediction's, or this machine's?

What cannot be graded for a reason that is not the prediction's is an error, and not counted. So a
prediction that makes itself an error would leave the count instead of failing. Whether it did is
tried, not guessed from the kind of the exception: where the instance's own golden tests run in a
workspace as fresh as the prediction's, and the prediction ends in an error twice, it is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from refute.core.methods import Spawn
from refute.core.problems import IssueKey
from refute.workspace.contract import TestReport
from refute.workspace.patches import test_files
from refute.workspace.states import PatchedState, run_state
from refute.workspace.statuses import statuses
from refute_lab.swt.grading.verdict import transitions

Grade = TypeVar("Grade")


def attributed(
    grade: Callable[[], Grade], works: Callable[[], bool], own: Callable[[str], Grade]
) -> Grade:
    """What `grade` returns; where it raises and the trouble is the prediction's, `own(reason)`.

    `works`: whether the same can be done here without the prediction. Raises what `grade` raised
    where it cannot.
    """
    try:
        return grade()
    except Exception:
        if not works():
            raise
    try:
        return grade()
    except Exception as error:
        return own(_line(error))


def golden_runs(key: IssueKey, spawn: Spawn, *, timeout: float) -> bool:
    """Whether golden tests run here, and go from fail to pass with the golden patch."""
    files = test_files(key.test_patch)
    try:
        with spawn() as workspace:
            before = run_state(workspace, PatchedState("", key.test_patch, files), timeout=timeout)
            workspace.reset()
            after = run_state(
                workspace, PatchedState(key.patch, key.test_patch, files), timeout=timeout
            )
    except Exception:
        return False
    return after.status == "finished" and after.trusted and works((before, after))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def works(golden: tuple[TestReport, TestReport]) -> bool:
    """Whether any golden test fails on the original and passes on the fixed code."""
    found = transitions(*(statuses(report) for report in golden))
    return any((one.before, one.after) == ("fail", "pass") for one in found.values())


def missing_fail_to_pass(golden: tuple[TestReport, TestReport], key: IssueKey) -> tuple[str, ...]:
    """Names in the dataset's FAIL_TO_PASS list that are not F→P in our runs.

    The list holds what the dataset's authors read from logs: a test's id (cut at its first
    blank), its printed form, or the first line of its docstring.
    """
    found = transitions(*(statuses(report) for report in golden))
    names: set[str] = set()
    for report in golden:
        for result in report.results:
            one = found.get(result.id)
            if one is not None and (one.before, one.after) == ("fail", "pass"):
                names.update((result.id, *result.id.split()[:1], *result.names))
                names.add(result.id.rsplit("::", 1)[-1])
    return tuple(name for name in key.fail_to_pass if name not in names)
