"""`refute data rows`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from refute.doors.command_line import cli
from refute_lab.adapters import read_rows, score
from refute_lab.datasets import load


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, ["data", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_rows_for_programs(data_dir: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    what = ("humaneval+", "--data", str(data_dir), "--ids", "HumanEval/3")
    assert "1 problems into" in run("rows", *what, "-o", str(rows))
    [row] = read_rows(rows)
    [item] = load("humaneval+", data=data_dir, ids=["HumanEval/3"])
    assert "below_zero(operations" in row.question
    assert item.key.reference not in row.question
    assert score(f"So:\n```python\n{item.key.reference}\n```", row.task).reward == 1
    assert score("def below_zero(operations):\n    return True\n", row.task).reward == 0
    assert "1 problems into" in run("rows", "--harbor", *what, "-o", str(tmp_path / "tasks"))
    assert (tmp_path / "tasks" / "humaneval-3" / "tests" / "task.json").read_text() == row.task


def test_rows_for_tests(data_dir: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    run("rows", "he-fix", "--data", str(data_dir), "--limit", "1", "--answers", "test",
        "-o", str(rows))  # fmt: skip
    [row] = read_rows(rows)
    assert json.loads(row.task)["faulty"][0].strip() in row.question
    wrong = score("assert has_close_elements([1.0, 9.0], 0.5) is True", row.task)
    assert (wrong.reward, wrong.passed) == (0.0, False)
    right = score("assert has_close_elements([1.0, 3.0, 1.1], 0.5) is True\n"
                  "assert has_close_elements([1.0, 3.0, 2.8, 9.0], 0.05) is False\n"
                  "assert has_close_elements([5.0, 1.0, 4.9], 0.2) is True", row.task)  # fmt: skip
    assert right.reward == 1.0, right
