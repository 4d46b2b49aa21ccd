"""Workers that fail, die and are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from refute.core.processes import Failed, run_tasks


def start(log: str = "") -> Callable[[int], int]:
    return partial(work, log)


def work(log: str, task: int) -> int:
    if log:
        with open(log, "a") as file:
            print(task, file=file)
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 4:
        raise ValueError("four\nlines")
    if task == 5:
        os._exit(7)
    return task * task


def start_badly() -> Callable[[int], int]:
    raise OSError("no sandbox")


def test_results_and_failures(tmp_path: Path) -> None:
    log = tmp_path / "log"
    results = dict(run_tasks(range(8), start=partial(start, str(log)), jobs=2))
    assert results == {
        0: 0,
        1: 1,
        2: 4,
        3: Failed("its worker ended: signal SIGKILL"),
        4: Failed("ValueError: four lines"),
        5: Failed("its worker ended: exit status 7"),
        6: 36,
        7: 49,
    }
    tried = log.read_text().split()
    assert {task: tried.count(task) for task in set(tried)} == {
        **dict.fromkeys("01267", 1),
        **dict.fromkeys("345", 2),
    }


def test_a_start_that_fails_is_fatal() -> None:
    (result,) = run_tasks(range(5), start=start_badly, jobs=1)
    assert result == (0, Failed("OSError: no sandbox", fatal=True))


def test_no_tasks() -> None:
    assert list(run_tasks([], start=start, jobs=2)) == []


SCRIPT = """\
import os, time
from refute.core.processes import run_tasks

def start():
    return work

def work(task):
    os.write(1, b"%d\\n" % os.getpid())  # in one piece
    time.sleep(60)

if __name__ == "__main__":
    for result in run_tasks(range(2), start=start, jobs=2):
        pass
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    workers = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    process.wait(10)
    deadline = time.monotonic() + 10
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, workers))
    process.stdout.close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


SAYS = """\
import signal
from refute.core import processes as pool
from refute.core.processes import _work, run_tasks

def start():
    return lambda task: signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

class Closed:
    def recv(self):
        raise EOFError

if __name__ == "__main__":
    print([result for _, result in run_tasks(range(2), start=start, jobs=2)])
    pool._die_with_parent = lambda: None
    _work(Closed(), start)
    for _ in range(2):
        signal.raise_signal(signal.SIGTERM)
    print(signal.getsignal(signal.SIGTERM) != signal.SIG_IGN)
"""


def test_a_signal_that_comes_at_a_bad_time_prints_no_traceback(tmp_path: Path) -> None:
    """No worker hears Ctrl-C while it starts, the first one neither. One that is told to end a
    second time, or late, ends: Python writes a traceback where SIG_IGN is set too late."""
    script = tmp_path / "script.py"
    script.write_text(SAYS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[True, True]\nTrue\n", "")
