"""The UTGen paper's tables for a model of yours: every method, and the ablations, by one command.

    python benchmarks/methods.py MODEL [--data DIR] [--out runs/methods] [--limit N] [--ablations]
                                 [--trained SPEC] [-- OPTIONS OF BENCH...]

    python benchmarks/methods.py openai:NAME -- --base-url http://127.0.0.1:8000/v1

Runs `refute bench` for random, prompted and no-ut over he-fix, mbpp-fix and mbpp-fix-hard, three
times each, and utgen where `--trained` names a model that was trained to write tests, while MODEL
makes the edits. `--ablations` adds UTDebug without vote, without backtracking and with 1 to 15 unit
tests, on the last dataset. Everything is resumable: the same command goes on, and answers are
never paid for twice. At the end `refute report` compares all of it with the paper.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DATASETS = ("he-fix", "mbpp-fix", "mbpp-fix-hard")
SIZES = (1, 2, 4, 6, 8, 10, 12, 15)
UNAVAILABLE = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--trained", metavar="SPEC")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/methods"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ablations", action="store_true")
    parser.add_argument("more", nargs="*", metavar="-- OPTIONS")
    options = parser.parse_args()
    print(vars(options))
    done = []
    for dataset, name, own in variants(options):
        run = options.out / f"{dataset}-{name}"
        command = [sys.executable, "-m", "refute", "bench", dataset, "--run", str(run)]
        command += ["--model", options.model, "--runs", str(options.runs), *own, *options.more]
        command += ["--data", str(options.data)] if options.data else []
        command += ["--limit", str(options.limit)] if options.limit else []
        print("$", " ".join(command[2:]), flush=True)
        status = subprocess.run(command).returncode
        if status not in (0, UNAVAILABLE):
            sys.exit(status)
        if (run / "journal.jsonl").exists():
            done.append(str(run))
    if done:
        page = options.out / "report.html"
        subprocess.run(
            [sys.executable, "-m", "refute", "report", *done, "-o", str(page)], check=True
        )


def variants(options: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Dataset, name and options of each run."""
    datasets = options.datasets.split(",")
    methods = {name: ["--method", name] for name in ("random", "prompted", "no-ut")}
    if options.trained:
        methods["utgen"] = ["--method", "utgen", "--tester", options.trained]
    for dataset in datasets:
        for name, own in methods.items():
            yield dataset, name, own
    if not options.ablations:
        return
    best = methods.get("utgen", methods["prompted"])
    for dataset in datasets[-1:]:
        yield dataset, "no-vote", [*best, "--no-vote"]
        yield dataset, "no-backtrack", [*best, "--no-backtrack"]
        for size in SIZES:
            yield dataset, f"n-{size}", [*best, "-n", str(size)]


if __name__ == "__main__":
    main()
