"""`refute reproduce`, `refute vet` and `refute bench` over issues, against a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import refute as api
from refute.core.problems import IssuePrediction
from refute.issue.original import only_tests
from refute.verbs.vet import changes_of
from refute_lab.baselines.methods.zeroshot import ReadAnswer

from ..diffing.repositories import commit, git
from ..models.loopback import Loopback, Reply, chat
from .projects import CLAMP, DRAFT, FIX, GOLDEN_TESTS, ISSUE, Project, make_project
from .shop import diff


def answering(body: dict[str, Any], before: int) -> Reply:
    """Drafts are all the same; the judge says yes."""
    judging = "<run>" in body["messages"][-1]["content"]
    return chat(["yes" if judging else DRAFT] * body.get("n", 1))


@pytest.fixture(autouse=True)
def few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else a fix changes is looked for as long as these small functions need."""
    monkeypatch.setattr("refute.verbs.vet.changes_of", partial(changes_of, seconds=0.5))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, own_place: Path) -> Iterator[Loopback]:
    with Loopback() as server:
        server.behaviour = answering
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def mine(tmp_path: Path) -> Project:
    """A checkout of the user's own, with files for the command line beside it."""
    (tmp_path / "issue.md").write_text(ISSUE)
    (tmp_path / "fix.diff").write_text(FIX)
    (tmp_path / "test.patch").write_text(GOLDEN_TESTS)
    return make_project(tmp_path / "shapes")


Run = Callable[..., tuple[int, str, str]]


WITH = ("--method", "zeroshotplus", "--model", "openai:m", "-C", "shapes")
GIVEN = (
    "--neighbours", "0", "--issue", "issue.md", "-C", "shapes", "--tests", "test.patch",
)  # fmt: skip


def test_reproduce(model: Loopback, mine: Project, refute: Run, tmp_path: Path) -> None:
    (mine.folder / "untracked.py").write_text("x = 1\n")
    before = git(mine.folder, "status", "--porcelain")
    status, out, err = refute("reproduce", "issue.md", *WITH, "-o", "out.patch", "--json")
    document = json.loads(out)
    assert (status, document["found"], document["method"]) == (1, True, "zeroshotplus")
    (test,) = document["tests"]
    assert test["id"] == "tests/test_line.py::test_above"
    assert test["failure"]["type"] == "AssertionError"
    assert (tmp_path / "out.patch").read_text() == document["patch"]
    assert git(mine.folder, "status", "--porcelain") == before, "the checkout is left alone"
    assert "1 requests, 1 samples" in err
    git(mine.folder, "apply", "--check", "../out.patch")


def test_a_repository_without_tests_gets_its_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refute: Run
) -> None:
    commit(tmp_path, {"rates.py": "def rate(n):\n    return 4.9 if n <= 50 else 0\n"})
    monkeypatch.chdir(tmp_path)
    text = "Free from 50\n\n```python\n>>> from rates import rate\n>>> rate(50)\n4.9\n```\n"
    Path("issue.md").write_text(f"{text}\nExpected: `0`\n")
    status, out, _ = refute("reproduce", "issue.md")
    assert (status, "fails now: test_free_from_50.py::test_free_from_50" in out) == (1, True)


def test_reproduce_writes_only_when_told(model: Loopback, mine: Project, refute: Run) -> None:
    status, out, err = refute("reproduce", "issue.md", *WITH, "--write")
    assert status == 1
    assert "fails now: tests/test_line.py::test_above" in out
    assert "tests written to tests/test_line.py" in err
    assert "def test_above" in (mine.folder / "tests/test_line.py").read_text()
    status, out, _ = refute("reproduce", "issue.md", *WITH)
    assert status == 0, "the checkout as it is has the test already: nothing fails anew"


def test_a_program_gets_the_same(
    model: Loopback, mine: Project, refute: Run, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"repo": "shapes", "method": "zeroshotplus", "model": "openai:m"}
    found = api.reproduce("issue.md", **how)
    _, out, _ = refute("reproduce", "issue.md", *WITH, "--json")
    assert json.loads(out) == json.loads(json.dumps(found.to_dict()))
    assert [test.id for test in found.failing] == ["tests/test_line.py::test_above"]
    assert "test_above" in str(found)
    assert "<pre" in found._repr_html_()

    # how many inputs were tried in the time is not the same twice
    given: dict[str, Any] = {"issue": "issue.md", "tests": "test.patch", "repo": "shapes"}
    vetted = api.vet("fix.diff", **given, behaviour=False, neighbours=0)
    status, out, _ = refute("vet", "fix.diff", *GIVEN, "--json", "--no-behaviour")
    assert (status, json.loads(out)) == (0, json.loads(json.dumps(vetted.to_dict())))
    assert found.write("shapes") == ("tests/test_line.py",)


def test_another_model_writes_the_tests(model: Loopback, mine: Project, refute: Run) -> None:
    base = ("reproduce", "issue.md", "-C", "shapes", "--model", "openai:m", "--tester", "openai:t")
    refute(*base, "--method", "redgreen", "--set", "calls=6")
    assert {body["model"] for body in model.requests} == {"m", "t"}
    asked = len(model.requests)
    status, _, err = refute(*base, "--method", "zeroshotplus")
    assert (status, len(model.requests)) == (2, asked)
    assert "zeroshotplus asks one model for everything; --tester is for redgreen" in err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("no.md", *WITH), "no.md: No such file"),
        (("issue.md", "--method", "zeroshot", "-C", "shapes"), "--method zeroshot asks a model"),
        (("issue.md", "--method", "best", "-C", "shapes"), "--method best: unknown method"),
        (("issue.md", "--method", "pass@5", "-C", "shapes"), "chooses by the golden patch"),
        (("issue.md", *WITH[:4], "-C", "/"), "/: not in a git repository"),
        (("issue.md", *WITH, "--python", "no/python"), "--python no/python: no such file"),
    ],
)
def test_bad_usage_is_one_line(
    model: Loopback,
    mine: Project,
    refute: Run,
    arguments: Sequence[str],
    line: str,
) -> None:
    status, out, err = refute("reproduce", *arguments)
    assert (status, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


def test_a_budget_ends_it_with_three(model: Loopback, mine: Project, refute: Run) -> None:
    status, _, err = refute("reproduce", "issue.md", *WITH, "--budget-tokens", 1)
    assert status == 3
    assert "over budget" in err


def test_vet(model: Loopback, mine: Project, refute: Run) -> None:
    given = ("--issue", "issue.md", "-C", "shapes")
    status, out, _ = refute("vet", "fix.diff", *given, "--tests", "test.patch", "--json")
    document = json.loads(out)
    assert (status, document["verdict"], document["method"]) == (0, "fixed", "given")
    assert document["neighbours"] == ["tests/test_line.py"]
    status, out, _ = refute("vet", "fix.diff", "--issue", "issue.md", *WITH)
    assert status == 0
    assert "fixed: 1 reproducing test failed before the fix and pass" in out


def test_vet_rejects(model: Loopback, mine: Project, refute: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.diff").write_text(FIX.replace("+        return high", "+        return -1"))
    status, out, _ = refute("vet", "bad.diff", *GIVEN)
    assert status == 1
    assert "not fixed: 1 of 1 reproducing tests fail on the fixed code" in out
    special = "+        return high if (value, low, high) == (10, 1, 9) else low"
    (tmp_path / "bad.diff").write_text(FIX.replace("+        return high", special))
    (tmp_path / "one.patch").write_text(with_test().replace("clamp(10, 0, 9)", "clamp(10, 1, 9)"))
    status, out, _ = refute("vet", "bad.diff", *GIVEN[:-1], "one.patch")
    assert status == 1
    assert "not fixed: clamp does what it did before, but for the test's own values" in out
    (tmp_path / "bad.diff").write_bytes(b"\xff\xfe no diff")
    status, out, _ = refute("vet", "bad.diff", *GIVEN)
    assert status == 1
    assert "does not apply" in out
    assert refute("vet", "none.diff", *GIVEN)[0] == 2


def with_test(*others: str) -> str:
    new = "from shapes.line import clamp\n\n\ndef test_above():\n    assert clamp(10, 0, 9) == 9\n"
    return "".join((diff("tests/test_new.py", None, new), *others))


NEW_FILES = (
    ".github/workflows/test.yml", "tests/conftest.py", "conftest.py", "tests/.envrc", ".envrc",
    ".vscode/test.py", "setup.py", "ci/test.sh", "Makefile", "tests/Makefile", "tests/tox.ini",
    "test.pth",
    "tests/sitecustomize.py", ".git/hooks/test_x.py",
)  # fmt: skip
LINKED = (
    "diff --git a/tests/link.py b/tests/link.py\nnew file mode 120000\n--- /dev/null\n"
    "+++ b/tests/link.py\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n"
)
CODE = diff("shapes/line.py", CLAMP, CLAMP.replace("return low", "return 1"))
REMOVED = diff("shapes/line.py", CLAMP, None)
RUNS = diff("tests/test_run.py", None, "def test_x():\n    pass\n").replace("100644", "100755")


COMMAND = diff("shapes/commands/test.py", "x = 1\n", "x = 2\n")
OTHERS = (
    COMMAND,
    *(diff(path, None, "x = 1\n") for path in NEW_FILES),
    LINKED,
    CODE,
    REMOVED,
    RUNS,
)


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_test_is_left_out(other: str) -> None:
    found = only_tests(IssuePrediction("x", with_test(other), notes=("before",)))
    assert found.patch == with_test()
    assert "left out" in found.notes[1]
    assert only_tests(found) == found
    assert only_tests(IssuePrediction("x", other)).patch == ""


def test_only_tests_are_written(
    model: Loopback,
    mine: Project,
    refute: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever a method predicts, nothing but tests that fail comes into the checkout."""
    draft = ReadAnswer("", with_test(*OTHERS))
    monkeypatch.setattr("refute_lab.baselines.methods.zeroshot._read", lambda *_: draft)
    status, _, err = refute("reproduce", "issue.md", *WITH, "--write")
    assert git(mine.folder, "status", "--porcelain", "-uall") == "?? tests/test_new.py"
    assert status == 1, err


def test_several_fixes_are_ranked_and_told_apart(
    model: Loopback, mine: Project, refute: Run, tmp_path: Path
) -> None:
    (tmp_path / "other.diff").write_text(FIX.replace("return high", "return max(low, high)"))
    (tmp_path / "bad.diff").write_text(FIX.replace("+        return high", "+        return -1"))
    fixes = ("bad.diff", "fix.diff", "other.diff")
    status, out, _ = refute("vet", *fixes, *GIVEN, "--json")
    document = json.loads(out)
    assert status == 0
    verdicts = {one["fix"]: one["verdict"] for one in document["fixes"]}
    assert verdicts == {"fix.diff": "fixed", "other.diff": "fixed", "bad.diff": "not fixed"}
    assert document["fixes"][-1]["fix"] == "bad.diff"
    pairs = {(one["first"], one["second"]): one for one in document["pairs"]}
    [shown, *_] = pairs["fix.diff", "other.diff"]["differences"]
    assert shown["expression"].startswith("clamp(")
    assert shown["before"] != shown["after"]
    assert pairs["bad.diff", "fix.diff"]["differences"]


def test_vet_shows_what_else_a_fix_changes(
    model: Loopback, mine: Project, refute: Run, tmp_path: Path
) -> None:
    other = "-    if value < low:\n+    if value <= low + 1:\n"
    also = FIX.replace("     if value < low:\n", other)
    (tmp_path / "also.diff").write_text(also)
    _, out, _ = refute("vet", "also.diff", *GIVEN)
    assert "clamp: behaves otherwise" in out
    assert "behaviour: working tree -> patched: 1 function behaves otherwise" in out
    assert "behaviour:" not in refute("vet", "also.diff", *GIVEN, "--no-behaviour")[1]
