"""Whether verdicts depend on how busy the machine is.

    python benchmarks/stability.py --data ../shared/data [--runs 5] [--busy 4] [DATASET ...]

Grades the code under test of every problem `--runs` times while `--busy` processes spin, and
compares the verdicts test by test. Prints each program whose verdicts differ between runs; exits
with status 1 if there is one. Without names: he-fix and mbpp-fix-hard.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from refute.datasets import load
from refute.function.grade import grade_program
from refute.function.oracle import expected_outputs
from refute.sandbox.local import LocalSandbox


def main() -> None:
    """Keep the machine busy, grade, compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("datasets", nargs="*", default=["he-fix", "mbpp-fix-hard"])
    options.add_argument("--data", type=Path, default=os.environ.get("REFUTE_DATA"))
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--busy", type=int, default=4)
    chosen = options.parse_args()
    print(f"settings: {vars(chosen)}", flush=True)
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(chosen.busy)]
    try:
        unstable = sum(compare(name, chosen) for name in chosen.datasets)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    sys.exit(1 if unstable else 0)


def compare(name: str, chosen: argparse.Namespace) -> int:
    """How many programs of the dataset get different verdicts in different runs."""
    items = load(name, data=chosen.data)
    seen: dict[str, set[tuple[bool, ...]]] = {item.problem.id: set() for item in items}
    for run in range(chosen.runs):
        start = time.monotonic()
        with LocalSandbox() as box:
            for item in items:
                truth = expected_outputs(item.key, box)
                grade = grade_program(item.problem.code, item.key, box, truth=truth)
                seen[item.problem.id].add(grade.verdicts)
        print(f"{name}: run {run + 1} took {time.monotonic() - start:.0f} s", flush=True)
    unstable = [id for id, verdicts in seen.items() if len(verdicts) > 1]
    flipped = [id for id in unstable if len({all(v) for v in seen[id]}) > 1]
    print(f"{name}: {len(items)} programs, {chosen.runs} runs, {chosen.busy} busy processes")
    print(f"  programs whose verdict differs: {flipped or 'none'}")
    print(f"  programs with a test whose verdict differs: {unstable or 'none'}", flush=True)
    return len(flipped)


if __name__ == "__main__":
    main()
