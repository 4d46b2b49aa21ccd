"""Whose fault is it that something could not be graded: the prediction's, or this machine's?

What cannot be graded for a reason that is not the prediction's is an error, and not counted. So a
prediction that makes itself an error would leave the count instead of failing. Whether it did is
tried, not guessed from the kind of the exception: where the instance's own golden tests run in a
workspace as fresh as the prediction's, and the prediction ends in an error twice, it is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from refute.issue.contract import Spawn
from refute.issue.states import State, run_state, test_files
from refute.problems import IssueKey

__all__ = ["attributed", "golden_runs"]

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
    """Whether the golden tests run to their end here, on the original and on the fixed code."""
    files = test_files(key.test_patch)
    try:
        with spawn() as workspace:
            for fix in ("", key.patch):
                report = run_state(workspace, State(fix, key.test_patch, files), timeout=timeout)
                if report.status != "finished" or not report.trusted:
                    return False
                workspace.reset()
    except Exception:
        return False
    return True


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]
