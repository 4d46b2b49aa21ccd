"""`refute serve` beside the grader in process.

    python benchmarks/serve.py                # bar: 0.8 of the verdicts of a core second

The server is a real one on the loopback device, started by this script; clients are threads of this
process with connections that they keep. CPU seconds are those of the process that grades and of all
below it, so that a busy machine and the clients do not count. HumanEval+ where `REFUTE_DATA` holds
it (right programs and ones with `return` changed), else small programs; in rounds, in turn with
`refute_lab.rewards.Grader` in this process. The exit status is 1 where the bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refute_lab.rewards import Grader, Remote, Task, Test

TICKS = os.sysconf("SC_CLK_TCK")
Pair = tuple[str, Task]


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    found, level = [], [pid]
    while level:
        level = [child for parent in level for child in children(parent)]
        found += level
    return found


def children(pid: int) -> list[int]:
    """Of all threads of a process."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except OSError:
        pass
    return found


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of all below it, those that have ended included."""
    total = 0.0
    for one in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and its URL."""
    command = [sys.executable, "-m", "refute", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is None:
            raise SystemExit(f"no server: {line}{process.stderr.read()}")
        threading.Thread(
            target=lambda: [print(x, end="") for x in process.stderr], daemon=True
        ).start()
        try:
            yield process, found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()


def programs(count: int) -> list[Pair]:
    """Programs with the tasks of their functions, right ones and wrong ones."""
    data = Path(os.environ.get("REFUTE_DATA", "shared/data"))
    found: list[Pair] = []
    if list(data.glob("HumanEvalPlus.jsonl*")):
        from refute_lab.datasets import load

        sources = {item.key.id: item.key.reference for item in load("humaneval+", data=data)}
        for task in Task.all_of_dataset("humaneval+", data=data, limit=count):
            short = Task(
                task.entry_point, task.tests[:10], id=task.id, atol=task.atol, checker=task.checker
            )
            found.append((sources[task.id], short))
            found.append((sources[task.id].replace("return ", "return None and ", 1), short))
    task = Task("f", tuple(Test((x,), expected=x + 1) for x in range(10)))
    found = found or [(f"def f(x): return x + {n % 2}\n", task) for n in range(count)]
    return [found[n % len(found)] for n in range(count)]


def rate(options: argparse.Namespace) -> int:
    """Verdicts for each CPU second, in turn."""
    pairs = programs(options.count)
    print(f"{len(pairs)} programs a round, {options.rounds} rounds, {options.clients} clients")
    names = ("in process", "service", "batches")
    spent: dict[str, list[float]] = {name: [] for name in names}
    walls: dict[str, list[float]] = {name: [] for name in names}
    passed: dict[str, list[int]] = {name: [] for name in names}
    jobs = options.jobs
    with (
        Grader(jobs) as grader,
        serving("--jobs", str(jobs)) as (process, url),
        Remote(url, size=options.clients) as remote,
    ):
        for _ in (list(grader.grade_batch(pairs[:20])), list(remote.grade_batch(pairs[:200]))):
            pass  # warm
        for _ in range(options.rounds):
            ways: list[tuple[str, Callable[[], Iterable[bool]], int]] = [
                ("in process", lambda: (v.passed for v in grader.grade_batch(pairs)), os.getpid()),
                ("service", lambda: (v.passed for v in remote.grade_batch(pairs)), process.pid),
                ("batches", lambda: in_batches(url, pairs), process.pid),
            ]
            for name, graded, pid in ways:
                cpu, wall = cpu_seconds(pid), time.monotonic()
                passed[name].append(sum(graded()))
                spent[name].append(cpu_seconds(pid) - cpu)
                walls[name].append(time.monotonic() - wall)
    for name in spent:
        each = 1000 * sum(spent[name]) / len(pairs) / options.rounds
        wall = len(pairs) * options.rounds / sum(walls[name])
        print(f"{name}: {each:.2f} ms of CPU a verdict, {1000 / each:.0f} verdicts a core second,"
              f" {wall:.0f} a second of this machine; passed {passed[name]}")  # fmt: skip
    ratio = sum(spent["in process"]) / sum(spent["service"])
    rounds = [a / b for a, b in zip(spent["in process"], spent["service"], strict=True)]
    print(f"service / in process: {ratio:.2f} (rounds {', '.join(f'{r:.2f}' for r in rounds)})")
    return int(ratio < 0.8 or passed["in process"] != passed["service"])


def in_batches(url: str, pairs: list[Pair]) -> Iterator[bool]:
    """By `/v1/grade_batch`, 100 programs at once."""
    for start in range(0, len(pairs), 100):
        some = pairs[start : start + 100]
        tasks = {str(id(task)): task.to_json() for _, task in some}
        items = [{"program": source, "task": str(id(task))} for source, task in some]
        body = json.dumps({"items": items, "tasks": tasks}).encode()
        with urllib.request.urlopen(f"{url}/v1/grade_batch", body) as response:
            for line in response:
                yield json.loads(line)["verdict"]["passed"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400, help="programs of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print(json.dumps(vars(options)))
    return rate(options)


if __name__ == "__main__":
    sys.exit(main())
