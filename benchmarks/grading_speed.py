"""How fast grading is: the canonical solutions of HumanEval+ and MBPP+, side by side in one run.

    python benchmarks/grading_speed.py --data ../shared/data [--peer PYTHON] [--only mbpp+]

Four things are timed, each in a process of its own, one after the other, `--repeat` times:

- `bare`: the same calls of the same programs in a plain loop in one process, nothing contained and
  nothing compared: the limit that no grader can go below.
- `refute`: `grade_program` on every program with one sandbox, every isolation measure on, expected
  outputs cached; on one core, then with `--jobs` worker processes.
- `evalplus`: `evalplus.evaluate` on the same samples, its ground truth cached by a run before
  (`--peer` is the interpreter of an environment in which evalplus is installed; left out without).
- `fork`: an empty fork, pipe and wait of this interpreter, the floor of one contained program.

Wall and CPU seconds include every child process. Ratios are what to look at; the machine is noisy.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import grade_program
from refute_lab.benches.oracle import GroundTruth, expected_outputs
from refute_lab.datasets import load
from refute_lab.datasets.rows import Item

PEER_NAMES = {"humaneval+": "humaneval", "mbpp+": "mbpp"}
PEER_FILES = {
    "humaneval+": ("HUMANEVAL_OVERRIDE_PATH", "HumanEvalPlus.jsonl.gz"),
    "mbpp+": ("MBPP_OVERRIDE_PATH", "MbppPlus.jsonl.gz"),
}
PER_PROGRAM = 0.002
"""Seconds that the bar allows for one program on top of 1.25 times the calls' own time."""


def main() -> None:
    """Measure, print one table a dataset, and the figures as JSON on the last line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=os.environ.get("REFUTE_DATA"))
    options.add_argument("--only", choices=sorted(PEER_NAMES), action="append")
    options.add_argument("--peer", help="python of an environment with evalplus")
    options.add_argument("--peer-is-warm", action="store_true", help="its ground truth is cached")
    options.add_argument("--repeat", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    chosen = options.parse_args()
    print(f"settings: {vars(chosen)}", flush=True)
    report = {name: measure(name, chosen) for name in chosen.only or sorted(PEER_NAMES)}
    print(json.dumps(report))


def measure(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Time everything on one dataset."""
    items = load(name, data=chosen.data)
    with LocalSandbox() as box:
        truths = [expected_outputs(item.key, box) for item in items]
    calls = sum(len(truth.calls) for truth in truths)
    tasks: dict[str, Callable[[], Any]] = {
        "bare": partial(run_bare, items, truths),
        "refute, one core": partial(run_refute, items, truths, 1),
        f"refute, {chosen.jobs} jobs": partial(run_refute, items, truths, chosen.jobs),
        "fork": run_forks,
    }
    if chosen.peer:
        peer = partial(run_peer, name, chosen, items)
        if not chosen.peer_is_warm:
            peer()  # computes and caches its ground truth
        tasks["evalplus"] = peer
    times: dict[str, list[tuple[float, float]]] = {task: [] for task in tasks}
    for _ in range(chosen.repeat):
        for task, work in tasks.items():
            times[task].append(timed(work))
            print(f"{name} {task}: {times[task][-1]}", file=sys.stderr, flush=True)
    middle = {
        task: tuple(statistics.median(column) for column in zip(*rows, strict=True))
        for task, rows in times.items()
    }
    show(name, len(items), calls, middle)
    return {"programs": len(items), "calls": calls, "wall_cpu": middle}


def show(name: str, programs: int, calls: int, times: dict[str, tuple[float, ...]]) -> None:
    """Print wall and CPU seconds, and what they mean."""
    print(f"\n{name}: {programs} programs, {calls} calls")
    for task, (wall, cpu) in times.items():
        print(f"  {task:18} wall {wall:8.2f} s   cpu {cpu:8.2f} s")
    bare = times["bare"][1]
    ours, both = times["refute, one core"], list(times.items())[2]
    limit = 1.25 * bare + PER_PROGRAM * programs
    print(
        f"  limit 1.25 x bare + 2 ms a program: {limit:.2f} s; cpu is {ours[1] / limit:.2f} of it"
    )
    print(f"  {programs / ours[1]:.0f} programs/s and {calls / ours[1]:.0f} calls/s a core")
    extra = (ours[1] - bare) / programs
    fork = times["fork"][1] / FORKS
    print(f"  beyond the calls' own time {1e3 * extra:.2f} ms a program, {extra / fork:.1f} forks")
    print(f"  {both[0]}: {ours[0] / both[1][0]:.2f} times as fast as one core")
    if "evalplus" in times:
        wall, cpu = times["evalplus"]
        best = min(ours[0], both[1][0])
        print(f"  evalplus / refute: wall {wall / best:.1f}, cpu {cpu / ours[1]:.1f}")
        least = min(bare, ours[1])
        print(f"  the most that any grader could reach in cpu: evalplus / bare {cpu / least:.1f}")


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds of `work` in a child process, its descendants included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{work} failed with {process.exitcode}")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def run_bare(items: list[Item], truths: list[GroundTruth]) -> None:
    """Call every reference on every input; the references are the dataset's own, not generated."""
    for item, truth in zip(items, truths, strict=True):
        names: dict[str, Any] = {"__name__": "bare"}
        exec(compile(item.key.reference, "<bare>", "exec"), names)
        function = names[item.key.entry_point]
        for call in truth.calls:
            function(*call.args)


def run_refute(items: list[Item], truths: list[GroundTruth], jobs: int) -> None:
    """Grade every reference; exits with status 1 when one does not pass."""
    # the longest first, so that no worker is left with one at the end
    work = sorted(zip(items, truths, strict=True), key=lambda pair: -allowance(pair[1]))
    context = multiprocessing.get_context("fork")
    taken = context.Value("i", 0)
    workers = [context.Process(target=grade_some, args=(work, taken)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        sys.exit(1)


def allowance(truth: GroundTruth) -> float:
    """CPU seconds that the tests may take: what is known beforehand about how long they do."""
    return sum(limits.cpu for limits in truth.limits)


def grade_some(work: list[tuple[Item, GroundTruth]], taken: Any) -> None:
    """Grade what no other worker has taken; exits with a line about references that fail."""
    failed = []
    with LocalSandbox() as box:
        while True:
            with taken.get_lock():
                at = taken.value
                taken.value += 1
            if at >= len(work):
                break
            item, truth = work[at]
            if not grade_program(item.key.reference, item.key, box, truth=truth).passed:
                failed.append(item.problem.id)
    if failed:
        sys.exit(f"do not pass: {failed}")


FORKS = 500
EMPTY_FORKS = f"""
import os
for _ in range({FORKS}):
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, b"x")
        os._exit(0)
    os.read(ours, 1)
    os.waitpid(pid, 0)
    os.close(ours)
    os.close(theirs)
"""


def run_forks() -> None:
    """`FORKS` times an empty fork of a small interpreter, a byte through a pipe, and a wait."""
    subprocess.run([sys.executable, "-I", "-S", "-c", EMPTY_FORKS], check=True)


def run_peer(name: str, chosen: argparse.Namespace, items: list[Item]) -> None:
    """`evalplus.evaluate` on the same programs as samples."""
    variable, file = PEER_FILES[name]
    environment = os.environ | {variable: str((chosen.data / file).resolve())}
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.jsonl"
        rows = [{"task_id": i.problem.id, "solution": i.key.reference} for i in items]
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = [chosen.peer, "-m", "evalplus.evaluate", "--dataset", PEER_NAMES[name]]
        command += ["--set", f"samples={samples}"]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    if done.returncode:
        sys.exit(f"evalplus failed: {done.stdout[-500:]}")
    scores = [line for line in done.stdout.splitlines() if "pass@1" in line]
    print(f"{name} evalplus: {scores}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
