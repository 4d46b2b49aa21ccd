"""Soak `refute serve`: hostile programs, and sandbox processes that are killed at random.

    python benchmarks/serve_soak.py --seconds 3600

64 clients ask a real server on the loopback device for verdicts that are known, at a bounded rate.
1 % of the programs are hostile: those below, and the cheats of `refute_lab.cheats`. Meanwhile
`kill -9` of a process below the server, drawn at random, every `--kill-every` seconds. Memory,
descriptors and threads of the server are looked at over time; at the end no process and no file may
be left. The exit status is 1 where a verdict was wrong or missing, memory grew, or something is
left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from refute_lab.cheats import CHEATS
from refute_lab.rewards import Remote, Task, Test

sys.path.insert(0, str(Path(__file__).resolve().parent))
from serve import descendants, serving
from soak import files

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


WILD = [(source, _TASK, False) for source in HOSTILE]
WILD += [(one.source, one.task, False) for one in CHEATS if isinstance(one.task, Task)]


def drawn(rng: random.Random) -> tuple[str, Task, bool]:
    """A program and whether it is right: 1 % hostile."""
    return rng.choice(WILD if rng.random() < 0.01 else HONEST)


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
            honest = (program, task, right) in HONEST
            expected = "wrong answer" if honest and not right else ""
            if verdict.passed is not right or not verdict.reason.startswith(expected):
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
    """The whole of it; the exit status."""
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
    if not new:
        os.rmdir(own)
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
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=40.0, help="requests a second")
    parser.add_argument("--kill-every", type=float, default=2.0, help="seconds")
    options = parser.parse_args()
    print(json.dumps(vars(options)))
    return soak(options)


if __name__ == "__main__":
    sys.exit(main())
