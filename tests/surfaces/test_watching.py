"""`refute watch` as a process: files are saved, looks are cut short, and it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("watchfiles", reason="the extra [watch] is not installed")


from ..diffing.repositories import commit

Start = Callable[..., "Watch"]
HALF = '''\
def half(x: int) -> int:
    """Half.

    >>> half(4)
    2
    """
    return x // {}
'''


class Watch:
    """The process, and the lines that it printed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "refute", "watch", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._new = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._new:
                self.lines.append(line.rstrip())
                self._new.notify()

    def until(self, text: str) -> list[str]:
        """The lines up to one with this text, which are taken."""
        with self._new:
            said = self._new.wait_for(lambda: any(text in line for line in self.lines), 60)
            assert said, self.lines
            stop = next(i for i, line in enumerate(self.lines) if text in line) + 1
            taken, self.lines = self.lines[:stop], self.lines[stop:]
        return taken

    def ends(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


def of_group(group: int) -> list[str]:
    """Processes of a session that are left."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--sid", str(group)], capture_output=True, text=True, check=False
    )
    return listed.stdout.splitlines()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Watch] = []

    def begin(*arguments: str) -> Watch:
        started.append(Watch(tmp_path, *arguments))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()


def test_what_is_saved_is_looked_at_until_ctrl_c(tmp_path: Path, start: Start) -> None:
    commit(tmp_path, {"shop.py": HALF.format(2)})
    watch = start("--budget", "30")
    watch.until("refute: waiting for changes")
    (tmp_path / "test_shop.py").write_text("def test(): ...\n")  # no look
    (tmp_path / "shop.py").write_text(HALF.format(3))
    first = watch.until("refute: looking at")
    assert first == ["refute: looking at shop.py"]
    assert "half is wrong" in watch.until("is wrong")[-1]
    assert "(not mentioned)" in watch.until("half: behaves otherwise")[-1]
    watch.until("refute: waiting for changes")
    assert watch.ends(signal.SIGINT) == 0
    assert of_group(watch.process.pid) == []


def test_saving_again_ends_a_look_and_adds_to_it(tmp_path: Path, start: Start) -> None:
    """Without a repository; SIGTERM ends it in good order as well, in the middle of a look."""
    watch = start("--verb", "hunt", "--budget", "300")
    time.sleep(1)  # nothing is said before the first save
    (tmp_path / "slow.py").write_text("import time\n\ntime.sleep(30)\n\n\n" + HALF)
    watch.until("refute: looking at slow.py")
    time.sleep(1)
    (tmp_path / "half.py").write_text(HALF.format(2))
    watch.until("refute: looking at half.py, slow.py")
    time.sleep(1)
    assert watch.ends(signal.SIGTERM) == 0
    assert of_group(watch.process.pid) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "refute: nowhere: no such file or folder"),
        (["--verb", "diff"], "refute: .: not in a git repository"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refute", "watch", *arguments],
        cwd=tmp_path,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1
