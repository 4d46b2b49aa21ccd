"""Rows of a dataset that are made to break whoever reads them."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute.errors import DatasetError
from refute.sandbox.values import Iterated, NDArray, Opaque
from refute_lab.benches import BenchSettings
from refute_lab.datasets import load
from refute_lab.datasets.swe import load_issues

ROW = {
    "id": "t/1",
    "entry_point": "f",
    "code": "def f(n):\n    return n\n",
    "reference": "def f(n):\n    return n\n",
    "inputs": [[1], [2]],
    "description": "n",
}


def nested(depth: int, value: str = "1") -> str:
    return "[" * depth + value + "]" * depth


@pytest.mark.parametrize("depth", [90, 110, 140, 149, 150, 151, 160, 400, 900, 990, 100_000])
@pytest.mark.parametrize("form", ["json", "text", "spaced", "tuples", "dicts", "list of rows"])
def test_nested_inputs(form: str, depth: int, tmp_path: Path) -> None:
    texts = {
        "text": nested(depth),
        "spaced": "[1, " * depth + "1" + "]" * depth,
        "tuples": "[" + "(" * depth + "1" + ",)" * depth + "]",
        "dicts": "[[" + "{'a': " * depth + "1" + "}" * depth + "]]",
    }
    path = tmp_path / "rows.jsonl"
    if form == "json":
        row = json.dumps({**ROW, "inputs": "@"}).replace('"@"', nested(depth))
    elif form == "list of rows":
        row = "[" + json.dumps({**ROW, "inputs": "@"}).replace('"@"', nested(depth)) + "]"
    else:
        row = json.dumps({**ROW, "inputs": texts[form]})
    path.write_text(row + "\n")
    with suppress(DatasetError):
        BenchSettings("jsonl", "none").header(load(path))


@pytest.mark.parametrize("field", ["test", "reference", "code", "tests", "contract", "description"])
@pytest.mark.parametrize("depth", [150, 900, 20_000])
def test_nested_sources(field: str, depth: int, tmp_path: Path) -> None:
    source = f"def f(n):\n    return {nested(depth)}\n"
    if field == "test":
        source = f"inputs = {nested(depth)}\nresults = {nested(depth)}\n"
    row: dict[str, Any] = {**ROW, field: [source] if field == "tests" else source}
    if field == "test":
        del row["inputs"]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with suppress(DatasetError):
        load(path)


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), -1, True])
def test_numbers_that_are_none(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROW, "atol": value}) + "\n")
    with pytest.raises(DatasetError, match=r"rows\.jsonl:1: field 'atol'"):
        load(path)


@pytest.mark.parametrize("read", [load, load_issues])
@pytest.mark.parametrize("kind", ["blank", "line", "list", "spaces", "cut", "no gzip"])
def test_gzip_bombs(kind: str, read: Any, tmp_path: Path) -> None:
    block = {"blank": b"\n" * (1 << 24), "spaces": b" " * (1 << 24), "list": b" " * (1 << 24)}
    data = gzip.compress(block.get(kind, b"x" * (1 << 24)))
    if kind == "list":
        data = gzip.compress(b"[") + data * 40
    elif kind == "cut":
        data = data[: len(data) // 2]
    elif kind == "no gzip":
        data = b"hello"
    else:
        data *= 200
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(data)
    start = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError):
            read(str(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 << 20
    assert time.monotonic() - start < 30


ARRAY = NDArray([1, 2], "int64", (2,))


@pytest.mark.parametrize(
    "value", [ARRAY, Iterated((1, ARRAY), False, "generator"), Opaque((("a", 1),), "C()", "C")]
)
def test_values_cross_between_processes(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


def test_arrays_as_inputs_do_not_end_the_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**ROW, "inputs": "[[np.array([1, 2])]]"}, {**ROW, "id": "t/2"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = str(tmp_path / "run")
    assert command_line.run(["bench", str(path), "--method", "none", "--run", run, "--json"]) in (
        0,
        3,
    )
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert "its worker ended" not in shown.out
    assert "t/2" not in json.loads(shown.out)["errors"]
