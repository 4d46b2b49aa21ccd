"""`refute train sft` from the command line and from a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from refute.doors.command_line import run as refute_cli
from refute.errors import InputError
from refute_lab.verbs.train import SftResult, fit


def test_dry_run(tiny_base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"prompt": "hello", "completion": "x"}) + "\n")
    output = tmp_path / "out"
    arguments = ["train", "sft", str(rows), "-o", str(output), "--model", str(tiny_base)]
    assert refute_cli([*arguments, "--dry-run", "--set", "epochs=3", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["estimate"]["steps"] == 3
    assert found["settings"]["epochs"] == 3
    dry: dict[str, Any] = {"model": str(tiny_base), "epochs": 3, "dry_run": True}
    assert fit("sft", rows, output, **dry).to_dict() == found
    assert "learning_rate" in captured.err
    assert "the paper" in captured.err
    assert not output.exists()
    assert refute_cli([*arguments, "--dry-run", "--set", "batch=1"]) == 0
    printed = capsys.readouterr().out
    assert "steps    10" in printed
    assert "not measured on this card" in printed
    missing = [*arguments[:2], str(tmp_path / "none.jsonl"), *arguments[3:]]
    assert refute_cli(missing) == 2
    assert "refute train data" in capsys.readouterr().err


def test_training_is_the_same_document_as_in_a_program(
    tiny_base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, run = tmp_path / "rows.jsonl", tmp_path / "run"
    rows.write_text(json.dumps({"prompt": "hello", "completion": "x"}) + "\n")
    result = fit("sft", rows, run, model=str(tiny_base), max_steps=1, batch=1)
    assert isinstance(result, SftResult)
    assert (result.trained.steps, result.trained.resumed_at) == (1, 0)
    arguments = ["train", "sft", str(rows), "-o", str(run), "--model", str(tiny_base)]
    assert refute_cli([*arguments, "--set", "max_steps=1", "--set", "batch=1", "--json"]) == 0
    again = {"resumed_at": 1, "seconds": 0.0}
    assert json.loads(capsys.readouterr().out) == {**result.to_dict(), **again}
    with pytest.raises(InputError, match="nope: unknown setting of training"):
        fit("sft", rows, run, model=str(tiny_base), nope=1)
