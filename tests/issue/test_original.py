"""What a trial of a test patch on the original code tells of it."""

from __future__ import annotations

from refute.core.methods import Bounds
from refute.issue.drafting.original import Original
from refute.issue.edits.tree import Tree

from .projects import Project

ABSENT = """def test_a():
    import no_such_package.parts

def test_b():
    import shapes.no_such_module

def test_c():
    __import__("importlib").import_module("no_such_package")
"""


def test_a_package_that_is_not_there_is_no_failure_of_the_code(project: Project) -> None:
    """But for one of the repository's own, and for what the code that is called imports."""
    tree = Tree(lambda path: None)
    tree.write("tests/test_absent.py", ABSENT)
    with project.spawn() as workspace:
        trial = Original(workspace, Bounds(test_seconds=60)).attempt(tree.diff())
    assert sorted(result.id[-6:] for result in trial.failing) == ["test_a", "test_b", "test_c"]
    assert sorted(result.id[-6:] for result in trial.asserted) == ["test_b", "test_c"]
