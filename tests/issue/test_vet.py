"""Verdicts on fixes, on a real repository whose tests are run."""

from __future__ import annotations

from refute.core.methods import Bounds
from refute.issue.edits.tree import Tree
from refute.issue.original import Original
from refute.issue.vet import Vetted, vet_fix

from .projects import FIX, GOLDEN_TESTS, Project

BREAKS = FIX.replace("+        return high", "+        return high\n+    return high").replace(
    "-6,5 +6,5", "-6,5 +6,6"
)
UNIMPORTABLE = FIX.replace("+        return high", "+        return high)")
IN_TESTS = """diff --git a/tests/test_line.py b/tests/test_line.py
--- a/tests/test_line.py
+++ b/tests/test_line.py
@@ -4,2 +4,2 @@
 def test_inside():
-    assert clamp(3, 0, 9) == 3
+    assert True
"""


def vet(project: Project, fix: str, tests: str = GOLDEN_TESTS, **options: int) -> Vetted:
    with project.spawn() as workspace:
        vetted = vet_fix(fix, tests, workspace, Bounds(), **options)
        assert workspace.diff() == "", "the workspace is left clean"
        return vetted


def ids(results: tuple[object, ...]) -> list[str]:
    return [result.id for result in results]  # type: ignore[attr-defined]


def test_fixed(project: Project) -> None:
    vetted = vet(project, FIX)
    assert vetted.verdict == "fixed", vetted
    assert ids(vetted.reproducing) == ["tests/test_line.py::test_above"]
    assert "assert 0 == 9" in vetted.reproducing[0].failure.message  # type: ignore[union-attr]
    assert vetted.neighbours == ("tests/test_line.py",)
    assert (vetted.still_failing, vetted.broken) == ((), ())


def test_breaks_tests(project: Project) -> None:
    vetted = vet(project, BREAKS)
    assert vetted.verdict == "breaks tests"
    assert "tests/test_line.py::test_inside" in ids(vetted.broken)
    assert "the issue itself is fixed" in vetted.reason
    assert vet(project, BREAKS, "", most_neighbours=0).verdict == "cannot tell"


def test_a_fix_that_does_not_import_breaks_every_test(project: Project) -> None:
    vetted = vet(project, UNIMPORTABLE)
    assert vetted.verdict == "breaks tests"
    assert any("SyntaxError" in str(result.failure) for result in vetted.broken)


def test_changes_of_tests_are_left_out(project: Project) -> None:
    vetted = vet(project, FIX + IN_TESTS)
    assert vetted.verdict == "fixed"
    (note,) = vetted.notes
    assert "left out (tests/test_line.py)" in note
    cheat = vet(project, IN_TESTS)
    assert (cheat.verdict, cheat.reason) == ("does not apply", "the fix changes no code")


def test_a_binary_file_without_its_content_is_left_out(project: Project) -> None:
    """As agents submit it: `git diff` without `--binary`."""
    head = "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..89bf7f2\n"
    fix = f"{head}Binary files /dev/null and b/logo.png differ\n{FIX}"
    vetted = vet(project, fix, most_neighbours=0)
    assert vetted.verdict == "fixed"
    assert vetted.notes == ("the content of logo.png is not in the fix (git diff --binary has it)",)


def test_cannot_tell_without_a_reproducing_test(project: Project) -> None:
    alone = {"most_neighbours": 0}
    assert vet(project, FIX, "", **alone).reason == "no test reproduces the issue"
    for now in ("clamp(10, 0, 9) == 0", "clamp(3, 0, 9) == 3"):
        passes = GOLDEN_TESTS.replace("clamp(10, 0, 9) == 9", now)
        told = vet(project, FIX, passes, **alone).reason
        assert told == "no reproducing test fails on the original code"
    assert vet(project, FIX, "no diff at all", **alone).verdict == "cannot tell"


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
