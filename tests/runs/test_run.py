"""A run leaves behind what it found, and nothing where it found nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from refute.errors import InputError
from refute_lab.runs.executors import Run

from .words import WORDS, Word


def test_a_run_that_came_to_nothing_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(InputError), Run(folder, {"n": 1}, WORDS, again="it"):
        raise InputError("no such model")
    assert not folder.exists()
    assert "resume" not in capsys.readouterr().err


def test_what_is_no_file_of_the_run_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError), Run(tmp_path, {"n": 1}, WORDS):
        raise InputError("no such model")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_record_is_kept_and_so_is_a_run_that_was_there(tmp_path: Path) -> None:
    def fail(folder: Path, error: BaseException, *records: Word) -> None:
        with suppress(type(error)), Run(folder, {"n": 1}, WORDS) as run:
            for one in records:
                run.journal.append(one)
            raise error

    fail(tmp_path / "one", InputError("no such model"), Word("a"))
    fail(tmp_path / "one", InputError("no such model"))
    with Run(tmp_path / "one", {"n": 1}, WORDS) as run:
        assert set(run.records) == {"a"}
    fail(tmp_path / "none", KeyboardInterrupt())
    fail(tmp_path / "none", InputError("no such model"))
    assert (tmp_path / "none" / "journal.jsonl").exists()
