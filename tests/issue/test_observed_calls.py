"""Two fixes told apart by calls in the tests of the project."""

from __future__ import annotations

import json

from refute.core.methods import Bounds
from refute.diffing.changes import ChangedFunction, Place
from refute.issue.observed_calls import (
    _read,
    observed_differences,
    rows_in,
)

from .projects import FIX, GOLDEN_TESTS, Project

CLAMP = Place("shapes/line.py", "shapes.line", "clamp", 4)
CHANGED = ChangedFunction(CLAMP, CLAMP, "function", False, ("body",), (9,), (9,))


def test_calls_and_tests_that_end_otherwise(project: Project) -> None:
    """Only what differs between the fixes is watched, also in tests that pass with both."""
    with project.spawn() as workspace:
        before = workspace.files()
        found, why = observed_differences(
            (FIX, FIX.replace("+        return high", "+        return -high")),
            [CHANGED],
            GOLDEN_TESTS,
            workspace,
            Bounds(),
        )
        assert workspace.files() == before
    assert why == ""
    assert [(one.function, one.before, one.after) for one in found] == [
        ("clamp", "9", "-9"),
        ("", "passed", "fails"),
    ]
    assert found[0].given == "value=10, low=0, high=9"
    assert {one.test for one in found} == {"tests/test_line.py::test_above"}


def test_what_comes_back_is_not_believed() -> None:
    good = {"test": "t", "function": "f", "number": 1, "given": {"a": "1"}, "changed": {"a": "2"}}
    good |= {"outcome": "None", "raised": True}
    lines = [
        json.dumps(good),
        json.dumps({**good, "outcome": "another"}),
        json.dumps({**good, "number": "1"}),
        json.dumps({**good, "given": [1]}),
        "[" * 100_001,
        "[" * 90_000,
        "[1]",
        "{",
        "\udcff",
    ]
    told = "\n".join(lines).encode("utf-8", "surrogateescape")
    assert _read(rows_in(told)) == {("t", "f", 1): ("a=1", "raises None; a becomes 2")}
