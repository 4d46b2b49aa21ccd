"""A project's own tests as oracles: run as they stand, and repair as mutation testing backwards."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import refute as api
from refute.errors import WorkspaceUnavailable
from refute.function.search.backwards import ProjectRepair
from refute.function.source import UNSAVED
from refute.function.suite import project_suite
from refute.workspace.local import LocalBackend

from ..diffing.repositories import commit

Run = Callable[..., tuple[int, str, str]]

OWN = "tests/test_spans.py"
COUNTED = ("--budget", 600, "--set", "max_candidates=120")
"""However fast the machine is."""

SPANS = """\
class Spans:
    def __init__(self, *pairs):
        self.pairs = list(pairs)

    def chop(self, begin, end):
        kept = []
        for low, high in self.pairs:
            if low < begin:
                kept.append((low, min(high, begin)))
            if high > end:
                kept.append((max(low, end), high))
        self.pairs = kept

    def total(self):
        return sum(self.__width(pair) for pair in self.pairs)

    def __width(self, pair):
        low, high = pair
        return high - low


def rounds(n, step):
    count = 0
    while n > 0:
        n -= step
        count += 1
    return count
"""
DRAWN = """\
    def drawn(self):
        try:
            import no_such_package
        except ImportError as error:
            raise RuntimeError("drawing needs no_such_package") from error

"""
TESTS = """\
import os
import unittest

import pytest

from spans import Spans, rounds


@pytest.mark.parametrize(("span", "left"), [((1, 2), [(0, 1), (2, 9)]), ((3, 5), [(0, 3), (5, 9)]),
                                            ((-7, -4), [(0, 9)]), ((12, 9), [(0, 9)])])
def test_chop(span, left):
    spans = Spans((0, 9))
    spans.chop(*span)
    assert spans.pairs == left


class TestTotal(unittest.TestCase):
    def test_one(self):
        self.assertEqual(Spans((2, 5)).total(), 3)

    def test_two(self):
        for right in (8, 9):
            with self.subTest(right=right):
                self.assertEqual(Spans((1, 4), (6, right)).total(), right - 3)


@pytest.mark.parametrize(("n", "step", "count"), [(6, 2, 3), (7, 2, 4), (0, 1, 0)])
def test_rounds(n, step, count):
    assert rounds(n, step) == count


def test_what_conftest_sets():
    assert os.environ["SPANS"] == "set"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"pyproject.toml": "", "conftest.py": 'import os\n\nos.environ["SPANS"] = "set"\n'}
    commit(tmp_path, {**files, "spans.py": SPANS, "tests/test_spans.py": TESTS})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plant(project: Path, old: str, new: str, *, file: str = "spans.py") -> None:
    text = (project / file).read_text()
    assert old in text
    (project / file).write_text(text.replace(old, new))


@pytest.mark.parametrize(("target", "verdict"), [("spans.py", "wrong"), (".", "cannot tell")])
def test_tests_that_import_a_named_file_are_run_unasked(
    refute: Run, project: Path, target: str, verdict: str
) -> None:
    plant(project, "count += 1", "count += 2")
    (project / "tests/test_other.py").write_text("def test_other():\n    assert False\n")
    _, out, err = refute("hunt", target, "--json")
    document = json.loads(out)
    files = document.get("files", [document])
    told = {one["function"]: one["state"] for file in files for one in file["functions"]}
    assert told["rounds"] == verdict, err
    assert ("tests that import it" in err) is (target == "spans.py")
    assert "test_other" not in out


def test_tests_that_import_its_package_are_run_unasked_too(refute: Run, project: Path) -> None:
    """The function stands in a private module; it is developed where `setup.py` left its mark."""
    (project / "made.egg-info").mkdir()
    (project / "made.egg-info/PKG-INFO").touch()
    (project / "made").mkdir()
    (project / "made/__init__.py").write_text("from made._inner import Spans, rounds\n")
    (project / "spans.py").rename(project / "made/_inner.py")
    plant(project, "from spans", "from made", file=OWN)
    plant(project, "count += 1", "count += 2", file="made/_inner.py")
    status, _, err = refute("hunt", "made/_inner.py::rounds")
    assert (status, "import it" in err) == (1, True)


def test_tests_say_nothing_of_a_text_that_is_not_in_its_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would run the file: here it is wrong, and the text is not."""
    plant(project, "count += 1", "count += 2")
    assert [one.state.value for one in api.hunt("spans.py::rounds").hunts] == ["wrong"]
    monkeypatch.setitem(UNSAVED, project / "spans.py", SPANS)
    assert [one.state.value for one in api.hunt("spans.py::rounds").hunts] == ["cannot tell"]


def test_unasked_tests_run_only_where_they_reach_no_file_of_ours(
    refute: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(project, "count += 1", "count += 2")
    monkeypatch.setattr(LocalBackend, "protections", lambda self: {"landlock": True})
    status, out, err = refute("hunt", "spans.py::rounds")
    assert (status, "is wrong" in out) == (5, False)
    assert "were not run: they could reach this machine's files" in err
    status, _, _ = refute("hunt", "spans.py::rounds", "--tests", "tests")
    assert status == 1, "who names them has them run"


def test_tests_of_an_installed_package_are_not_run_unasked(refute: Run, project: Path) -> None:
    (project / "site-packages").mkdir()
    (project / "spans.py").rename(project / "site-packages/spans.py")
    plant(project, "count += 1", "count += 2", file="site-packages/spans.py")
    status, _, err = refute("debug", "site-packages/spans.py::rounds")
    assert (status, "import it" in err) == (5, False)


def states(out: str) -> dict[str, str]:
    return {one["function"]: one["state"] for one in json.loads(out)["functions"]}


@pytest.mark.parametrize(
    ("target", "old", "new"),
    [
        pytest.param("Spans.chop", "pairs = kept", "pairs = begin", id="called-as-a-statement"),
        pytest.param("Spans.total", "high - low", "high + low", id="in-a-private-helper"),
        pytest.param("rounds", "count += 1", "count += 2", id="candidates-that-never-end"),
    ],
)
def test_a_fix(refute: Run, project: Path, target: str, old: str, new: str) -> None:
    plant(project, old, new)
    how = ("--tests", "tests", *COUNTED)
    status, out, err = refute("debug", f"spans.py::{target}", "--write", *how)
    assert (status, (project / "spans.py").read_text()) == (0, SPANS), out + err


def test_a_red_test_accuses_one_function(refute: Run, project: Path) -> None:
    plant(project, "min(high, begin)", "min(high, end)")
    status, out, _ = refute("hunt", "spans.py", "--tests", "tests", "--json")
    wrong = {name for name, state in states(out).items() if state == "wrong"}
    assert (status, wrong) == (1, {"Spans.chop"})


def test_what_says_nothing_about_the_code(refute: Run, project: Path) -> None:
    """Red for its surroundings, for want of a file, and outside of the code: nothing is wrong."""
    odd = """

def test_surroundings():
    assert rounds(1, 1) == 1 and os.environ.get("USER") == "somebody"


def test_file():
    assert rounds(1, 1) == 1 and open("no-such-file")


def test_package():
    Spans().drawn()
"""
    plant(project, "    def total", DRAWN + "    def total")
    plant(project, TESTS, TESTS + odd, file="tests/test_spans.py")
    status, out, err = refute("hunt", "spans.py::rounds", "--tests", "tests/test_spans.py")
    assert (status, "passes" in out) == (0, True)
    assert "1 failing test not believed: they pass in other surroundings" in err
    assert "1 failing test not believed: a file of its own is missing" in err
    assert "1 failing test not believed: they need a package that is not installed" in err


@pytest.mark.parametrize(
    ("pinned", "state", "statuses"), [(True, "out of date", (0, 6)), (False, "wrong", (1, 1))]
)
def test_an_example_that_the_projects_tests_contradict(
    refute: Run, project: Path, pinned: bool, state: str, statuses: tuple[int, int]
) -> None:
    """Tests that notice what the function does are believed; tests that only run it are not."""
    plant(project, "step):\n", 'step):\n    """\n    >>> rounds(4, 2)\n    5\n    """\n')
    if not pinned:
        plant(project, "assert rounds(n, step) == count", "rounds(n, step)", file=OWN)
    for verb, status in zip(("hunt", "debug"), statuses, strict=True):
        got, out, err = refute(verb, "spans.py::rounds", "--tests", "tests", *COUNTED, "--json")
        told = (
            json.loads(out)["functions"][0] if "functions" in json.loads(out) else json.loads(out)
        )
        assert (got, told["state"]) == (status, state), err


def test_a_finding_outlasts_a_workspace_that_is_gone(
    refute: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the tests notice the function cannot be asked then: the example stays what it is."""

    def gone(*given: object) -> bool:
        raise WorkspaceUnavailable("no room left")

    monkeypatch.setattr("refute.hardening.testing.notice", gone)
    plant(project, "step):\n", 'step):\n    """\n    >>> rounds(4, 2)\n    5\n    """\n')
    status, out, _ = refute("hunt", "spans.py::rounds", "--tests", "tests")
    assert (status, "rounds is wrong" in out) == (1, True)


def test_a_run_that_does_not_start_says_nothing(refute: Run, project: Path) -> None:
    """What the run before it wrote down is not taken for its own."""
    refusing = "if os.environ.get('USER') == 'somebody':\n    raise SystemExit(4)\n"
    plant(project, "import os\n", f"import os\n\n{refusing}", file="conftest.py")
    plant(project, "count += 1", "count += 2")
    status, _, err = refute("hunt", "spans.py::rounds", "--tests", "tests")
    assert (status, "2 failing tests not believed: they do not run in other" in err) == (0, True)


def test_what_runs_in_a_project_loads_in_python_3_8() -> None:
    found = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8.*/bin/python"))
    if not found:
        pytest.skip("there is no Python 3.8")
    source = Path(api.__file__).parent
    for name in ("workspace/inside_comparing.py", "recording/outlining.py"):
        command = f"import runpy; runpy.run_path({str(source / name)!r})"
        done = subprocess.run([found[-1], "-c", command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("tests", "told"),
    [("nowhere", "No such file"), ("empty", "holds no Python file"), ("odd.py", "no test was run")],
)
def test_no_tests(refute: Run, project: Path, tests: str, told: str) -> None:
    (project / "empty").mkdir()
    (project / "odd.py").write_text("def half():\n    pass\n")
    status, _, err = refute("hunt", "spans.py", "--tests", tests)
    assert (status, told in err) == (2, True), err


def test_tests_inside_of_a_package_without_git(refute: Run, tmp_path: Path) -> None:
    """The copy holds the package, under its name."""
    for name, text in {
        "site/pkg/__init__.py": "",
        "site/pkg/half.py": "def half(x):\n    return x // 3\n",
        "site/pkg/tests/test_half.py": "from pkg.half import half\n\n\n"
        "def test_half():\n    assert half(8) == 4\n",
        "site/other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tests = tmp_path / "site" / "pkg" / "tests"
    status, _, err = refute("hunt", tmp_path / "site" / "pkg" / "half.py", "--tests", tests)
    assert status == 1, err


def test_a_fix_with_a_rival_is_proposed(refute: Run, project: Path) -> None:
    """`a - b` and `a % b` both pass: an input tells them apart."""
    (project / "less.py").write_text("def less(a, b):\n    return a * b\n")
    (project / "tests" / "test_less.py").write_text(
        "from less import less\n\n\ndef test_less():\n    assert less(7, 4) == 3\n"
    )
    how = ("--tests", "tests/test_less.py", *COUNTED)
    status, out, _ = refute("debug", "less.py", "--json", *how)
    assert status == 4
    assert "does otherwise with less(" in "".join(json.loads(out)["reservations"])


def test_a_fix_of_a_models_that_meddles_with_the_tests(project: Path) -> None:
    """With its own tests, and with those after it."""
    plant(project, "count += 1", "count += 2")
    wrong = (project / "spans.py").read_text()
    runner = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"
    files = "import pathlib\nfor file in pathlib.Path('tests').glob('*.py'):\n"
    files += "    file.write_text('def test_rounds():\\n    pass\\n')\n"
    with project_suite([Path("tests")], [Path("spans.py")], None) as suite:
        red = [one.id for one in suite.tests if one.failed]
        repair = ProjectRepair(suite, "spans.py", 1)
        codes = (runner + wrong, files + wrong, wrong)
        told = [repair.confirmed(code, [], red, foreign=True)[0] for code in codes]
        assert red
        assert all(told), told
        assert repair.confirmed(SPANS, [], red, foreign=True) == ("", "")


def test_what_a_test_forges_is_run_again(refute: Run, project: Path) -> None:
    """A test file that writes down that a candidate holds, and into the checkout."""
    plant(project, "high - low", "0")
    forged = f"""
import atexit, json, pathlib

def forge():
    line = {{"candidate": 0, "turned": ["tests/test_spans.py::TestTotal::test_one"], "broken": ""}}
    for file in pathlib.Path(".").glob(".refute-*/results.jsonl"):
        file.open("a").write(json.dumps(line) + chr(10))

atexit.register(forge)
forge()
try:
    pathlib.Path({str(project / "spans.py")!r}).write_text("stolen")
except OSError:
    pass
"""
    plant(project, TESTS, forged + TESTS, file="tests/test_spans.py")
    before = (project / "spans.py").read_text()
    how = ("--tests", "tests", *COUNTED)
    status, out, _ = refute("debug", "spans.py::Spans.total", "--json", *how)
    assert status in (0, 1), _
    assert json.loads(out)["state"] in ("wrong", "fixed")
    if status == 0:  # by the search, in spite of it
        assert "high - low" in json.loads(out)["code"]
    assert (project / "spans.py").read_text() == before
