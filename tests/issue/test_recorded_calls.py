"""Calls that the tests near a change make, recorded in a workspace."""

from __future__ import annotations

from pathlib import Path

from refute.core.methods import Bounds
from refute.issue.recorded_calls import record_calls
from refute.recording.reading import read_recorded

from .projects import FIX, GOLDEN_TESTS, Project


def test_calls_of_the_tests_near_a_fix(project: Project, tmp_path: Path) -> None:
    """Those of existing tests and of the patch; a file that does not import costs the others
    nothing, and nothing is left behind."""
    target = tmp_path / "recorded.jsonl"
    broken = "--- /dev/null\n+++ b/tests/test_broken.py\n@@ -0,0 +1 @@\n+import nowhere\n"
    header = "diff --git a/tests/test_broken.py b/tests/test_broken.py\nnew file mode 100644\n"
    with project.spawn() as workspace:
        before = workspace.files()
        why = record_calls(FIX, GOLDEN_TESTS + header + broken, workspace, Bounds(), target)
        assert why == ""
        assert workspace.files() == before
    rows = [one for one in read_recorded(target) if one.target == "shapes.line:clamp"]
    assert {"clamp(3, 0, 9)", "clamp(10, 0, 9)"} <= {one.expression for one in rows}


def test_what_is_not_near_has_no_calls(project: Project, tmp_path: Path) -> None:
    with project.spawn() as workspace:
        why = record_calls("", "", workspace, Bounds(), tmp_path / "recorded.jsonl")
    assert why == "no tests are near"
