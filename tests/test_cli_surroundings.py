"""The command line in surroundings that fail it: one line, the right status, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import refute
from refute.doors import command_line

REFUTE = [sys.executable, "-m", "refute"]
CODE = '''\
def f(n):
    """One more, in words: \u00e9\u4e2d.

    >>> f("a")
    "\u00e9"
    """
    return n
'''
ROW = {
    "id": "t/1",
    "entry_point": "f",
    "code": "def f(n):\n    return n\n",
    "reference": "def f(n):\n    return n + 1\n",
    "inputs": [[1], [2]],
    "description": "One more than n, \u00e9.",
}


def shell(words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a shell, `refute` for the program; in seconds, or it hangs."""
    text = words.replace("refute ", " ".join(REFUTE) + " ")
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(refute.__file__).parents[1]),
            "REFUTE_CACHE": str(folder / "cache"),
            **environment,
        },
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of stderr that says what went wrong."""
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert "Exception ignored" not in done.stderr
    last = done.stderr.rstrip("\n").split("\n")[-1]
    assert last.startswith("refute: ")
    return last


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.py").write_text(CODE)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    return tmp_path


def test_stdout_that_is_full(folder: Path) -> None:
    for words in ("refute doctor > /dev/full", "refute hunt m.py --budget 1 --json > /dev/full"):
        done = shell(words, folder)
        assert done.returncode == 3
        assert "No space left on device" in one_line(done)
    done = shell("refute bench rows.jsonl --method none --run run > /dev/full", folder)
    assert done.returncode == 3
    assert len((folder / "run" / "journal.jsonl").read_text().splitlines()) == 2


def test_what_goes_to_files_does_not_wait_for_stdout(folder: Path) -> None:
    for more in ("--json", ""):
        done = shell(f"refute hunt m.py --budget 1 --force -o test_m.py {more} > /dev/full", folder)
        assert done.returncode == 3
        one_line(done)
        assert "def test_" in (folder / "test_m.py").read_text()
        (folder / "test_m.py").unlink()


def test_stderr_that_is_full(folder: Path) -> None:
    done = shell("refute hunt missing.py 2> /dev/full", folder)
    assert done.returncode == 2
    done = shell("refute bench rows.jsonl --method none --run run 2> /dev/full", folder)
    assert done.returncode == 0
    assert "1" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams(closed: str, folder: Path) -> None:
    done = shell(f"refute bench rows.jsonl --method none --run run {closed}", folder)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    for line in (folder / "run" / "journal.jsonl").read_text().splitlines():
        json.loads(line)


@pytest.mark.parametrize("encoding", ["ascii", "cp437"])
def test_encodings_that_lack_a_character(encoding: str, folder: Path) -> None:
    done = shell("refute hunt m.py --budget 1", folder, PYTHONIOENCODING=encoding)
    assert done.returncode not in (2, 3, 70)
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "refute bench {0}/rows.jsonl --method none --run {0}/run",
        "refute reproduce {0}/m.py -C {0}",
        "refute hunt {0}/m.py",
    ],
)
def test_a_current_folder_that_is_gone(words: str, folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    done = shell(f"rmdir {gone}; " + words.format(folder), gone)
    assert done.returncode == 2
    assert "the current folder is gone" in one_line(done)


ODD = ["fifo", "zero", "folder", "full", "missing/m.py"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of files that are none."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "folder").mkdir()
    (tmp_path / "m.py").write_text("def f(n):\n    return n\n")
    (tmp_path / "issue.md").write_text("f(1) is wrong\n\nIt returns 1.\n")
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(
    "words",
    [
        "hunt {odd}::f",
        "debug {odd}::f",
        "hunt {m} --tests {odd}",
        "hunt {m} --description {odd}",
        "hunt {m} --model replay:{odd}",
        "judge {m} {odd}",
        "bench {odd} --method none",
        "bench humaneval+ --data {odd} --method none",
        "grade {rows} {odd}",
        "reproduce {odd} -C {folder}",
        "vet {odd} --issue {issue} -C {folder}",
        "report {odd}",
    ],
)
def test_files_that_are_no_files(
    words: str, name: str, odd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {
        "odd": odd / name,
        "m": odd / "m.py",
        "rows": odd / "rows.jsonl",
        "folder": odd,
        "issue": odd / "issue.md",
    }
    start = time.monotonic()
    status = command_line.run([word.format(**places) for word in words.split()])
    assert time.monotonic() - start < 20
    assert status in (2, 3) or (name == "fifo" and "--description" in words)
    errors = capsys.readouterr().err
    assert "internal error" not in errors
    assert "Traceback" not in errors


def test_pipes_bring_texts(folder: Path) -> None:
    done = shell("echo 'One more.' | refute hunt m.py --budget 1 --description /dev/stdin", folder)
    assert done.returncode not in (2, 3, 70)
    done = shell("refute hunt m.py --budget 1 --description <(echo 'One more.')", folder)
    assert done.returncode not in (2, 3, 70)


@pytest.mark.parametrize("words", ["refute --help", "refute hunt missing.py 2>&1"])
def test_readers_that_have_gone(words: str, folder: Path) -> None:
    done = shell(f"(sleep 0.5; {words}; echo $? > status) | true", folder)
    assert done.stderr == ""
    assert int((folder / "status").read_text()) in (2, 141)
