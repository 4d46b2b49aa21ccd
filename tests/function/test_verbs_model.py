"""`refute hunt` and `refute debug` with a model behind a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .scripted_server import DOC, ScriptedServer

CODE = f"def f(n):\n{DOC}    return sum(range(n))\n"


@pytest.fixture
def server(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    (own_place / "m.py").write_text(CODE)
    with ScriptedServer() as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        yield scripted


Run = Callable[..., tuple[int, str, str]]


MODEL = ("--method", "utgen", "--model", "openai:m")


def test_hunt_writes_tests_that_fail_now(
    server: ScriptedServer, refute: Run, tmp_path: Path
) -> None:
    status, out, err = refute("hunt", "m.py", *MODEL, "-n", 2, "--json", "-o", "test_m.py")
    assert status == 1, err
    document = json.loads(out)
    assert document["function"] == "f"
    assert 1 <= len(document["tests"]) <= 2
    for test in document["tests"]:
        assert test["status"] == "wrong"
        assert test["expected"] != test["actual"]
        assert 0.5 <= test["confidence"] <= 1
    assert "openai:m, asked now: " in err
    assert "$0.0000" in err
    assert "assert" in (tmp_path / "test_m.py").read_text()
    prompts = json.dumps(server.requests)
    assert "Correct the code" not in prompts, "hunting asks for no fix"


def test_debug_mends_with_generated_tests(
    server: ScriptedServer, refute: Run, tmp_path: Path
) -> None:
    status, out, err = refute(
        "debug", "m.py::f", *MODEL, "--set", "m=8", "--json", "--write", "--proposed"
    )
    assert status == 4, err
    document = json.loads(out)
    assert document["state"] == "proposed", "only the model's own tests speak for it"
    assert "+    return" in document["diff"]
    namespace: dict[str, Any] = {}
    exec((tmp_path / "m.py").read_text(), namespace)
    assert [namespace["f"](n) for n in range(5)] == [0, 1, 3, 6, 10]
    asked = len(server.requests)
    (tmp_path / "m.py").write_text(CODE)
    assert refute("debug", "m.py::f", *MODEL, "--set", "m=8", "--json", "--proposed")[1] == out
    assert len(server.requests) == asked, "asked once, kept for ever"


def test_a_models_fix_passes_the_projects_tests(
    server: ScriptedServer, refute: Run, tmp_path: Path
) -> None:
    """No edit of one place turns them green, so the model is asked; they decide what holds."""
    (tmp_path / "m.py").write_text(f"def f(n):\n{DOC}    return len(str(n))\n")
    (tmp_path / "test_m.py").write_text(
        "import pytest\nfrom m import f\n\n\n@pytest.mark.parametrize('n', [0, 1, 3, 7])\n"
        "def test_f(n):\n    assert f(n) == n * (n + 1) // 2\n"
    )
    how = ("--set", "m=8", "--tests", "test_m.py")
    status, _, err = refute("debug", "m.py", *MODEL, *how, "--write", "--proposed")
    assert status in (0, 4), err
    assert "test_m.py::test_f[3] fails: AssertionError" in json.dumps(server.requests)
    namespace: dict[str, Any] = {}
    exec((tmp_path / "m.py").read_text(), namespace)
    assert [namespace["f"](n) for n in range(5)] == [0, 1, 3, 6, 10]


def test_no_cache_asks_again(server: ScriptedServer, refute: Run, tmp_path: Path) -> None:
    hunt = ("hunt", "m.py", *MODEL, "-n", 1, "--set", "vote=false", "--no-cache")
    first = refute(*hunt)
    asked = len(server.requests)
    assert refute(*hunt)[:2] == first[:2]
    assert len(server.requests) == 2 * asked
    assert not list((tmp_path).glob("cache/samples*"))


def test_answers_are_recorded_and_replayed(server: ScriptedServer, refute: Run) -> None:
    status, out, _ = refute("hunt", "m.py", *MODEL, "--record", "answers.jsonl")
    asked = len(server.requests)
    replay = ("--method", "utgen", "--model", "replay:answers.jsonl", "--no-cache")
    assert refute("hunt", "m.py", *replay)[:2] == (status, out)
    assert len(server.requests) == asked
    # what comes from the cache is recorded as well
    assert refute("hunt", "m.py", *MODEL, "--record", "again.jsonl")[:2] == (status, out)
    assert len(server.requests) == asked
    lines = [
        sorted(Path(name).read_text().splitlines()) for name in ("answers.jsonl", "again.jsonl")
    ]
    assert lines[0] == lines[1]


def test_the_tester_writes_the_tests(server: ScriptedServer, refute: Run) -> None:
    status, _, err = refute("debug", "m.py", *MODEL, "--tester", "openai:trained", "--set", "m=1")
    assert status in (1, 4), err
    by_model: dict[str, str] = {}
    for body in server.requests:
        by_model[body["model"]] = by_model.get(body["model"], "") + json.dumps(body["messages"][-1])
    assert "one unit test" in by_model["trained"]
    assert "one unit test" not in by_model["m"]
    assert "Correct the code" in by_model["m"]
    assert "openai:trained, asked now: " in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hunt", "m.py", "--method", "no-ut", "--model", "openai:m"), "writes no unit tests"),
        (("debug", "m.py", "--set", "k=5"), "k is for methods that ask a model"),
        (("debug", "m.py", "--model", "openai:m", "--set", "k=5000"), "k = 5000: must be from 1"),
        (
            ("debug", "m.py", "--model", "openai:m", "--set", "temperature=-1"),
            "temperature = -1.0: must be at least 0",
        ),
        (("hunt", "m.py", "--model", "replay:gone.jsonl"), "gone.jsonl"),
    ],
)
def test_bad_options(
    server: ScriptedServer, refute: Run, arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = refute(*arguments)
    assert (status, out) == (2, ""), err
    assert message in err
    assert len(err.splitlines()) == 1
    assert not server.requests


def test_a_budget_stops_it(server: ScriptedServer, refute: Run) -> None:
    status, _, err = refute("debug", "m.py", *MODEL, "--budget-tokens", 0)
    assert status == 3
    assert "over budget" in err
    assert not server.requests
