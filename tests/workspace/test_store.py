"""Things made once: also when two ask at once, and when a maker is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAKER = """
import os, sys, time
from pathlib import Path
from refute.core.storage import ensure
folder, log, die = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "die"
def make(target):
    target.mkdir(parents=True)
    (target / "content").write_text("half")
    with log.open("a") as file: file.write("x")
    if die: os.kill(os.getpid(), 9)
    time.sleep(0.3)
    (target / "content").write_text("whole")
    return {"n": 1}
print(ensure(folder, make))
"""


def start(folder: Path, log: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKER, str(folder), str(log), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_makers_make_once_and_a_killed_one_is_followed(tmp_path: Path) -> None:
    folder, log = tmp_path / "things" / "thing", tmp_path / "log"
    killed = start(folder, log, "die")
    killed.communicate()
    assert killed.returncode == -9
    assert (folder / "content").read_text() == "half"
    both = [start(folder, log, "live") for _ in range(2)]
    answers = [process.communicate()[0] for process in both]
    assert answers == ["{'n': 1}\n"] * 2
    assert (folder / "content").read_text() == "whole"
    assert log.read_text() == "xx"
