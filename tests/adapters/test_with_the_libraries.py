"""Trackers and tables as they are, where they are installed; nothing leaves the machine."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refute_lab.adapters.scoring import Row, read_rows, score
from refute_lab.cheats import CHEATS

RUN = """
import sys
from refute_lab.adapters.tracking import tracking
with tracking(sys.argv[1], project="mine", name="first") as report:
    for step in range(3):
        report({"step": step, "loss": 1 / (step + 1), "what": "text", "good": True})
"""
WANTED = [(0, 1.0), (1, 0.5), (2, 1 / 3)]


def needs(name: str) -> None:
    """Looks without importing, which takes a second."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def track(tracker: str, folder: Path, **settings: str) -> None:
    """Three records to it, in a process whose home is `folder`."""
    needs(tracker)
    env = {**os.environ, "HOME": str(folder), **settings}
    words = [sys.executable, "-c", RUN, tracker]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_trackio(tmp_path: Path) -> None:
    track("trackio", tmp_path, TRACKIO_DIR=str(tmp_path / "t"), HF_HUB_OFFLINE="1")
    with sqlite3.connect(tmp_path / "t" / "mine.db") as base:
        found = base.execute("select run_name, step, metrics from metrics order by step").fetchall()
    assert [(step, json.loads(text)["loss"]) for _, step, text in found] == WANTED
    assert all(name == "first" and set(json.loads(text)) == {"loss"} for name, _, text in found)


def test_mlflow(tmp_path: Path) -> None:
    track(
        "mlflow",
        tmp_path,
        MLFLOW_TRACKING_URI=(tmp_path / "m").as_uri(),
        MLFLOW_ALLOW_FILE_STORE="true",
    )
    [metrics] = (tmp_path / "m").glob("*/*/metrics")
    assert [path.name for path in metrics.iterdir()] == ["loss"]
    lines = [line.split() for line in (metrics / "loss").read_text().splitlines()]
    assert [(int(step), float(value)) for _, value, step in lines] == WANTED


def test_wandb(tmp_path: Path) -> None:
    track("wandb", tmp_path, WANDB_MODE="offline", WANDB_DIR=str(tmp_path), WANDB_SILENT="true")
    [kept] = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    data = kept.read_bytes()
    assert data.count(b"loss") >= len(WANTED)
    assert b"first" in data
    assert b"text" not in data


def test_rows_as_a_table_of_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From JSON lines to a table, to parquet and back: the same, and paid the same."""
    needs("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets: Any = importlib.import_module("datasets")
    some = CHEATS[:3]
    rows = [Row(one.name, f"“{one.name}”\n\t\\", json.dumps(one.task.to_json())) for one in some]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row.to_dict()) + "\n" for row in rows))
    cache = {"cache_dir": str(tmp_path / "cache")}
    table = datasets.load_dataset(
        "json", data_files=str(tmp_path / "a.jsonl"), split="train", **cache
    )
    assert table.column_names == ["id", "prompt", "task"]
    assert table.to_list() == [row.to_dict() for row in rows]
    table.to_parquet(str(tmp_path / "a.parquet"))
    back = datasets.Dataset.from_parquet(str(tmp_path / "a.parquet"), **cache)
    assert back.to_list() == table.to_list()
    back.to_json(str(tmp_path / "b.jsonl"))
    assert list(read_rows(tmp_path / "b.jsonl")) == rows
    for one, row in zip(some, back, strict=True):
        assert (score(one.source, row["task"]).reward, score(one.twin, row["task"]).reward) == (
            0,
            1,
        )
