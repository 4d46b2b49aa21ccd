"""The journal survives what a machine does to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.runs import Journal, new_run, read_header, read_run

SETTINGS = {"method": "search", "ids": ("a", "b"), "budget": 10.0}


def test_records_come_back(tmp_path: Path) -> None:
    with Journal(tmp_path / "run", SETTINGS) as journal:
        journal.append({"id": "a", "value": "ü\n"})
        journal.append({"id": "b", "status": "error"})
        journal.append({"id": "b", "status": "fixed"})
    with Journal(tmp_path / "run", SETTINGS) as journal:
        assert journal.records == {
            "a": {"id": "a", "value": "ü\n"},
            "b": {"id": "b", "status": "fixed"},
        }
    assert read_header(tmp_path / "run") == {**SETTINGS, "ids": ["a", "b"]}
    assert read_header(tmp_path / "other") is None


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, cut: int) -> None:
    with Journal(tmp_path, SETTINGS) as journal:
        journal.append({"id": "a"})
        journal.append({"id": "b"})
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with Journal(tmp_path, SETTINGS) as journal:
        assert set(journal.records) == {"a"}
        journal.append({"id": "b"})
    assert path.read_bytes() == whole


def test_a_last_line_of_zeros_is_cut_off(tmp_path: Path) -> None:
    with Journal(tmp_path, SETTINGS) as journal:
        journal.append({"id": "a"})
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b"\0" * 20 + b"\n")
    with Journal(tmp_path, SETTINGS) as journal:
        assert set(journal.records) == {"a"}


def test_a_torn_header_starts_again(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"journal": 1, "set')
    with Journal(tmp_path, SETTINGS) as journal:
        assert journal.records == {}
    assert read_header(tmp_path) is not None


def test_damage_in_the_middle_is_named_and_done_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Journal(tmp_path, SETTINGS) as journal:
        journal.append({"id": "a"})
        journal.append({"id": "b"})
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"id":"a"}', b'{"id":"a'))
    with Journal(tmp_path, SETTINGS) as journal:
        assert set(journal.records) == {"b"}
        assert "journal.jsonl:2: damaged record" in caplog.text
        journal.append({"id": "a"})
    assert [record["id"] for record in read_run(tmp_path)[1]] == ["b", "a"]


def test_other_settings_are_refused(tmp_path: Path) -> None:
    Journal(tmp_path, SETTINGS).close()
    with pytest.raises(InputError, match=r"budget = 10.0, not 5.0") as caught:
        Journal(tmp_path, {**SETTINGS, "budget": 5.0})
    assert "\n" not in str(caught.value)
    Journal(tmp_path, SETTINGS).close()


def test_two_writers_are_refused(tmp_path: Path) -> None:
    code = f"from refute.runs import Journal\nJournal({str(tmp_path)!r}, {{}})"
    code = (
        f"from pathlib import Path\n{code.replace(repr(str(tmp_path)), f'Path({str(tmp_path)!r})')}"
    )
    with Journal(tmp_path, {}):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "another process is writing this run" in done.stderr
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(json.dumps({"hello": 1}) + "\n")
    with pytest.raises(InputError, match="not a journal"):
        Journal(tmp_path, {})


def test_new_runs_have_new_names(tmp_path: Path) -> None:
    runs = {new_run(tmp_path / "runs", "he fix/x") for _ in range(3)}
    assert len(runs) == 3
    assert all(run.is_dir() and run.name.startswith("he-fix-x-") for run in runs)
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        new_run(tmp_path / "file", "x")
