"""The journal survives what a machine does to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute_lab.runs import ErrorRecord, Journal, Schema, new_run, read_header, read_run

from .words import WORDS, Word

SETTINGS = {"method": "search", "ids": ("a", "b"), "budget": 10.0}


def test_records_come_back(tmp_path: Path) -> None:
    with Journal(tmp_path / "run", SETTINGS, WORDS) as journal:
        journal.append(Word("a", "ü\n"))
        journal.append(ErrorRecord("b", "no answer"))
        journal.append(ErrorRecord("c", "no answer"))
        journal.append(Word("b", "x"))
    with Journal(tmp_path / "run", SETTINGS, WORDS) as journal:
        assert journal.records == {
            "a": Word("a", "ü\n"),
            "b": Word("b", "x"),
            "c": ErrorRecord("c", "no answer"),
        }
    assert read_header(tmp_path / "run") == {**SETTINGS, "ids": ["a", "b"]}
    assert read_header(tmp_path / "other") is None


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, cut: int) -> None:
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        journal.append(Word("a"))
        journal.append(Word("b"))
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        assert set(journal.records) == {"a"}
        journal.append(Word("b"))
    assert path.read_bytes() == whole


def test_a_last_line_of_zeros_is_cut_off(tmp_path: Path) -> None:
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        journal.append(Word("a"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b"\0" * 20 + b"\n")
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        assert set(journal.records) == {"a"}


def test_a_torn_header_starts_again(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"journal": 1, "set')
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        assert journal.records == {}
    assert read_header(tmp_path) is not None


def test_damage_in_the_middle_is_named_and_done_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        journal.append(Word("a"))
        journal.append(Word("b"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"id":"a",', b'{"id":"a,'))
    with Journal(tmp_path, SETTINGS, WORDS) as journal:
        assert set(journal.records) == {"b"}
        assert "journal.jsonl:2: damaged record" in caplog.text
        journal.append(Word("a"))
    assert [record.id for record in read_run(tmp_path, WORDS)[1]] == ["b", "a"]


def test_other_settings_are_refused(tmp_path: Path) -> None:
    Journal(tmp_path, SETTINGS, WORDS).close()
    with pytest.raises(InputError, match=r"budget = 10.0, not 5.0") as caught:
        Journal(tmp_path, {**SETTINGS, "budget": 5.0}, WORDS)
    assert "\n" not in str(caught.value)
    Journal(tmp_path, SETTINGS, WORDS).close()


def test_two_writers_are_refused(tmp_path: Path) -> None:
    code = f"""from pathlib import Path
from refute_lab.benches import RECORDS
from refute_lab.runs import Journal
Journal(Path({str(tmp_path)!r}), {{}}, RECORDS)"""
    with Journal(tmp_path, {}, WORDS):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "another process is writing this run" in done.stderr


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(json.dumps({"hello": 1}) + "\n")
    with pytest.raises(InputError, match="not a journal"):
        Journal(tmp_path, {}, WORDS)


def test_the_first_format_is_read_and_resumed(tmp_path: Path) -> None:
    lines = [
        {"journal": 1, "settings": {"method": "search"}},
        {"id": "a", "text": "x", "more": [1]},
        {"id": "b", "status": "error", "error": "died", "problem": "b"},
    ]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = [Word("a", "x"), ErrorRecord("b", "died")]
    assert read_run(tmp_path, WORDS) == ({"method": "search"}, found)
    with Journal(tmp_path, {"method": "search"}, WORDS) as journal:
        journal.append(Word("b", "y"))
    assert read_run(tmp_path, WORDS)[1] == [Word("a", "x"), Word("b", "y")]


def test_records_of_another_kind_are_refused(tmp_path: Path) -> None:
    Journal(tmp_path, {}, WORDS).close()
    other = Schema("number", Word)
    for opens in (lambda: Journal(tmp_path, {}, other), lambda: read_run(tmp_path, other)):
        with pytest.raises(InputError, match="kind 'word', not 'number'"):
            opens()


def test_a_newer_schema_is_refused_and_an_older_one_read(tmp_path: Path) -> None:
    newer = Schema("word", Word, version=2)
    with Journal(tmp_path / "new", {}, newer) as journal:
        journal.append(Word("a"))
    for opens in (
        lambda: Journal(tmp_path / "new", {}, WORDS),
        lambda: read_run(tmp_path / "new", WORDS),
    ):
        with pytest.raises(InputError, match="newer refute") as caught:
            opens()
        assert "\n" not in str(caught.value)
    Journal(tmp_path / "old", {}, WORDS).close()
    Journal(tmp_path / "old", {}, newer).close()


def test_new_runs_have_new_names(tmp_path: Path) -> None:
    runs = {new_run(tmp_path / "runs", "he fix/x") for _ in range(3)}
    assert len(runs) == 3
    assert all(run.is_dir() and run.name.startswith("he-fix-x-") for run in runs)
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        new_run(tmp_path / "file", "x")
