"""What `pytest --refute-record` costs, and how much of a project it records.

    python benchmarks/recording.py FOLDER... [--python PYTHON] [--repeat 3] [--out ROWS.jsonl]

For each project's folder: its suite with and without the option, in turn, in one interpreter that
has pytest, refute and what the project needs (default: the one that runs this script). Prints the
ratio of the medians of the wall time, whether the suite's results are the same, how many functions
got how many records, and of the public ones that the suite called the share with at least one. The
suite runs as it would for its own people, without a sandbox: run it on projects you trust.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

RESULT = re.compile(r"\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected)")


def run(folder: Path, python: str, extra: list[str]) -> tuple[float, str, str]:
    """Seconds, the counts of the last line, the whole output."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *extra]
    path = [str(folder / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    taken = time.perf_counter() - began
    lines = [line for line in done.stdout.splitlines() if RESULT.search(line)]
    return taken, ", ".join(RESULT.findall(lines[-1])) if lines else "?", done.stdout + done.stderr


def is_public(target: str) -> bool:
    path = f"{target.partition(':')[0]}.{target.partition(':')[2]}"
    return not any(part.startswith("_") for part in path.split("."))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    extra = list(options.pytest)
    plain: list[float] = []
    recorded: list[float] = []
    results: set[str] = set()
    run(folder, options.python, extra)  # bytecode is written, files are read
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "recorded.jsonl"
        for _ in range(options.repeat):
            taken, result, _ = run(folder, options.python, extra)
            plain.append(taken)
            results.add(result)
            taken, with_it, text = run(folder, options.python, [*extra, f"--refute-record={file}"])
            recorded.append(taken)
            results.add(with_it)
        if not file.exists():
            raise SystemExit(f"{folder}: nothing recorded:\n{text[-2000:]}")
        header, *records = map(json.loads, file.read_text().splitlines())
    per_target = Counter(record["target"] for record in records)
    public = {target for target in per_target if is_public(target)}
    missed = {target: why for target, why in header["missed"].items() if is_public(target)}
    return {
        "project": folder.name,
        "seconds": round(median(plain), 2),
        "ratio": round(median(recorded) / median(plain), 2),
        "results": sorted(results),
        "targets": len(per_target),
        "records": len(records),
        "with_setup": sum(bool(record["setup"]) for record in records),
        "public_called": len(public) + len(missed),
        "public_recorded": len(public),
        "missed": dict(Counter(missed.values()).most_common()),
        "skipped": header["skipped"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help="append a row for each project to this file")
    parser.add_argument("--pytest", action="append", default=[], help="an option for pytest")
    options = parser.parse_args()
    print("project | s | ratio | same results | targets | records | public called: recorded")
    for folder in options.folders:
        row = measure(folder.resolve(), options)
        share = row["public_recorded"] / max(1, row["public_called"])
        same = "yes" if len(row["results"]) == 1 else f"NO {row['results']}"
        print(
            f"{row['project']} | {row['seconds']} | {row['ratio']} | {same} | {row['targets']} | "
            f"{row['records']} | {row['public_recorded']} of {row['public_called']} ({share:.0%})",
            flush=True,
        )
        print(f"    missed: {row['missed']}", file=sys.stderr)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
