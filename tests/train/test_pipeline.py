"""`refute train all` from a folder of functions to an adapter, killed on the way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from refute.doors.command_line import run as refute_cli
from refute.errors import InputError
from refute.models.contract import Message, Sampling
from refute.models.hf import open_hf
from refute_lab.train.run_folder import read_log
from refute_lab.verbs.train import SelectResult, SftResult, fit, select

FUNCTIONS = '''
"""Small functions with descriptions."""


def clip(number: int, low: int, high: int) -> int:
    """Return the number, but at least low and at most high."""
    if number < low:
        return low
    if number > high:
        return high
    return number


def longest(words: list[str]) -> str:
    """Return the longest of the words; of equally long ones the first; "" for no words."""
    best = ""
    for word in words:
        if len(word) > len(best):
            best = word
    return best


def count_above(numbers: list[int], limit: int) -> int:
    """Return how many of the numbers are greater than the limit."""
    count = 0
    for number in numbers:
        if number > limit:
            count += 1
    return count
'''
KILLED = """
import os, signal, sys
import torch
torch.set_num_threads(1)
from refute_lab.verbs.train import train

def told(record):
    if record["step"] == 12:
        os.kill(os.getpid(), signal.SIGKILL)

source, output, model = sys.argv[1:]
sizes = dict(max_steps=20, save_steps=10, batch=2, learning_rate=0.005, data_model="none")
train(source, output, model=model, n=1, problems=1, max_tokens=8, told=told, **sizes)
"""


def test_from_functions_to_an_adapter(
    tiny_base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REFUTE_DATA", raising=False)
    source, output = tmp_path / "functions", tmp_path / "out"
    source.mkdir()
    (source / "small.py").write_text(FUNCTIONS)
    arguments = [
        *("train", "all", str(source), "-o", str(output), "--model", str(tiny_base)),
        *(
            "--set",
            "max_steps=20",
            "--set",
            "save_steps=10",
            "--set",
            "batch=2",
            "--set",
            "learning_rate=0.005",
        ),
        *(
            "--set",
            "n=1",
            "--set",
            "problems=1",
            "--set",
            "max_tokens=8",
            "--json",
            "--data-model",
            "none",
        ),
    ]
    command = [sys.executable, "-c", KILLED, str(source), str(output), str(tiny_base)]
    ended = subprocess.run(command, capture_output=True, timeout=900, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    first = read_log(output / "run" / "log.jsonl")
    assert len(first) == 12
    rows = (output / "data" / "train.jsonl").read_bytes()

    assert refute_cli(arguments) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert "fell out" in captured.err, "the data's table"
    assert (output / "data" / "train.jsonl").read_bytes() == rows, "the same data again"
    log = read_log(output / "run" / "log.jsonl")
    assert [record["step"] for record in log] == list(range(1, 21))
    assert [r["loss"] for r in log[:12]] == pytest.approx([r["loss"] for r in first], rel=1e-5)
    assert log[-1]["loss"] < log[0]["loss"] * 0.7
    assert document["best"] in ("checkpoint-10", "checkpoint-20")
    assert set(document["scores"]) == {"base", "checkpoint-10", "checkpoint-20"}

    async def cell() -> SelectResult:  # a notebook has a loop running
        return select(output / "run", output / "data", n=1, problems=1, max_tokens=8)

    assert asyncio.run(cell()).to_dict() == document

    model = open_hf(f"{tiny_base}+{document['adapter']}")
    sampling = Sampling(max_tokens=4, seed=0)
    [answer] = asyncio.run(model.generate([Message("user", "hello")], n=1, sampling=sampling))
    assert 0 < answer.usage.completion_tokens <= 4
    asyncio.run(model.close())


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
    with pytest.raises(InputError, match="nope: no such setting of training"):
        fit("sft", rows, run, model=str(tiny_base), nope=1)
