"""Whether the golden tests do here what the dataset says they do."""

from __future__ import annotations

from refute.problems import IssueKey
from refute.workspace.contract import TestReport
from refute.workspace.statuses import statuses
from refute_lab.swt.grading.verdict import transitions


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
