"""What does the executor `ray` cost beside processes, and what bounds a run of a million units?

    python benchmarks/cluster.py [--pilot 60] [--rounds 3] [--small 2000]

1. Rows of he-fix that take `search` at least half a second (found by a pilot run) are run by
   processes and by a Ray cluster of this machine, in turn, on the same cores. Each is a command of
   its own, with the start of workers and cluster; what a command with one row takes is said beside
   it. CPU is that of all its processes, where this user may make a control group (version 1).
2. Constants: units that do nothing, for the driver's CPU and time for each; appends to a journal.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute_lab.benches import RECORDS
from refute_lab.runs.executors import Workers, executor_of
from refute_lab.runs.journal import Journal, read_run
from refute_lab.runs.records import ErrorRecord, Schema

GROUP = Path("/sys/fs/cgroup/cpuacct/refute-benchmark")
SHORTEST, LONGEST = 0.5, 4.0
"""Seconds; a row that runs into the method's own limit of time says nothing of an executor."""
NONE = Schema("error", ErrorRecord)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pilot", type=int, default=60, metavar="N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", type=int, default=2000, metavar="N")
    options = parser.parse_args()
    print(f"cores={os.cpu_count()} load={os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        large(Path(folder), options.pilot, options.rounds)
        small(Path(folder), options.small)


def large(folder: Path, pilot: int, rounds: int) -> None:
    bench(folder / "pilot", "processes", "--limit", str(pilot))
    _, found = read_run(folder / "pilot", RECORDS)
    times = {one.id: one.seconds for one in found if not isinstance(one, ErrorRecord)}
    ids = [id for id, taken in times.items() if SHORTEST <= taken <= LONGEST]
    total = sum(times[id] for id in ids)
    print(f"{len(ids)} units of {total / len(ids):.2f} s")
    ratios: dict[str, list[float]] = {
        name: [] for name in ("wall", "wall without start", "CPU", "CPU without start")
    }
    for number in range(rounds):
        taken = {}
        for name in ("processes", "ray"):
            one = bench(folder / f"{name}{number}-1", name, "--ids", ids[0])
            wall, cpu = bench(folder / f"{name}{number}", name, "--ids", ",".join(ids))
            taken[name] = wall, wall - one[0], cpu, cpu - one[1]
            print(
                f"  {name}: {wall:.1f} s, {cpu:.1f} s of CPU; one unit {one[0]:.1f}, {one[1]:.1f}"
            )
        for kind, ours, theirs in zip(ratios, taken["ray"], taken["processes"], strict=True):
            ratios[kind].append(ours / theirs if theirs else float("nan"))
    for kind, values in ratios.items():
        print(f"ray / processes, {kind}: {statistics.median(values):.3f} {values}")


def bench(run: Path, executor: str, *which: str) -> tuple[float, float]:
    """Seconds and CPU seconds of a command with all its processes."""
    command = [sys.executable, "-m", "refute", "bench", "he-fix", "--method", "search", *which]
    command += ["--run", str(run), "--executor", executor, "--jobs", "2"]
    with suppress(OSError):
        GROUP.mkdir()
    begun, before = time.monotonic(), used()
    subprocess.run(command, check=True, capture_output=True, preexec_fn=enter)
    return time.monotonic() - begun, used() - before


def enter() -> None:
    with suppress(OSError):
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def used() -> float:
    try:
        return int((GROUP / "cpuacct.usage").read_text()) / 1e9
    except OSError:
        return float("nan")


# -- constants -------------------------------------------------------------------------------------


def nothing() -> Callable[[tuple[str, int]], ErrorRecord]:
    return _nothing


def _nothing(unit: tuple[str, int]) -> ErrorRecord:
    return ErrorRecord(unit[0], "nothing")


def small(folder: Path, count: int) -> None:
    units = [(f"u{number}", number) for number in range(count)]
    for name in ("processes", "ray"):
        doing = executor_of(name, Workers(jobs=2))
        assert doing is not None
        first: list[tuple[float, float]] = []

        def done(unit: Any, result: Any, first: list[tuple[float, float]] = first) -> None:
            first.append((time.monotonic(), spent()))

        doing.run(units, nothing, done)
        wall, cpu = (last - start for start, last in zip(first[0], first[-1], strict=True))
        n = count - 1
        print(f"{name}: {1e3 * wall / n:.2f} ms a unit on 2 workers, driver {1e3 * cpu / n:.2f}")
    record = ErrorRecord("u", json.dumps("x" * 1500))
    with Journal(folder / "journal", {}, NONE) as journal:
        begun, before = time.monotonic(), spent()
        for _ in range(count):
            journal.append(record)
        wall, cpu = time.monotonic() - begun, spent() - before
    print(
        f"journal: {1e3 * wall / count:.2f} ms a record of 1.5 kB, {1e3 * cpu / count:.2f} of CPU"
    )
    begun, before = time.monotonic(), spent()
    with Journal(folder / "journal", {}, NONE):
        print(f"reading it: {1e3 * (spent() - before) / count:.3f} ms of CPU a record")


def spent() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


if __name__ == "__main__":
    main()
