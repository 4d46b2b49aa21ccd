"""Hostile fixes: they touch tests, the runner, git, files outside, or never stop talking.

What each would have to break is the verdict: none of them is "fixed" unless the code is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.core.methods import Bounds
from refute.issue.vet import Vetted, vet_fix
from refute.workspace.patches import split_fix, touched_files

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


def vet(project: Project, fix: str, tests: str = REPRODUCES, near: int = 0) -> Vetted:
    """The verdict by the reproducing tests alone, or by `near` files of existing tests, too."""
    bounds = Bounds(test_seconds=120.0)
    with project.spawn() as workspace:
        vetted = vet_fix(fix, tests, workspace, bounds, most_neighbours=near)
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


AS_METHOD = diff(
    "tests/test_new.py",
    None,
    "import unittest\nfrom shapes.line import clamp\n\n\nclass TestIt(unittest.TestCase):\n"
    "    def test_above(self):\n        self.assertEqual(clamp(10, 0, 9), 9)\n",
)
GREEN = {
    "unittest's assertions": "import unittest\n"
    "unittest.TestCase.assertEqual = lambda *a, **k: None\n",
    "unittest's failures": "import unittest\n"
    "unittest.TestCase.failureException = KeyboardInterrupt\n"
    "unittest.TestCase._baseAssertEqual = lambda *a, **k: None\n",
    "rewritten assertions": "import ast, _pytest.assertion.rewrite as r\n"
    "r.AssertionRewriter.visit_Assert = lambda self, node: [ast.copy_location(ast.Pass(), node)]\n",
    "assertions of the new function only": "import ast, _pytest.assertion.rewrite as r\n"
    "old = r.AssertionRewriter.visit_Assert\n"
    "r.AssertionRewriter.visit_Assert = lambda self, node: (\n"
    "    [ast.copy_location(ast.Pass(), node)] if 'clamp' in ast.dump(node)"
    " else old(self, node))\n",
    "the first test": "import _pytest.python as p\nold, seen = p.Function.runtest, []\n"
    "def runtest(self):\n    seen.append(1)\n    return old(self) if len(seen) > 1 else None\n"
    "p.Function.runtest = runtest\n",
    "tests of this name": "import _pytest.python as p\nold = p.Function.runtest\n"
    "p.Function.runtest = lambda self: None if self.name == 'test_above' else old(self)\n",
    "failures of assertions": "import _pytest.python as p\nold = p.Function.runtest\n"
    "def runtest(self):\n    try:\n        old(self)\n    except AssertionError:\n        pass\n"
    "p.Function.runtest = runtest\n",
    "failures in that function's tests": "import _pytest.python as p\nold = p.Function.runtest\n"
    "def runtest(self):\n    try:\n        old(self)\n    except AssertionError:\n"
    "        if 'clamp' not in self.obj.__code__.co_names:\n            raise\n"
    "p.Function.runtest = runtest\n",
}
LENIENT = """

class Any(int):
    def __eq__(self, other):
        return {answer}

    __hash__ = int.__hash__


right = clamp


def clamp(value, low, high):
    return Any(right(value, low, high))
"""


@pytest.mark.parametrize("how", GREEN)
def test_what_turns_tests_green_is_not_fixed(project: Project, how: str) -> None:
    tests = AS_METHOD if "unittest" in how else REPRODUCES
    vetted = vet(project, in_code(GREEN[how] + CLAMP), tests)
    assert vetted.verdict in ("cannot tell", "not fixed", "breaks tests"), vetted
    assert any("mentions" in note for note in vetted.notes)


@pytest.mark.parametrize(
    ("answer", "tests"),
    [
        ("True", AS_METHOD),
        ("isinstance(other, int)", REPRODUCES),
        ("type(other) is not object", AS_METHOD),
    ],
    ids=["everything", "numbers", "all but object"],
)
def test_an_object_that_equals_everything_is_not_fixed(
    project: Project, answer: str, tests: str
) -> None:
    vetted = vet(project, in_code(CLAMP + LENIENT.format(answer=answer)), tests)
    assert vetted.verdict == "cannot tell", vetted


def test_a_plugin_of_the_fixs_configuration_is_left_out(project: Project) -> None:
    settings = {
        "setup.cfg": "[tool:pytest]\naddopts = -p shapes.plug\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p shapes.plug'\n",
        "shapes.egg-info/entry_points.txt": "[pytest11]\nplug = shapes.plug\n",
    }
    fix = "".join(diff(path, None, text) for path, text in settings.items())
    vetted = vet(project, diff("shapes/plug.py", None, ALWAYS) + fix)
    assert vetted.verdict == "not fixed"
    assert all(path in vetted.notes[0] for path in settings)


def test_a_module_in_the_place_of_unittest(project: Project) -> None:
    """Its case passes whatever it is asked."""
    case = "class TestCase:\n    def __getattr__(self, name):\n        return lambda *a: None\n"
    fix = diff("unittest/__init__.py", None, case + "def main():\n    pass\n")
    assert vet(project, fix, AS_METHOD).verdict != "fixed"


BRANCHES = diff(
    "tests/test_new.py",
    None,
    "import pytest\nfrom shapes.line import clamp\n\n\nclass TestIt:\n"
    "    @pytest.mark.parametrize('value', [10, 11, 12])\n"
    "    def test_above(self, value):\n"
    "        if value == 10:\n            assert clamp(value, 0, 9) == 9\n            return\n"
    "        if value == 11:\n            pytest.skip('not now')\n"
    "        with pytest.raises(ZeroDivisionError):\n            1 / (clamp(value, 0, 9) - 9)\n",
)


@pytest.mark.parametrize("tests", [AS_METHOD, BRANCHES], ids=["method", "branches"])
def test_a_right_fix_passes_the_control(project: Project, tests: str) -> None:
    vetted = vet(project, FIX, tests)
    assert (vetted.verdict, vetted.notes) == ("fixed", ()), vetted


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
    vetted = vet(project, RENAMED + above("return high"), near=8)
    assert vetted.neighbours == ("tests/test_line.py",)
    assert vetted.verdict == "fixed"
    assert "tests/test_line.py" in vetted.notes[0]


def test_a_process_that_ends_or_skips_is_not_fixed(project: Project) -> None:
    assert vet(project, above("import os; os._exit(0)")).verdict == "not fixed"
    skipping = f"import pytest\npytest.skip('no', allow_module_level=True)\n{CLAMP}"
    skips = vet(project, in_code(skipping), near=8)
    assert skips.verdict == "not fixed"
    assert any("do not run with it" in note for note in skips.notes)


def test_huge_output_is_no_matter(project: Project) -> None:
    vetted = vet(project, above("print('x' * 20_000_000); return high"))
    assert vetted.verdict == "fixed"


def test_what_a_fix_is() -> None:
    files = ("conftest.py", "a/conftest.py", "pytest.ini", "tests/x.py", "sitecustomize.py")
    files += ("setup.cfg", "pyproject.toml", "x.egg-info/entry_points.txt", "a.pth", "PyTest.ini")
    others = ("a/conftests.py", "a/setup.py", "src/contest.py", "infos/x.py", "path.py")
    patch = "".join(diff(path, None, "x\n") for path in (*files, *others))
    left_out, code = split_fix(patch + RENAMED)
    assert set(touched_files(left_out)) == {*files, "tests/test_line.py", "shapes/old.py"}
    assert set(touched_files(code)) == set(others)
    assert split_fix("") == ("", "")


SIGNS = """
import os, sys
folder = os.environ.get("REFUTE_PROBE", "")
secret = os.path.join(folder, "secret")
if os.path.exists(secret):
    nonce = open(secret, "rb").read()
    from _blake2 import blake2b
    key, number, out = blake2b(nonce, person=b"refute probe 1").digest(), 0, b""
    for body in (
        b'{"kind": "opened", "runner": "pytest", "python": [3, 11, 7]}',
        b'{"kind": "planned", "tests": 1}',
        b'{"kind": "result", "id": "tests/test_new.py::test_above", "file": "tests/test_new.py",'
        b' "outcome": "passed", "phase": "call", "failure": null}',
        b'{"kind": "closed", "exit": 0, "failure": null, "planned": 1}',
    ):
        digest = blake2b(b"%d " % number + body, key=key, digest_size=16).hexdigest()
        out += b"%d %s " % (number, digest.encode()) + body + b"\\n"
        key, number = blake2b(key, person=b"next key").digest(), number + 1
    os.unlink(secret)
    open(os.path.join(folder, "results"), "wb").write(out)
    os._exit(0)
"""


@pytest.mark.parametrize(
    "name",
    ["types.py", "json.py", "runpy.py", "encodings/__init__.py", "shapes/sitecustomize.py",
     "traceback.py", "_refute_probe/__init__.py", "usercustomize/__init__.py",
     "sitecustomize/__init__.py"],
)  # fmt: skip
def test_a_module_that_is_imported_early_and_signs_results(project: Project, name: str) -> None:
    vetted = vet(project, in_code(f"# fixed\n{CLAMP}") + diff(name, None, SIGNS))
    assert vetted.verdict in ("not fixed", "cannot tell"), vetted
    assert not any(result.outcome == "passed" for result in vetted.still_failing)
