"""Two fixes told apart by calls in the tests of the project."""

from __future__ import annotations

import json

from refute.core.methods import Bounds
from refute.diffing.changes import ChangedFunction, Place
from refute.issue.observed_calls import (
    ObservedCall,
    _alike,
    _beside,
    _different,
    _naming,
    _read,
    _Run,
    observed_differences,
    rows_in,
)
from refute.workspace.contract import TestReport, TestResult

from .projects import FIX, GOLDEN_TESTS, Project

CLAMP = Place("shapes/line.py", "shapes.line", "clamp", 4)
CHANGED = ChangedFunction(CLAMP, CLAMP, "function", False, False, False, ("body",), (9,), (9,))


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


def test_more_tests_than_the_nearest() -> None:
    """Those that name what differs, most often first, and those in a folder called like its
    module."""
    test = "def test_it(): "
    sources = {
        "tests/inspect/tests.py": test,
        "tests/other/tests.py": test + "clamp(1)",
        "tests/more/tests.py": test + "clamp(1) + clamp(2)",
        "a/inspect.py": test + "clamp",
    }
    assert _beside(["core/inspect.py", "README"], sources) == ("tests/inspect/tests.py",)
    assert _naming([CHANGED], sources) == ("tests/more/tests.py", "tests/other/tests.py")


def test_tests_that_run_with_one_fix_alone_differ() -> None:
    report = TestReport((TestResult("a::t", "a", "passed"),), "finished")
    broken = TestReport((), "crashed", remark="the runner failed: TypeError")
    [found] = _different(_Run(report, {}), _Run(broken, {})).values()
    assert (found.before, found.after) == ("passed", "does not run: the runner failed: TypeError")
    [found] = _different(_Run(broken, {}), _Run(report, {})).values()
    assert (found.test, found.after) == ("a::t", "passed")
    late = TestReport((), "timeout")
    assert _different(_Run(report, {}), _Run(late, {})) == {}


def test_a_random_token_hides_no_difference_and_is_none() -> None:
    def call(before: str, after: str) -> ObservedCall:
        return ObservedCall("t", "f", "", before, after)

    one = call("{'token': 'x1', 'save': True}", "{'token': 'y2', 'save': False}")
    assert _alike(one, call("{'token': 'z3', 'save': True}", "{'token': 'w4', 'save': False}"))
    assert not _alike(call("'x1'", "'y2'"), call("'z3'", "'w4'"))
    assert _alike(call("1", "1, 2"), call("1", "1, 2"))
    assert not _alike(call("1", "1, 2"), call("1", "1, 3"))
