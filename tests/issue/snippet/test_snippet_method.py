"""The reproducer without a model on real repositories, made here, with a real fault each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.methods import Bounds, Context
from refute.errors import WorkspaceUnavailable
from refute.issue.contract import Reproduction
from refute.issue.methods.snippet import snippet
from refute.issue.original import Original

from ..projects import FIX, Project, make_project

BOUNDS = Bounds(seconds=600, test_seconds=300)


def reproduced(project: Project, text: str) -> Reproduction:
    problem = replace(project.problem, text=text)
    try:
        return asyncio.run(snippet(problem, ctx=Context(workspace=project.spawn, bounds=BOUNDS)))
    except WorkspaceUnavailable as error:
        pytest.skip(f"no workspace here: {error}")


def failing(project: Project, patch: str, fix: str = "") -> Sequence[str]:
    with project.spawn() as workspace:
        trial = Original(workspace, BOUNDS).attempt(patch, fix=fix)
        assert trial.report is not None, trial.rejected
        return [result.id for result in trial.failing]


def test_the_shown_wrong_value_must_become_the_expected_one(project: Project) -> None:
    before = {path: path.read_bytes() for path in Path(project.folder).rglob("*.py")}
    found = reproduced(project, project.problem.text).prediction
    assert {path: path.read_bytes() for path in Path(project.folder).rglob("*.py")} == before
    assert "+++ b/tests/test_line.py" in found.patch
    assert "assert clamp(10, 0, 9) == 9" in found.patch
    assert found.tests == ("tests/test_line.py::test_clamp_returns_lower_bound_large_values",)
    assert failing(project, found.patch, FIX) == []
    assert found.confidence >= 0.5


def test_each_value_that_the_issue_states_is_asked_for(project: Project) -> None:
    """A fix for one of them alone was called fixed."""
    text = "clamp\n```python\nfrom shapes.line import clamp\nclamp(10, 0, 9)  # should be 9\n"
    text += "clamp(7, 0, 5)  # should be 5\nclamp(3, 0, 9)  # should be 3\n```\n"
    found = reproduced(project, text).prediction
    assert len(found.tests) == 2
    assert len(failing(project, found.patch)) == 2
    assert failing(project, found.patch, FIX) == []
    special = FIX.replace("+        return high", "+        return 9")
    assert len(failing(project, found.patch, special)) == 1


def test_missing_imports_come_from_the_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"shapes/size.py": "def twice(x):\n    return x\n"})
    text = "Twice is once\n\n>>> twice(3)\n3\n\nThis should be 6.\n"
    found = reproduced(project, text).prediction
    assert "assert twice(3) == 6" in found.patch
    assert "from shapes.size import twice" in found.patch


def test_an_example_that_raises_must_not_raise(project: Project) -> None:
    text = (
        "mix fails for colours without parts\n```python\nfrom shapes.colour import mix\n"
        "mix(None, [1])\n```\nTypeError: 'NoneType' object is not iterable\n"
    )
    found = reproduced(project, text)
    assert "+++ b/tests/test_colour.py" in found.prediction.patch
    assert found.prediction.notes[0] == "it raises the TypeError that the issue shows"
    assert [step["kind"] for step in found.steps] == ["probe", "claim"]
    assert found.prediction.tests[0].startswith("tests/test_colour.py::test_mix_fails")


def test_the_issues_own_tests(project: Project) -> None:
    text = (
        "clamp is wrong above\nThis test fails:\n```python\nfrom shapes.line import clamp\n\n"
        "def test_above():\n    assert clamp(10, 0, 9) == 9\n```\nAssertionError: 0 != 9\n"
    )
    found = reproduced(project, text).prediction
    assert "assert clamp(10, 0, 9) == 9" in found.patch
    assert failing(project, found.patch, FIX) == []


@pytest.mark.parametrize(
    "text",
    [
        "It does not work\n\nPlease fix it.\n",
        "Broken\n\n>>> clamp(3, 0, 9)\n7\n\nI expected 3.\n",
        "Broken\n```python\nfrom nowhere.at_all import thing\nthing(1)\n```\nValueError: no\n",
        "Broken\n```python\nimport os\nos._exit(3)\n```\nValueError: no\n",
        "Broken\n```python\nimport math\nmath.sqrt(-1)\n```\nValueError: math domain error\n",
    ],
)
def test_without_evidence_it_abstains(project: Project, text: str) -> None:
    found = reproduced(project, text).prediction
    assert found.patch == ""
    assert found.notes


def test_a_call_in_a_sentence_that_raises_must_not_raise(project: Project) -> None:
    text = "mix(None, [1]) raises TypeError: 'NoneType' object is not iterable\n\nIt should not.\n"
    found = reproduced(project, text).prediction
    assert "+    mix(None, [1])" in found.patch
    assert found.notes[0] == "it raises the TypeError that the issue shows"


def test_what_should_raise_must_raise(project: Project) -> None:
    text = "Bounds\n```python\nclamp(1, 9, 0)\n```\nThis should raise a ValueError.\n"
    found = reproduced(project, text).prediction
    assert "with raises(ValueError):\n+        clamp(1, 9, 0)" in found.patch


COUNTING = """import itertools
import time

_ids = itertools.count(1)


def add(sink):
    return next(_ids)


def now():
    return time.time()
"""


def test_what_counts_or_tells_the_time_is_compared_with_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"shapes/log.py": COUNTING})
    text = (
        "Wrong number\n\n>>> from shapes.log import add, now\n>>> add(print)\n1\n\n"
        "Expected output:\n\n```\n1732258800.25\n```\n"
    )
    assert reproduced(project, text).prediction.patch == ""


def test_nothing_is_run_for_an_issue_without_code(project: Project) -> None:
    def spawn() -> None:
        raise AssertionError("a workspace was opened")

    problem = replace(project.problem, text="Please add colours\n\nI like red.\n")
    made = asyncio.run(snippet(problem, ctx=Context(workspace=spawn, bounds=BOUNDS)))  # type: ignore[arg-type]
    assert made.prediction.notes == ("the issue holds nothing to run",)


def test_a_package_that_cannot_be_imported_is_no_answer(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"shapes/__init__.py": "import no_such_dependency\n"})
    text = "Clamp\n\n>>> from shapes.line import clamp\n>>> clamp(10, 0, 9)\n0\n\nI expected 9.\n"
    problem = replace(project.problem, text=text)
    work = snippet(problem, ctx=Context(workspace=project.spawn, bounds=BOUNDS))
    with pytest.raises(WorkspaceUnavailable, match=r"shapes cannot be imported .*no_such_dep"):
        asyncio.run(work)


def test_a_runner_that_knows_no_functions_gets_classes(project: Project) -> None:
    assert project.problem.recipe is not None
    recipe = replace(project.problem.recipe, runner="unittest")
    unittest = replace(project, problem=replace(project.problem, recipe=recipe))
    found = reproduced(unittest, project.problem.text).prediction
    assert "+from unittest import TestCase\n+\n from shapes" in found.patch, "among the others"
    assert failing(unittest, found.patch) == list(found.tests)
    assert failing(unittest, found.patch, FIX) == []
    nothing = reproduced(unittest, project.problem.text.replace("10, 0", "5, 0")).prediction
    (note,) = nothing.notes
    assert note.endswith("the issue shows 0 for clamp(5, 0, 9); this checkout gives 5")
