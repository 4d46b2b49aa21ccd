"""What a verdict costs: our rewards beside `grade_program` and EvalPlus, on the same programs.

    python benchmarks/reward.py --data ../shared/data [--peer PYTHON] [--tests 10] [--size 4]

The canonical solutions of HumanEval+ with the first `--tests` private tests of each (0: all), right
and with a fault (the last return gives None), each in a process of its own, one after the other:

- `batch`: `Grader(size).grade_batch` in one process: *parent* is the CPU of the trusted side, whose
  tasks are ready (as over epochs of training) or, `fresh`, read from JSON for each verdict.
- `stdio` and `asserts`: the same with small tasks of these kinds, three tests each.
- `grade_program`: in one sandbox, expected outputs at hand.
- `evalplus`: `untrusted_check`, which forks for each program (`--peer`: its interpreter).

CPU is user and system time, child processes included. Ratios are what to look at.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BAR_PARENT = 0.5
"""Milliseconds of CPU in the parent for one verdict."""


def main() -> None:
    """Measure, print a table, and the figures as JSON on the last line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=os.environ.get("REFUTE_DATA"))
    options.add_argument("--peer", help="python of an environment with evalplus")
    options.add_argument("--tests", type=int, default=10)
    options.add_argument("--size", type=int, default=4, help="sandboxes of the Grader")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--as-peer", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.as_peer:
        be_peer(chosen.as_peer, chosen.rounds)
        return
    print(f"settings: {vars(chosen)}", flush=True)
    work = workload(chosen)
    rows = {
        "batch": apart(batch, work, chosen, False),
        "batch, fresh": apart(batch, work, chosen, True),
        "stdio": apart(batch, small("stdio"), chosen, False),
        "asserts": apart(batch, small("asserts"), chosen, False),
        "grade_program": apart(programs, work, chosen),
    }
    if chosen.peer:
        rows["evalplus"] = peer(work, chosen)
    for name, row in rows.items():
        print(
            f"{name:16}{row['verdicts']:6} verdicts  {row['cpu']:7.2f} ms of CPU each  "
            f"{1e3 / row['cpu']:7.0f} a CPU second  parent {row['parent']:.3f} ms"
        )
    ours = rows["batch"]
    print(f"parent: {ours['parent']:.3f} ms, bar {BAR_PARENT} ms")
    print(f"one parent feeds {ours['cpu'] / ours['parent']:.0f} cores of such programs")
    if chosen.peer:
        print(f"evalplus / batch: {rows['evalplus']['cpu'] / ours['cpu']:.1f} of CPU a program")
    print(json.dumps(rows))


def workload(chosen: argparse.Namespace) -> list[tuple[str, Any]]:
    """Programs with their tasks."""
    from dataclasses import replace

    from refute.sandbox.local import LocalSandbox
    from refute_lab.datasets import load
    from refute_lab.rewards import Task

    with LocalSandbox() as box:
        tasks = list(Task.all_of_dataset("humaneval+", data=chosen.data, box=box))
    references = {item.key.id: item.key.reference for item in load("humaneval+", data=chosen.data)}
    work = []
    for task in tasks:
        some = replace(task, tests=task.tests[: chosen.tests or None])
        right = references[task.id]
        faulty = f"{right}\n_right = {task.entry_point}\n"
        faulty += f"def {task.entry_point}(*args):\n    _right(*args)\n"
        work += [(right, some), (faulty, some)]
    return work


def small(kind: str) -> list[tuple[str, Any]]:
    """Programs that add, for tasks of another kind."""
    from refute_lab.rewards import Task, Test

    if kind == "stdio":
        tests = tuple(Test(stdin=f"{n} 2\n", stdout=f"{n + 2}\n") for n in range(3))
        task, text = Task(kind="stdio", tests=tests), "print(sum(map(int, input().split())))\n"
    else:
        lines = "".join(f"assert add({n}, 2) == {n + 2}\n" for n in range(3))
        task, text = Task("add", kind="asserts", source=lines), "def add(a, b): return a + b\n"
    return [(text, task), (text.replace("+", "-").replace("sum", "max"), task)] * 50


def apart(function: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """What `function` returns, in a fresh process."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_send, args=(theirs, function, arguments))
    process.start()
    found: dict[str, float] = ours.recv()
    process.join()
    return found


def _send(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    pipe.send(function(*arguments))


def batch(work: list[tuple[str, Any]], chosen: argparse.Namespace, fresh: bool) -> dict[str, float]:
    """A `Grader` on all programs, `--rounds` times after one that is not counted."""
    from refute_lab.rewards import Grader, Task

    texts = [(program, json.dumps(task.to_json())) for program, task in work] if fresh else []
    before = _spent()
    with Grader(chosen.size) as grader:
        found = list(grader.grade_batch(work))
        warm, began = _spent(), time.monotonic()
        parent = time.process_time()
        inner = sum(one.cpu_seconds for one in found)
        for _ in range(chosen.rounds):
            pairs = ((p, Task.from_json(text)) for p, text in texts) if fresh else iter(work)
            again = list(grader.grade_batch(pairs))
            inner += sum(one.cpu_seconds for one in again)
        parent = time.process_time() - parent
        wall = time.monotonic() - began
    whole = _spent() - before
    verdicts = chosen.rounds * len(work)
    assert [one.passed for one in again] == [one.passed for one in found]
    assert sum(one.passed for one in found) >= len(work) // 2
    return {
        "verdicts": verdicts,
        "parent": 1e3 * parent / verdicts,
        "cpu": 1e3 * whole / (verdicts + len(work)),
        "programs": 1e3 * inner / (verdicts + len(work)),
        "started": warm,
        "wall": wall,
    }


def programs(work: list[tuple[str, Any]], chosen: argparse.Namespace) -> dict[str, float]:
    """`grade_program` in one sandbox."""
    from refute.core.problems import FunctionKey
    from refute.sandbox.local import LocalSandbox
    from refute_lab.benches.grade import GroundTruth, grade_program

    before = _spent()
    with LocalSandbox() as box:
        for turn in range(chosen.rounds + 1):
            if turn == 1:
                parent = time.process_time()
            for program, task in work:
                key = FunctionKey(task.id, task.entry_point, "", ())
                truth = GroundTruth(task.id, task.calls, task.expected, task.limits)
                grade_program(program, key, box, truth=truth)
        parent = time.process_time() - parent
    verdicts = chosen.rounds * len(work)
    return {
        "verdicts": verdicts,
        "parent": 1e3 * parent / verdicts,
        "cpu": 1e3 * (_spent() - before) / (verdicts + len(work)),
    }


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peer(work: list[tuple[str, Any]], chosen: argparse.Namespace) -> dict[str, float]:
    """EvalPlus on the same programs and tests."""
    rows = [
        (program, task.entry_point, [list(t.args) for t in task.tests],
         [t.expected for t in task.tests], task.atol)
        for program, task in work
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "work.pickle")
        file.write_bytes(pickle.dumps(rows))
        words = [chosen.peer, __file__, "--as-peer", str(file), "--rounds", str(chosen.rounds)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def be_peer(file: Path, rounds: int) -> None:
    """In the interpreter that has evalplus: grade the work, print what it took."""
    from evalplus.eval import PASS, untrusted_check

    work = pickle.loads(file.read_bytes())
    before, own, passed = _spent(), time.process_time(), 0
    for _ in range(rounds):
        for program, entry, inputs, wanted, atol in work:
            stat, _ = untrusted_check(
                "humaneval",
                program,
                inputs,
                entry,
                wanted,
                atol,
                [0.1] * len(inputs),
                fast_check=True,
            )
            passed += stat == PASS
    verdicts = rounds * len(work)
    row = {
        "verdicts": verdicts,
        "passed": passed,
        "parent": 1e3 * (time.process_time() - own) / verdicts,
        "cpu": 1e3 * (_spent() - before) / verdicts,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    sys.exit(main())
