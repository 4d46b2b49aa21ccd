"""`refute bench`: a method over a dataset, journalled problem by problem, resumable at any moment.

The method is handed the problem only; then the grader, which alone sees the answer key, grades the
prediction (`work`; docs/architecture.md, rule 1). The record of a problem (`records`) holds the
prediction and what the method did as well as the grade, so that a run can be graded again.

What counts as a generated unit test are the ones that the method derived; tests that were given or
stated in the description are not counted, although `hunt` shows them when they fail.
"""

from __future__ import annotations

from refute_lab.benches.records import RECORDS, FunctionRecord
from refute_lab.benches.summary import BenchSettings, BenchSummary, load_items, summarize
from refute_lab.benches.work import check_gold, predict, work_on

__all__ = [
    "RECORDS",
    "BenchSettings",
    "BenchSummary",
    "FunctionRecord",
    "check_gold",
    "load_items",
    "predict",
    "summarize",
    "work_on",
]
