"""Hostile fixes: they touch tests, the runner, git, files outside, or never stop talking.

What each would have to break is the verdict: none of them is "fixed" unless the code is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.issue.contract import Bounds
from refute.issue.patches import split_fix, touched_files
from refute.issue.vet import Vetted, vet_fix

from .projects import CLAMP, FIX, Project
from .shop import diff

REPRODUCES = diff(
    "tests/test_new.py",
    None,
    "from shapes.line import clamp\n\n\ndef test_above():\n    assert clamp(10, 0, 9) == 9\n",
)
ALWAYS = """import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""
PATCHED_RUNNER = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"
CONFTEST = diff("conftest.py", None, ALWAYS)
LINK = """diff --git a/{path} b/{path}
new file mode 120000
--- /dev/null
+++ b/{path}
@@ -0,0 +1 @@
+{target}
\\ No newline at end of file
"""
RENAMED = """diff --git a/tests/test_line.py b/shapes/old.py
similarity index 100%
rename from tests/test_line.py
rename to shapes/old.py
"""


def in_code(text: str) -> str:
    return diff("shapes/line.py", CLAMP, text)


def above(body: str) -> str:
    """A change of what clamp does above the range."""
    return in_code(CLAMP.replace("high:\n        return low", f"high:\n        {body}"))


def vet(project: Project, fix: str) -> Vetted:
    with project.spawn() as workspace:
        vetted = vet_fix(fix, REPRODUCES, workspace, Bounds(test_seconds=120.0))
        assert "test_refute_control" not in "".join(workspace.files())
        assert not workspace.diff()
    return vetted


def test_a_conftest_is_no_part_of_a_fix(project: Project) -> None:
    assert vet(project, CONFTEST).verdict == "does not apply"
    vetted = vet(project, CONFTEST + FIX.replace("return high", "return 0"))
    assert vetted.verdict == "not fixed"
    assert "conftest.py" in vetted.notes[0]


def test_code_that_patches_the_runner_is_found_by_the_control(project: Project) -> None:
    vetted = vet(project, in_code(PATCHED_RUNNER + CLAMP))
    assert vetted.verdict == "cannot tell"
    assert "must fail" in vetted.reason


@pytest.mark.parametrize(
    ("path", "reason"),
    [(".git/hooks/post-checkout", ".git"), ("../../outside.py", "outside.py")],
)
def test_paths_that_are_not_the_fixs(project: Project, path: str, reason: str) -> None:
    vetted = vet(project, diff(path, None, "x = 1\n"))
    assert vetted.verdict == "does not apply"
    assert reason in vetted.reason


def test_a_link_out_of_the_tree_changes_nothing(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("unchanged\n")
    fix = LINK.format(path="shapes/data", target=tmp_path) + above("return high")
    fix += diff("shapes/data/secret", None, "changed\n")
    assert vet(project, fix).verdict == "does not apply"
    assert secret.read_text() == "unchanged\n"


def test_moving_tests_away_breaks_nothing_and_hides_nothing(project: Project) -> None:
    vetted = vet(project, RENAMED + above("return high"))
    assert vetted.neighbours == ("tests/test_line.py",)
    assert vetted.verdict == "fixed"
    assert "tests/test_line.py" in vetted.notes[0]


def test_a_process_that_ends_or_skips_is_not_fixed(project: Project) -> None:
    assert vet(project, above("import os; os._exit(0)")).verdict == "not fixed"
    skips = vet(
        project, in_code(f"import pytest\npytest.skip('no', allow_module_level=True)\n{CLAMP}")
    )
    assert skips.verdict == "not fixed"
    assert any("do not run with it" in note for note in skips.notes)


def test_huge_output_is_no_matter(project: Project) -> None:
    vetted = vet(project, above("print('x' * 50_000_000); return high"))
    assert vetted.verdict == "fixed"


def test_what_a_fix_is() -> None:
    files = ("conftest.py", "a/conftest.py", "pytest.ini", "tests/x.py", "sitecustomize.py")
    others = ("a/conftests.py", "setup.cfg", "src/contest.py")
    patch = "".join(diff(path, None, "x\n") for path in (*files, *others))
    left_out, code = split_fix(patch + RENAMED)
    assert set(touched_files(left_out)) == {*files, "tests/test_line.py", "shapes/old.py"}
    assert set(touched_files(code)) == set(others)
    assert split_fix("") == ("", "")
