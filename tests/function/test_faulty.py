"""A benchmark of faulty programs out of a model's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refute.doors import command_line
from refute_lab.datasets import load

RIGHT = "def twice(x):\n    return 2 * x\n"
SQUARE = "def twice(x):\n    return x * x\n"
RAISES = "def twice(x):\n    raise KeyError(x)\n"
ROW = {
    "id": "t/1",
    "entry_point": "twice",
    "description": "Twice x.",
    "code": RIGHT,
    "reference": RIGHT,
    "inputs": [[0], [2], [3], [5]],
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of one model that wrote a right program, one wrong one thrice, another, and none."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps(ROW) + "\n")
    programs = (RIGHT, SQUARE, f"# squared\n{SQUARE}", RAISES, SQUARE, "def (")
    ask = ["bench", "rows.jsonl", "--method", "judge:behaviour", "--set", "samples=6"]
    ask += ["--model", "batch:asked", "--run", "written"]
    assert command_line.run(ask) == 3
    request = json.loads(Path("asked/requests.jsonl").read_text())
    choices = [
        {"index": number, "message": {"content": f"```python\n{code}```"}, "finish_reason": "stop"}
        for number, code in enumerate(programs)
    ]
    answer = {
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "body": {"choices": choices}},
    }
    Path("asked/responses.jsonl").write_text(json.dumps(answer) + "\n")
    assert command_line.run(ask) == 0
    return Path("written")


def test_one_wrong_program_a_problem_is_kept(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    make = ["data", "build-fix", "rows.jsonl", str(run), "-o", "fix.jsonl", "--json"]
    assert command_line.run([*make, "--set", "least=0.5", "--set", "most=0.95"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["programs"] == {
        "right": 1, "fits": 1, "written twice": 2, "of another pass rate": 1, "unreadable": 1
    }  # fmt: skip
    assert (said["kept"], said["errors"], said["models"]) == (
        1, {"wrong output": 1}, {"batch:asked": 1}
    )  # fmt: skip
    [item] = load("fix.jsonl")
    assert item.problem.code.strip() == SQUARE.strip()
    assert item.key.reference == RIGHT
    assert command_line.run([*make, "--set", "most=0.1"]) == 0
    assert json.loads(Path("fix.jsonl").read_text())["error"] == "raises KeyError"


def test_bad_input_is_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    make = ["data", "build-fix", "rows.jsonl", "-o", "fix.jsonl"]
    assert command_line.run([*make, str(run), "--set", "least=0.9", "--set", "most=0.1"]) == 2
    assert "pass rate from 0.9 to 0.1" in capsys.readouterr().err
    assert command_line.run(["bench", "rows.jsonl", "--method", "none", "--run", "other"]) == 0
    capsys.readouterr()
    assert command_line.run([*make, "other"]) == 2
    assert "other: holds no programs" in capsys.readouterr().err
