"""`refute serve` beside the grader in process, its cost for a call, and a soak of it.

    python benchmarks/serve.py rate                      # bar: 0.8 of the verdicts per core second
    python benchmarks/serve.py calls                     # bar: 1.25 x calls + 2 ms
    python benchmarks/serve.py soak --seconds 3600       # bar: 0 wrong, flat memory, nothing left

All servers are real ones on the loopback device, started by this script; clients are threads of
this process with connections that they keep. What is counted is CPU seconds of the process that
grades and of all below it, so that a busy machine and the clients do not count.

rate: HumanEval+ where `REFUTE_DATA` holds it (right programs and ones with `return` changed), else
small programs; in rounds, in turn with `refute.reward.Grader` in this process.
calls: programs that compute for 0 to 100 ms, beside the same calls in a bare Python.
soak: programs with known verdicts, 1 % of them hostile, at a bounded rate, while sandbox processes
are killed at random (`--kill-every`); memory, descriptors and threads of the server over time; at
the end no process, no file. The exit status is 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

from refute.reward import Grader, Remote, Task, Test

sys.path.insert(0, str(Path(__file__).resolve().parent))
from soak import files

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
        from refute.datasets import load

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


# -- rate ------------------------------------------------------------------------------------------


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


# -- the cost of a call ----------------------------------------------------------------------------

LOOP = """def f(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
"""


def calls(options: argparse.Namespace) -> int:
    """CPU of a verdict beside that of its calls."""
    space: dict[str, Any] = {}
    exec(LOOP, space)
    f: Callable[[int], int] = space["f"]
    missed = 0
    with (
        serving("--jobs", str(options.jobs)) as (process, url),
        Remote(url, size=options.clients) as remote,
    ):
        print("calls      bare     verdict    1.25 x calls + 2 ms")
        for steps in (0, 10_000, 100_000, 400_000, 1_000_000):
            task = Task("f", tuple(Test((steps // 5,), expected=f(steps // 5)) for _ in range(5)))
            count = max(10, min(options.count, 40_000_000 // (steps + 1)))
            began = time.process_time()
            for _ in range(20):
                for test in task.tests:
                    f(*test.args)
            bare = (time.process_time() - began) / 20
            assert all(one.passed for one in remote.grade_batch([(LOOP, task)] * 10))
            cpu = cpu_seconds(process.pid)
            assert all(one.passed for one in remote.grade_batch([(LOOP, task)] * count))
            each = (cpu_seconds(process.pid) - cpu) / count
            most = 1.25 * bare + 0.002
            missed += each > most
            print(f"5 x {steps // 5:7} {1000 * bare:7.2f} ms {1000 * each:7.2f} ms"
                  f" {1000 * most:7.2f} ms {'missed' if each > most else 'held'}")  # fmt: skip
    return int(missed > 0)


# -- soak ------------------------------------------------------------------------------------------

_HOSTILE = """import os; os._exit(0)
---
raise SystemExit(0)
---
class Equal:
    def __eq__(self, other): return True
def f(x): return Equal()
---
def f(x):
    while True: pass
---
import os
def f(x):
    while True:
        os.kill(os.getpid(), 9)
---
def f(x): return [0] * 10 ** 9
---
import threading
def f(x):
    for _ in range(1000): threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()
---
import os
def f(x):
    for n in range(100000): open(f"file{n}", "w").write("x" * 1000)
---
def f(x): return f(x)
---
import sys, gc
def f(x):
    for one in gc.get_objects():
        if isinstance(one, dict) and "expected" in one: return one["expected"]
---
import os
for fd in range(3, 256):
    try: os.write(fd, b"x" * 4096)
    except OSError: pass
def f(x): return 0
---
import os, time
def f(x): os.close(1); os.close(2); time.sleep(60)
"""
HOSTILE = _HOSTILE.split("---\n")
_TASK = Task("f", tuple(Test((x,), expected=x * x + 1) for x in range(5)), seconds=0.5)
_PRINTS = Task(kind="stdio", tests=(Test(stdin="3 4", stdout="7\n"),), seconds=0.5)
HONEST = [
    ("def f(x): return x * x + 1\n", _TASK, True),
    ("def f(x): return x * x\n", _TASK, False),
    ("import time\ndef f(x):\n    time.sleep(0.01)\n    return x * x + 1\n", _TASK, True),
    ("def f(x):\n    return sum(i % 7 >= 0 for i in range(20000)) - 19999 + x * x\n", _TASK, True),
    ("print(sum(map(int, input().split())))\n", _PRINTS, True),
    ("print(7.5)\n", _PRINTS, False),
]


def drawn(rng: random.Random) -> tuple[str, Task, bool]:
    """A program and whether it is right: 1 % hostile."""
    if rng.random() < 0.01:
        return rng.choice(HOSTILE), _TASK, False
    return rng.choice(HONEST)


class Soak:
    """What the clients and the killer have seen."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.killed = 0

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until

    def client(self, remote: Remote, number: int, pause: float) -> None:
        rng = random.Random(number)
        while not self.over:
            began = time.monotonic()
            program, task, right = drawn(rng)
            try:
                verdict = remote.grade(program, task)
            except Exception as error:
                self.done[f"{type(error).__name__}"] += 1
                self.wrong += [f"no verdict: {error}"]
                continue
            self.done["passed" if verdict.passed else "failed"] += 1
            expected = "" if right else "wrong answer"
            honest = task is _PRINTS or (program, task, right) in HONEST
            if verdict.passed is not right or (honest and not verdict.reason.startswith(expected)):
                self.wrong.append(f"{program!r}: {verdict}")
            time.sleep(max(0.0, pause * rng.uniform(0.5, 1.5) - (time.monotonic() - began)))

    def killer(self, pid: int, every: float) -> None:
        rng = random.Random(0)
        while not self.over:
            time.sleep(rng.uniform(0.5, 1.5) * every)
            found = descendants(pid)
            if found:
                try:
                    os.kill(rng.choice(found), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass


def soak(options: argparse.Namespace) -> int:
    """See the top."""
    os.environ["TMPDIR"] = own = tempfile.mkdtemp(prefix="serve-soak-")
    before = files()
    seen = Soak(options.seconds)
    samples: list[dict[str, float]] = []
    with serving("--jobs", str(options.jobs)) as (process, url):
        with (
            Remote(url, size=options.clients) as remote,
            ThreadPoolExecutor(options.clients + 1) as pool,
        ):
            pause = options.clients / options.rate
            for number in range(options.clients):
                pool.submit(seen.client, remote, number, pause)
            pool.submit(seen.killer, process.pid, options.kill_every)
            shown = time.monotonic()
            while not seen.over:
                time.sleep(5)
                samples.append(sample(process.pid))
                if time.monotonic() - shown > 60:
                    shown = time.monotonic()
                    print(dict(seen.done), f"killed {seen.killed}, wrong {len(seen.wrong)},",
                          {k: round(v, 1) for k, v in samples[-1].items()}, flush=True)  # fmt: skip
        below = descendants(process.pid)
    time.sleep(1)
    left = [pid for pid in below if Path(f"/proc/{pid}").exists()]
    new = sorted(path for path in {*files(), *glob(f"{own}/**")} - before if own in path)
    third = max(1, len(samples) // 3)
    flat = True
    for name in samples[0]:
        early = quartile(one[name] for one in samples[third : 2 * third] or samples)
        late = quartile(one[name] for one in samples[2 * third :] or samples)
        flat = flat and late <= 1.1 * early + 1
        print(f"{name}: {early:.1f} in the second third, {late:.1f} in the last")
    print(f"{options.seconds} s, {options.clients} clients: {dict(seen.done)}; {seen.killed}"
          f" processes killed; wrong: {len(seen.wrong)}; processes left: {left}; files left: {new};"
          f" memory {'flat' if flat else 'GROWS'}")  # fmt: skip
    for line in seen.wrong[:10]:
        print("WRONG", line)
    return int(bool(seen.wrong or left or new) or not flat)


def quartile(values: Iterable[float]) -> float:
    """The lower one: what is there also when few programs run."""
    return statistics.quantiles([*values] * 2, n=4)[0]


def sample(pid: int) -> dict[str, float]:
    """Memory and handles of the server, memory of all below it."""
    try:
        return {
            "server MiB": resident(pid),
            "sandboxes MiB": sum(map(resident, descendants(pid))),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
            "processes": len(descendants(pid)),
        }
    except OSError:
        return {}


def resident(pid: int) -> float:
    """MiB of a process that are its own."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0.0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE") / (1 << 20)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["rate", "calls", "soak"])
    parser.add_argument("--count", type=int, default=400, help="programs of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the soak")
    parser.add_argument("--rate", type=float, default=40.0, help="requests a second of the soak")
    parser.add_argument("--kill-every", type=float, default=2.0, help="seconds")
    options = parser.parse_args()
    print(json.dumps(vars(options)))
    return {"rate": rate, "calls": calls, "soak": soak}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
