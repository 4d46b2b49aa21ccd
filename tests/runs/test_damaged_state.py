"""What a run left behind, damaged: named, done again, and never a hang or an internal error."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import FunctionKey
from refute.doors import command_line
from refute.sandbox.local import LocalSandbox
from refute_lab.benches import RECORDS
from refute_lab.benches.grade import expected_outputs
from refute_lab.runs import Count, Journal, Number, Schema, checked, read_record, read_run

from .words import WORDS, Word

ROWS = [
    {
        "id": f"t/{number}",
        "entry_point": "f",
        "code": "def f(n):\n    return n\n",
        "reference": "def f(n):\n    return n + 1\n",
        "inputs": [[1], [2]],
        "description": "One more than n.",
    }
    for number in range(2)
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of two problems in `whole`."""
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        assert bench(folder / "whole") == 0
    return folder


@pytest.fixture
def run(finished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run, to be damaged."""
    monkeypatch.setenv("REFUTE_CACHE", str(finished / "cache"))
    shutil.rmtree(finished / "run", ignore_errors=True)
    return Path(shutil.copytree(finished / "whole", finished / "run"))


def bench(run: Path) -> int:
    data = str(run.parent / "rows.jsonl")
    return command_line.run(
        ["bench", data, "--method", "none", "--jobs", "1", "--run", str(run), "--json"]
    )


def damaged(record: dict[str, Any], at: str, value: Any) -> dict[str, Any]:
    """The record with another value in one place (`...`: without it)."""
    changed = json.loads(json.dumps(record))
    *way, last = at.split(".")
    inner = changed
    for name in way:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return changed


PLACES = [
    "id",
    "status",
    "seconds",
    "grade",
    "grade.tests",
    "grade.programs",
    "grade.fixed",
    "code",
    "candidates",
    "edits",
    "tests",
    "notes",
    "problem",
]
VALUES = [..., None, [], {}, "x", 10**400, [[[]]], [{"a": 1}], True]


@pytest.mark.parametrize("place", PLACES)
def test_records_of_another_shape(
    place: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, first, second = (run / "journal.jsonl").read_text().splitlines()
    capsys.readouterr()
    for value in VALUES:
        if place in ("status", "code", "problem") and value == "x":
            continue  # a text there is a text
        text = json.dumps(damaged(json.loads(first), place, value))
        (run / "journal.jsonl").write_text("\n".join([header, text, second, ""]))
        page = tmp_path / "page.html"
        assert command_line.run(["report", str(run), "-o", str(page)]) == 0, (place, value)
    assert bench(run) == 0, "what is damaged is done again"
    document = json.loads(capsys.readouterr().out.rpartition("\n{\n")[2].join(["{\n", ""]))
    assert document["n"] == 2


@pytest.mark.parametrize(
    "line",
    [b"[" * 100_000 + b"]" * 100_000, b"[]", b"5", b'"id"', b"\xff\xfe", b"\0" * 100, b"{}", b"{"],
)
def test_lines_that_are_no_records(
    line: bytes, run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    header, first, second = (run / "journal.jsonl").read_bytes().splitlines()
    (run / "journal.jsonl").write_bytes(b"\n".join([header, line, first, second, b""]))
    assert command_line.run(["report", str(run)]) == 0
    assert "journal.jsonl:2: damaged record, left out: " in caplog.text
    assert bench(run) == 0
    assert len(read_run(run, RECORDS)[1]) == 2


@pytest.mark.parametrize(
    "name", ["dataset", "method", "problems", "budget", "runs", "ids", "limit"]
)
@pytest.mark.parametrize("value", [[], True, 10**400], ids=["list", "true", "long"])
def test_headers_of_another_shape(name: str, value: Any, run: Path) -> None:
    header, *rest = (run / "journal.jsonl").read_text().splitlines()
    document = json.loads(header)
    document["settings"][name] = value
    (run / "journal.jsonl").write_text("\n".join([json.dumps(document), *rest, ""]))
    assert command_line.run(["report", str(run)]) in (0, 2)
    assert bench(run) in (0, 2)


@pytest.mark.parametrize("settings", [None, [], "x", 5])
def test_headers_without_settings(settings: Any, run: Path) -> None:
    (run / "journal.jsonl").write_text(json.dumps({"journal": 1, "settings": settings}) + "\n")
    assert command_line.run(["report", str(run)]) == 2
    assert bench(run) == 2


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "fifo", "folder"])
@pytest.mark.parametrize("name", ["journal.jsonl", "lock"])
def test_state_files_that_are_no_files(name: str, target: str, run: Path) -> None:
    (run / name).unlink()
    if target == "fifo":
        os.mkfifo(run / name)
    elif target == "folder":
        (run / name).mkdir()
    else:
        (run / name).symlink_to(target)
    assert bench(run) == 2
    assert command_line.run(["report", str(run)]) == (2 if name == "journal.jsonl" else 0)


def test_a_full_disk_leaves_no_half_record(tmp_path: Path) -> None:
    with Journal(tmp_path, {}, WORDS) as journal:
        journal.append(Word("a"))
        whole = (tmp_path / "journal.jsonl").read_bytes()
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, before[1]))
        try:
            with pytest.raises(OSError, match="what is finished is kept"):
                journal.append(Word("b", "x" * 100))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (tmp_path / "journal.jsonl").read_bytes() == whole
        journal.append(Word("c"))
    assert [record.id for record in read_run(tmp_path, WORDS)[1]] == ["a", "c"]


KEY = FunctionKey(
    id="k", entry_point="f", reference="def f(n):\n    return [n]\n", inputs=((1,), (2,))
)


def truth(box: LocalSandbox, cache: Path) -> tuple[Any, ...]:
    found = expected_outputs(KEY, box, cache=cache)
    return repr(found.expected), found.limits, found.invalid


def good(steps: Any = None, sizes: Any = None, ends: Any = None) -> dict[str, Any]:
    return {
        "steps": [[0, False], [0, False]] if steps is None else steps,
        "sizes": [2, 2] if sizes is None else sizes,
        "ends": [] if ends is None else ends,
        "seconds": 0.1,
    }


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (5, b""),
        ([], b""),
        ([1, 2, 3], b""),
        ({}, b""),
        (good(steps=[[9, False], [0, False]]), b"MNMN"),
        (good(steps=[[0, []], [0, False]]), b"MNMN"),
        (good(steps=[["0", False], [0, False]]), b"MNMN"),
        (good(sizes=[-1, 5]), b"MNMN"),
        (good(sizes=["2", 2]), b"MNMN"),
        (good(sizes={"a": 1}), b"MNMN"),
        (good(ends=[[7, "x"]]), b"MNMN"),
        (good(ends=[[-1, "x"]]), b"MNMN"),
        (good(ends=[["a", "x"]]), b"MNMN"),
        (good(ends=5), b"MNMN"),
        (good(), b"QQQQ"),
        (good(sizes=[0, 4]), b"MNMN"),
    ],
)
def test_a_truth_cache_of_another_shape_is_made_anew(
    head: Any, body: bytes, box: LocalSandbox, tmp_path: Path
) -> None:
    right = truth(box, tmp_path)
    (file,) = (tmp_path / "truth").iterdir()
    file.write_bytes(gzip.compress(json.dumps(head).encode() + b"\n" + body))
    assert truth(box, tmp_path) == right
    assert truth(box, tmp_path) == right, "and is good from then on"


@pytest.mark.parametrize("kind", ["zero", "fifo", "bomb", "deep", "empty", "text", "folder"])
def test_a_truth_cache_that_is_none(kind: str, box: LocalSandbox, tmp_path: Path) -> None:
    right = truth(box, tmp_path)
    (file,) = (tmp_path / "truth").iterdir()
    file.unlink()
    if kind == "zero":
        file.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "bomb":
        file.write_bytes(b"".join([gzip.compress(b" " * (1 << 24))] * 80))
    elif kind == "deep":
        file.write_bytes(gzip.compress(b"[" * 100_000))
    else:
        file.write_bytes(b"" if kind == "empty" else b"hello")
    assert truth(box, tmp_path) == right


@dataclass(frozen=True, slots=True)
class Figures:
    id: str
    count: Count = 0
    value: Number = 0.0
    rows: tuple[tuple[str, Count], ...] = ()
    note: str | None = None


def test_records_are_checked_field_by_field() -> None:
    schema = Schema("figures", Figures, flaw=lambda one: "odd" if one.count % 2 else "")
    good = {"id": "a", "count": 2, "value": 1, "rows": [["x", 1]], "note": None, "more": 1}
    assert read_record(good, schema) == Figures("a", 2, 1.0, (("x", 1),))
    for place, value, told in (
        ("count", -1, r"count"),
        ("count", True, "count"),
        ("count", 2**53, "count"),
        ("count", 3, "odd"),
        ("rows", [["x"]], r"rows\[0\]"),
        ("rows", [[1, 1]], r"rows\[0\]\[0\]"),
        ("note", 1, "note"),
        ("id", None, "id"),
    ):
        with pytest.raises(ValueError, match=told):
            read_record({**good, place: value}, schema)
    for value in (float("nan"), float("inf"), 10**400, True, "1"):
        with pytest.raises(ValueError, match=r"float|range"):
            checked(value, Number)
