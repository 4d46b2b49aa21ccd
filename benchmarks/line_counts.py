"""What counting the executions of chosen lines costs, next to other ways, in one run.

    python benchmarks/line_counts.py [--rounds 7] [--size 100] [PYTHON...]

For each interpreter, a unittest suite over a generated module of `--size` functions runs bare, with
the probe (results and counters for 20 lines), with a trace function that follows only calls into
that module (what a tracer with an include pattern does), and under the standard library's `trace`.
The ways take turns within each round. Printed is CPU time, start-up included: the median of the
bare run in seconds, and the median over the rounds of each way's ratio to the bare run next to it.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from refute import probe

FUNCTION = '''
def step_{n}(values, limit):
    """Sum what lies below the limit."""
    total = {n}
    for value in values:
        if value < limit:
            total += value * {n}
        else:
            total -= 1
    return json.dumps(dict(total=total, low=min(values)), sort_keys=True)
'''
SUITE = """
import json, unittest
import steps

class Test(unittest.TestCase):
    def test_steps(self):
        for _ in range(30):
            for n in range({size}):
                text = getattr(steps, "step_%d" % n)(list(range(40)), 20)
                self.assertIn("total", json.loads(text))

    def test_elsewhere(self):
        words = sorted("".join(str(n) for n in range(20000)).split("9"))
        for _ in range(40):
            self.assertTrue(all(isinstance(word, str) and len(word) >= 0 for word in words))
"""
INCLUDING = """
import runpy, sys, threading
chosen, counts = sys.argv[1], {}
def local(frame, event, argument):
    if event == "line":
        key = frame.f_code.co_filename, frame.f_lineno
        counts[key] = counts.get(key, 0) + 1
    return local
def follow(frame, event, argument):
    return local if frame.f_code.co_filename == chosen else None
sys.argv = ["unittest", "test_steps.py"]
threading.settrace(follow)
sys.settrace(follow)
runpy.run_module("unittest", run_name="__main__", alter_sys=True)
"""
TRACING = """
import runpy, sys, trace
sys.argv = ["unittest", "test_steps.py"]
tracer = trace.Trace(count=1, trace=0)
tracer.runfunc(runpy.run_module, "unittest", run_name="__main__", alter_sys=True)
"""
WAYS = ("bare", "probe", "include", "trace")


def cpu_seconds(command: list[str], folder: Path, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.decode()[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def with_probe(python: str, folder: Path, env: dict[str, str], lines: list[int]) -> float:
    with tempfile.TemporaryDirectory() as name:
        channel, nonce, chosen = Path(name), secrets.token_hex(16), {"steps.py": lines}
        ready, files = probe.environment(str(channel), nonce, chosen, folder, env=env)
        for file, data in files.items():
            (channel / file).write_bytes(data)
        spent = cpu_seconds(
            probe.command("unittest", ["test_steps.py"], python=python), folder, ready
        )
        written = {path.name: path.read_bytes() for path in channel.iterdir()}
    report = probe.read(written, nonce, chosen)
    if not report.closed or len(report.results) != 2 or not any(report.lines["steps.py"].values()):
        raise SystemExit(f"{python}: the probe did not report: {report.remark}")
    return spent


def ratios(python: str, folder: Path, rounds: int, lines: list[int]) -> dict[str, list[float]]:
    env = {"PATH": os.environ["PATH"]}
    suite = ["-m", "unittest", "test_steps.py"]
    ways: dict[str, Callable[[], float]] = {
        "bare": lambda: cpu_seconds([python, *suite], folder, env),
        "probe": lambda: with_probe(python, folder, env, lines),
        "include": lambda: cpu_seconds(
            [python, "including.py", str(folder / "steps.py")], folder, env
        ),
        "trace": lambda: cpu_seconds([python, "tracing.py"], folder, env),
    }
    spent: dict[str, list[float]] = {name: [] for name in WAYS}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            seconds = way()
            if round_:  # the first round warms byte code and caches
                spent[name].append(seconds)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=100, help="functions in the counted module")
    options = parser.parse_args()
    print(f"rounds {options.rounds}, size {options.size}")
    print(f"{'interpreter':52} {'bare s':>7} {'probe':>6} {'include':>8} {'trace':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        module = "import json\n" + "".join(FUNCTION.format(n=n) for n in range(options.size))
        (folder / "steps.py").write_text(module)
        (folder / "test_steps.py").write_text(SUITE.format(size=options.size))
        (folder / "including.py").write_text(INCLUDING)
        (folder / "tracing.py").write_text(TRACING)
        lines = list(range(4, 24))
        for python in options.pythons:
            spent = ratios(python, folder, options.rounds, lines)
            bare = spent["bare"]
            middle = [
                statistics.median(one / base for one, base in zip(spent[way], bare, strict=True))
                for way in WAYS[1:]
            ]
            print(
                f"{python[-52:]:52} {statistics.median(bare):7.2f}"
                f" {middle[0]:6.3f} {middle[1]:8.2f} {middle[2]:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
