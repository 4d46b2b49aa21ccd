"""One set of executable lines for all predictions of an instance: that of its golden tests' run.

What grading finds executable is what the predicted tests' files or the golden ones execute, and for
a prediction that was not run nothing. So the denominator of ΔC differs a little from method to
method. SWT-Bench's section 3.3 defines X* by the original suite and the golden tests alone; here
these are run once for an instance (their reports are kept) and count for every prediction, also for
one that does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from refute.errors import WorkspaceUnavailable
from refute.issue.grading.coverage import Executable, executable_lines
from refute.issue.grading.grade import (
    Conflict,
    Evidence,
    IssueGrade,
    Terms,
    covered_by,
    run_states,
)
from refute.issue.grading.states import StateStore, test_files
from refute.problems import IssueKey
from refute.workspace.contract import Workspace

__all__ = ["golden_reports", "with_golden_lines"]


def golden_reports(
    key: IssueKey,
    spawn: Callable[[], Workspace],
    *,
    store: StateStore,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> Evidence:
    """The golden tests' files without and with the golden tests, as evidence about them.

    Raises `WorkspaceUnavailable` where the golden tests do not end on the fixed code.
    """
    tests, terms = key.test_patch, Terms(timeout=timeout)
    evidence = run_states(tests, key, spawn, store, terms, slot, test_files(tests))
    if isinstance(evidence, Conflict):
        raise WorkspaceUnavailable(f"the golden tests cannot be applied: {evidence.why}")
    after = evidence.golden[1]
    if after.status != "finished":
        why = f"the golden tests do not finish: {after.status} {after.remark}"
        raise WorkspaceUnavailable(why)
    return evidence


def with_golden_lines(
    grade: IssueGrade, key: IssueKey, golden: Evidence, rule: Executable
) -> IssueGrade:
    """The grade with ΔC over the lines that the golden run executes (`rule`: golden or printed)."""
    lines = executable_lines(key.patch, base=golden.base, golden=golden.golden, rule=rule)
    reached = covered_by(key, golden, lines)
    found = replace(reached, covered_removed=(), covered_added=())
    if grade.evidence is not None and grade.coverage is not None:
        found = covered_by(key, grade.evidence, lines)
    return replace(grade, coverage=found, golden_coverage=reached)
