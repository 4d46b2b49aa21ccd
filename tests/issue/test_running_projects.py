"""Tests that cannot be run give no verdict of any verb; and a test has one id in every run,
wherever the settings of its runner lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import refute as api
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import TestReport, TestSelection
from refute.workspace.factory import open_local, prepare
from refute.workspace.infer import infer_recipe, needs_pytest

from ..diffing.repositories import commit, git
from ..environments import with_packages
from ..models.loopback import Loopback, chat
from .projects import DRAFT, FIX, GOLDEN_TESTS, ISSUE, make_project

Run = Callable[..., tuple[int, str, str]]
CASES = """import unittest

from shapes.line import clamp


class Above(unittest.TestCase):
    def test_above(self):
        self.assertEqual(clamp(10, 0, 9), 9)
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has nothing."""
    return with_packages(tmp_path_factory.mktemp("bare") / "env", set()) / "bin" / "python"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose tests are pytest's, and what an issue's verbs take beside it."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, text in (("issue.md", ISSUE), ("fix.diff", FIX), ("tests.diff", GOLDEN_TESTS)):
        (tmp_path / name).write_text(text)
    return make_project(tmp_path / "shapes").folder


@pytest.mark.parametrize(
    "words",
    [
        "vet fix.diff --issue issue.md --tests tests.diff --no-behaviour",
        "reproduce issue.md",
        "gate --no-behaviour",
        "harden shapes/shapes/line.py --budget 5",
        "fix issue.md --model openai:m",
    ],
    ids=lambda words: " ".join(words.split()[:6:5]),
)
def test_no_verb_says_anything_of_tests_that_need_what_is_not_there(
    words: str, mine: Path, bare: Path, refute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if words.startswith("gate"):
        git(mine, "apply", "../tests.diff", "../fix.diff")
    with Loopback() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.behaviour = lambda body, before: chat([DRAFT] * body.get("n", 1))
        status, out, err = refute(*words.split(), "-C", mine, "--python", bare)
    assert (status, out) == (3, "")
    line = err.strip().splitlines()[-1]
    assert f"pytest is not installed in {bare}" in line
    assert f"{bare} -m pip install pytest" in line


def test_a_missing_plugin_is_told_in_the_words_of_pytest(mine: Path, only_pytest: Path) -> None:
    """Unless a change itself asks for it: that is its own doing."""
    python = only_pytest / "bin" / "python"
    git(mine, "apply", "../tests.diff", "../fix.diff")
    for line, said in (
        ("addopts = -p not_here", "No module named 'not_here'"),
        ("required_plugins = not-here", "Missing required plugins: not-here"),
    ):
        (mine / "pytest.ini").write_text(f"[pytest]\n{line}\n")
        git(mine, "add", "pytest.ini")
        git(mine, "commit", "-qm", line, "pytest.ini")
        with pytest.raises(WorkspaceUnavailable, match=f"does not start in {python}: .*{said}"):
            api.gate(repo=mine, python=python, behaviour=False)
    (mine / "pytest.ini").write_text("[pytest]\n")
    git(mine, "commit", "-qam", "no options")
    recipe = infer_recipe(mine, interpreter=python)
    base = prepare(str(mine), git(mine, "rev-parse", "HEAD"), recipe)
    with open_local(base) as workspace:
        workspace.write("pytest.ini", b"[pytest]\naddopts = --not-here=1\n")
        workspace.write("tests/test_new.py", b"def test_a(): 0\n")
        change = workspace.diff()
        report = workspace.run_tests(TestSelection(("tests/test_new.py",)))
        assert (report.status, report.results, workspace.diff()) == ("crashed", (), change)
        workspace.reset()
        workspace.write("tests/test_new.py", b"def test_a(): 0\n")
        assert outcomes(workspace.run_tests(TestSelection(("tests/test_new.py",)))) == {
            "tests/test_new.py::test_a": "passed"
        }


def outcomes(report: TestReport) -> dict[str, str]:
    assert report.status == "finished", report.remark
    return {one.id: one.outcome for one in report.results}


def test_unittest_needs_no_pytest(mine: Path, bare: Path) -> None:
    (mine / "tests/test_line.py").write_text(CASES.replace("10, 0, 9), 9", "3, 0, 9), 3"))
    (mine / "tests/test_colour.py").unlink()
    git(mine, "commit", "-qam", "by unittest")
    (mine / "tests/test_line.py").write_text(CASES)
    git(mine, "apply", "../fix.diff")
    gated = api.gate(repo=mine, python=bare, behaviour=False)
    assert gated.verdict == "proven", gated
    assert [one.id for one in gated.judged.turned] == ["tests.test_line.Above.test_above"]


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import pytest\n", True),
        ("from pytest import raises\n", True),
        ("def test_a():\n    assert 1\n", True),
        ("class TestA:\n    async def test_a(self):\n        assert 1\n", True),
        (CASES, False),
        ("def test_suite():\n    return unittest.TestSuite()\n", False),
        ("class Mixin:\n    def test_a(self):\n        self.assertEqual(1, 1)\n", False),
        ("def helper():\n    assert 1\n", False),
        ("no python", False),
    ],
)
def test_whose_tests_a_file_holds(source: str, needs: bool) -> None:
    assert needs_pytest(source) is needs


# -- identity --------------------------------------------------------------------------------------

SLOTS = "def free(taken, count):\n    return [n for n in range(1, count) if n not in taken]\n"
SLOT_TESTS = "from slots import free\n\n\ndef test_taken():\n    assert free([1], 3) == [2]\n"
ZERO = "\n\ndef test_zero():\n    assert free([], 2) == [0, 1]\n"
BACKEND = {
    "backend/pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "backend/slots.py": SLOTS,
    "backend/tests/test_slots.py": SLOT_TESTS,
    "frontend/package.json": "{}",
}
MEMBER = '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\naddopts = "-q"\n'
FEES = "def fee(amount):\n    return amount // 100\n"
BILL = "from core.fees import fee\n\n\ndef total(amount):\n    return amount + fee(amount)\n"
MEMBERS = {
    "pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    "packages/core/pyproject.toml": MEMBER,
    "packages/core/src/core/fees.py": FEES,
    "packages/core/tests/test_fees.py": "from core.fees import fee\n\n\n"
    "def test_fee():\n    assert fee(10_000) == 100\n",
    "packages/app/pyproject.toml": MEMBER.replace('"src"', '"src", "../core/src"'),
    "packages/app/src/app/bill.py": BILL,
    "packages/app/tests/test_bill.py": "from app.bill import total\n\n\n"
    "def test_total():\n    assert total(10_000) == 10_100\n",
}
LEAST = "\n\ndef test_least():\n    assert total(1_000) == 1_050\n"
TWO = {
    "one/pytest.ini": "[pytest]\npython_files = check_*.py test_*.py\n",
    "one/test_slots.py": "from one.slots import free\n" + SLOT_TESTS.partition("\n")[2],
    "one/slots.py": SLOTS,
    "two/pytest.ini": "[pytest]\npythonpath = lib\n",
    "two/lib/slots_of_two.py": "from one.slots import free\n",
    "two/test_two.py": "from slots_of_two import free\n\n\n"
    "def test_two():\n    assert free([1], 2) == []\n",
}


def edit(path: Path, old: str, new: str, more: str = "") -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new) + more)


def test_settings_in_a_subfolder(
    tmp_path: Path, only_pytest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    commit(repo := tmp_path / "repo", BACKEND)
    edit(repo / "backend/slots.py", "range(1, count)", "range(count)")
    edit(repo / "backend/tests/test_slots.py", "[2]", "[0, 2]", ZERO)
    gated = api.gate(repo=repo / "backend", python=only_pytest / "bin/python", behaviour=False,
                     rules=["red-first"])  # fmt: skip
    assert gated.verdict == "proven", gated
    assert {one.id for one in gated.judged.turned} == {
        "backend/tests/test_slots.py::test_taken", "backend/tests/test_slots.py::test_zero",
    }  # fmt: skip


def test_members_of_a_workspace(
    tmp_path: Path, only_pytest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    commit(repo := tmp_path / "repo", MEMBERS)
    edit(repo / "packages/core/src/core/fees.py", "amount // 100", "max(50, amount // 100)")
    edit(repo / "packages/app/tests/test_bill.py", "", "", LEAST)
    gated = api.gate(repo=repo, python=only_pytest / "bin/python", behaviour=False)
    assert gated.verdict == "proven", gated
    assert [one.id for one in gated.judged.turned] == [
        "packages/app/tests/test_bill.py::test_least"
    ]
    assert gated.judged.near == ("packages/core/tests/test_fees.py",)


def test_ids_are_the_same_whichever_files_run(
    tmp_path: Path, only_pytest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file with the settings that pytest finds for it alone; asked for by its id, it is found;
    lines are counted over all."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    commit(repo := tmp_path / "repo", TWO)
    recipe = infer_recipe(repo, interpreter=only_pytest / "bin/python")
    base = prepare(str(repo), git(repo, "rev-parse", "HEAD"), recipe)
    files = ("one/test_slots.py", "two/test_two.py")
    ids = {"one/test_slots.py::test_taken": "passed", "two/test_two.py::test_two": "passed"}
    with open_local(base) as workspace:
        both = workspace.run_tests(TestSelection(files), count_lines={"one/slots.py": [2]})
        assert outcomes(both) == ids
        assert [one.file for one in both.results] == list(files)
        assert both.lines == {"one/slots.py": {2: 2}}
        for id, file in zip(ids, files, strict=True):
            assert outcomes(workspace.run_tests(TestSelection((file,)))) == {id: "passed"}
            assert outcomes(workspace.run_tests(TestSelection(tests=(id,)))) == {id: "passed"}
        assert outcomes(workspace.run_tests(TestSelection(tests=tuple(ids)))) == ids
        workspace.write("two/test_two.py", b"import not_here\n")
        (broken,) = workspace.run_tests(TestSelection(files[1:])).results
        assert (broken.id, broken.file) == (files[1], files[1])
