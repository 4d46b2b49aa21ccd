"""`refute judge` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .function.scripted_server import DOC, ScriptedServer

PROBLEM = f"def f(n):\n{DOC}    ...\n"
FILES = {
    "task.py": PROBLEM,
    # no loop: some inputs are huge, and a call may take seconds
    "a.py": "def f(n):\n    return n * (n - 1) // 2\n",
    "b.py": "def f(n):\n    return n * (n + 1) // 2\n",
    "c.py": "def f(n):\n    return (n * n + n) // 2\n",
    "d.py": "def g(n):\n    return 0\n",
    "e.py": "def f(n:\n",
    "given.py": "from task import f\n\ndef test_f():\n    assert f(3) == 3\n",
    "text.txt": "The sum of the numbers below n.\n",
}
GIVEN = ("--tests", "given.py", "--description", "text.txt", "--json")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(own_place: Path, refute: Run) -> Run:
    for name, text in FILES.items():
        (own_place / name).write_text(text)
    return partial(refute, "judge")


def test_without_a_model(run: Run) -> None:
    status, out, err = run("task.py::f", "a.py", "b.py", "c.py", "d.py", "e.py", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["function"], found["n"], found["best"]) == ("f", 5, "b.py")
    ranking = {one["candidate"]: one for one in found["ranking"]}
    assert ranking["b.py"]["rank"] == ranking["c.py"]["rank"] == 1
    assert ranking["d.py"]["passed"] == ranking["e.py"]["passed"] == 0
    assert all(one["of"] == len(found["tests"]) for one in ranking.values())
    assert "d.py: does not define f" in err
    assert "e.py: is not valid Python" in err
    status, out, _ = run("task.py", "a.py", "b.py", "c.py", "--model", "none")
    assert status == 0
    assert out.index("b.py") < out.index("a.py")


def test_given_tests_and_description_decide(run: Run) -> None:
    found = json.loads(run("task.py", "b.py", "a.py", *GIVEN)[1])
    assert found["best"] == "a.py"
    assert [test["call"] for test in found["tests"]] == ["given.py::test_f"]
    assert [row["passed"] for row in found["ranking"]] == [1, 0]


@pytest.mark.parametrize(
    "attack",
    [
        "import pathlib\n"
        "file = pathlib.Path(__file__).with_name('given.py')\n"
        "file.write_text('def test_f():\\n    assert False\\n')\n",
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n",
    ],
    ids=["for-those-after-it", "for-itself"],
)
def test_a_candidate_that_meddles_with_the_tests(run: Run, tmp_path: Path, attack: str) -> None:
    (tmp_path / "evil.py").write_text(f"{attack}\n\ndef f(n):\n    return 7\n")
    found = json.loads(run("task.py", "evil.py", "a.py", *GIVEN)[1])
    assert found["best"] == "a.py", found


def test_with_a_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        options = ("--model", "openai:m", "--json", "--set", "n=2")
        status, out, err = run("task.py", "a.py", "b.py", *options)
        assert status == 0, err
        found = json.loads(out)
        assert found["best"] == "b.py"
        assert any(test["source"] == "model" for test in found["tests"])
        assert "openai:m, asked now: " in err
        asked = len(server.requests)
        assert run("task.py", "a.py", "b.py", *options)[1] == out
        assert len(server.requests) == asked, "asked once, kept for ever"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("task.py", "missing.py"), "missing.py"),
        (("task.py::g", "a.py"), "has no function g"),
        (("task.py", "a.py", "--reward", "hf:/nowhere", "--model", "openai:m"), "two judges"),
        (("task.py", "a.py", "--set", "n=2"), "add --model"),
        (("a.diff", "b.diff", "--issue", "i.md"), "No such option"),
        (("task.py", "a.py", "--k", 2), "--k is an option of the command: write --set k=2"),
    ],
)
def test_misuse_is_one_line_and_status_2(run: Run, arguments: Any, message: str) -> None:
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
