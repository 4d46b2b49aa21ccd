"""Test files that take long: only what a patch touches is run, by the runner's own names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.methods import Bounds
from refute.issue.edits.tree import Tree
from refute.issue.original import Original, touched_tests
from refute.workspace.factory import prepare

from ..projects import GOLDEN_TESTS, Project, make_project

SLOW = """import time
import unittest

from shapes.line import clamp


class TestSlow(unittest.TestCase):
    def test_inside(self):
        self.assertEqual(clamp(3, 0, 9), 3)

    def test_slow(self):
        time.sleep(600)
"""
NEW = "    def test_above(self):\n        self.assertEqual(clamp(10, 0, 9), 9)\n\n"


def added_to_the_slow_file() -> str:
    """A patch that puts a test between the others."""
    tree = Tree(lambda path: SLOW)
    tree.write("tests/test_slow.py", SLOW.replace("    def test_slow", f"{NEW}    def test_slow"))
    return tree.diff()


@pytest.fixture(scope="module", params=["pytest", "unittest"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder: Path = tmp_path_factory.mktemp("slow")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("REFUTE_CACHE", str(folder / "cache"))
        made = make_project(folder / "shapes", {"tests/test_slow.py": SLOW})
        assert made.problem.recipe is not None
        recipe = replace(made.problem.recipe, runner=request.param)
        prepare(made.problem.repo, made.problem.base_commit, recipe)
        yield replace(made, problem=replace(made.problem, recipe=recipe))


def test_only_what_is_touched_is_run(project: Project) -> None:
    with project.spawn() as workspace:
        original = Original(workspace, Bounds(test_seconds=60), whole=4)
        assert original.is_long("tests/test_slow.py")
        trial = original.attempt(added_to_the_slow_file())
    assert trial.report is not None
    assert trial.report.status == "finished"
    assert [result.id.split(".")[-1].split("::")[-1] for result in trial.asserted] == ["test_above"]
    assert len(trial.report.results) == 1


def test_short_files_beside_it_are_run_whole(project: Project) -> None:
    if project.problem.recipe is not None and project.problem.recipe.runner == "unittest":
        pytest.skip("tests/test_line.py holds functions")
    with project.spawn() as workspace:
        original = Original(workspace, Bounds(test_seconds=60), whole=4)
        trial = original.attempt(added_to_the_slow_file() + GOLDEN_TESTS)
        assert not original.is_long("tests/test_line.py")
    assert trial.report is not None
    assert len(trial.failing) == 2
    assert len(trial.report.results) == 5


TEXT = """import pytest


@pytest.mark.parametrize("x", [1])
def test_one(x):
    assert x


def helper():
    return 1


class A:
    class B:
        async def test_two(self):
            assert (
                1
            )

    def setUp(self):
        self.x = 1
"""


@pytest.mark.parametrize(
    ("lines", "known", "found"),
    [
        ([4], "t/a.py::test_x[1]", ["t/a.py::test_one"]),
        ([17], "t/a.py::C::test_x", ["t/a.py::A::B::test_two"]),
        ([5, 15], "t.a.C.test_x (i=1)", ["t.a.test_one", "t.a.A.B.test_two"]),
        ([1, 2, 9, 21], "t/a.py::test_x", []),
        ([], "t/a.py::test_x", []),
    ],
)
def test_touched(lines: list[int], known: str, found: list[str]) -> None:
    assert list(touched_tests("t/a.py", TEXT, lines, known)) == found
    assert touched_tests("t/a.py", "def f(:", [1], known) == ()
