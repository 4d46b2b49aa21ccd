"""What `pytest --refute-record` costs, and how much of a project it records.

    python benchmarks/recording.py FOLDER... [--python PYTHON] [--repeat 3] [--out ROWS.jsonl]

For each project's folder: its suite with and without the option, in turn, in one interpreter that
has pytest, refute and what the project needs (default: the one that runs this script). Prints the
ratio of the medians of CPU and of wall time, whether the suite's results are the same, how many
functions got how many records, and of the public ones that the suite called the share with at least
one. The suite runs as it would for its own people, without a sandbox: run it on projects you trust.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

COLUMNS = (
    "project", "CPU s", "CPU ratio", "wall ratio", "same results", "functions", "records",
    "public ones called: recorded",
)  # fmt: skip
RESULT = re.compile(r"\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected)")


@dataclass
class Run:
    """Seconds of wall and of CPU time, the counts of the last line, the whole output."""

    wall: float
    cpu: float
    result: str
    output: str


def run(folder: Path, python: str, extra: list[str]) -> Run:
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *extra]
    path = [str(folder / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began, used = time.perf_counter(), _children()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, input=""
    )
    taken, cpu = time.perf_counter() - began, _children() - used
    lines = [line for line in done.stdout.splitlines() if RESULT.search(line)]
    result = ", ".join(RESULT.findall(lines[-1])) if lines else "?"
    return Run(taken, cpu, result, done.stdout + done.stderr)


def _children() -> float:
    """CPU seconds of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_public(target: str) -> bool:
    path = f"{target.partition(':')[0]}.{target.partition(':')[2]}"
    return not any(part.startswith("_") for part in path.split("."))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    extra = list(options.pytest)
    plain: list[Run] = []
    recorded: list[Run] = []
    run(folder, options.python, extra)  # bytecode is written, files are read
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "recorded.jsonl"
        for _ in range(options.repeat):
            plain.append(run(folder, options.python, extra))
            recorded.append(run(folder, options.python, [*extra, f"--refute-record={file}"]))
        if not file.exists():
            raise SystemExit(f"{folder}: nothing recorded:\n{recorded[-1].output[-2000:]}")
        header, *records = map(json.loads, file.read_text().splitlines())
    per_target = Counter(record["target"] for record in records)
    public = {target for target in per_target if is_public(target)}
    missed = {target: why for target, why in header["missed"].items() if is_public(target)}
    return {
        "project": folder.name,
        "cpu": round(median(each.cpu for each in plain), 2),
        "wall": round(median(each.wall for each in plain), 2),
        "cpu_ratio": _ratio([each.cpu for each in recorded], [each.cpu for each in plain]),
        "wall_ratio": _ratio([each.wall for each in recorded], [each.wall for each in plain]),
        "results": sorted({each.result for each in [*plain, *recorded]}),
        "targets": len(per_target),
        "records": len(records),
        "with_setup": sum(bool(record["setup"]) for record in records),
        "public_called": len(public) + len(missed),
        "public_recorded": len(public),
        "missed": dict(Counter(missed.values()).most_common()),
        "skipped": header["skipped"],
    }


def _ratio(with_it: list[float], without: list[float]) -> float:
    return round(median(with_it) / median(without), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help="append a row for each project to this file")
    parser.add_argument("--pytest", action="append", default=[], help="an option for pytest")
    options = parser.parse_args()
    print(" | ".join(COLUMNS))
    for folder in options.folders:
        row = measure(folder.resolve(), options)
        share = row["public_recorded"] / max(1, row["public_called"])
        same = "yes" if len(row["results"]) == 1 else f"NO {row['results']}"
        cells = [row[name] for name in ("project", "cpu", "cpu_ratio", "wall_ratio")]
        cells += [same, row["targets"], row["records"]]
        cells += [f"{row['public_recorded']} of {row['public_called']} ({share:.0%})"]
        print(" | ".join(map(str, cells)), flush=True)
        print(f"    missed: {row['missed']}", file=sys.stderr)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
