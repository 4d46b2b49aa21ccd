"""How many issues the reproducer without a model reproduces, and how many of its tests are right.

    REFUTE_REPOS=CLONES python benchmarks/snippet.py OUT [--dataset swe-lite|ROWS.jsonl]
        [--data DIR] [--fold 0|1] [--ids A,B] [--jobs 2] [--seconds 600] [--grade]

Predictions are appended to OUT/predictions.jsonl, one line an issue, as they are made: a run that
was ended resumes where it stopped. `--grade` runs `refute grade` over them and prints one line an
issue. The issues, sorted by id, are dealt to two folds in turn: a rule that only the fold on which
it was found profits from is seen for what it is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from refute.core.methods import Bounds
from refute.core.problems import IssueProblem
from refute.errors import WorkspaceUnavailable
from refute.issue.snippet import snippet
from refute.workspace.factory import open_local, prepare
from refute_lab.datasets.swe import load_issues


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", default="swe-lite", help="a name, or a file of rows")
    parser.add_argument("--data", help="folder of the rows (default: REFUTE_DATA)")
    parser.add_argument("--fold", type=int, choices=(0, 1))
    parser.add_argument("--ids", help="only these, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600.0, help="for one issue")
    parser.add_argument("--grade", action="store_true")
    options = parser.parse_args()
    print(*(f"{name}={value}" for name, value in vars(options).items()), flush=True)

    ids = options.ids.split(",") if options.ids else None
    items = load_issues(options.dataset, data=options.data, ids=ids)
    problems = sorted((item.problem for item in items), key=lambda problem: problem.id)
    folds = {problem.id: number % 2 for number, problem in enumerate(problems)}
    chosen = [p for p in problems if options.fold in (None, folds[p.id])]

    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "predictions.jsonl"
    done = {row["instance_id"] for row in _rows(file)}
    bounds = Bounds(seconds=options.seconds, test_seconds=300.0)
    with ThreadPoolExecutor(options.jobs) as pool, file.open("a") as out:
        left = [pool.submit(_predicted, p, bounds) for p in chosen if p.id not in done]
        for future in as_completed(left):
            row = future.result()
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(_line(row), flush=True)
    rows = [row for row in _rows(file) if row["instance_id"] in {p.id for p in chosen}]
    print(f"{len(rows)} issues, {sum(bool(row['model_patch']) for row in rows)} predictions")
    if options.grade:
        _grade(rows, options.out, options.dataset, options.data)


def _predicted(problem: IssueProblem, bounds: Bounds) -> dict[str, Any]:
    start = time.monotonic()
    row: dict[str, Any] = {
        "instance_id": problem.id, "model_name_or_path": "snippet", "model_patch": "",
    }  # fmt: skip
    assert problem.recipe is not None
    try:
        base = prepare(problem.repo, problem.base_commit, problem.recipe, problem.id)
        found = asyncio.run(snippet(problem, lambda: open_local(base), ask=None, bounds=bounds))
    except WorkspaceUnavailable as error:
        return {**row, "notes": [f"unavailable: {error}"]}
    made = found.prediction
    return {
        **row, "model_patch": made.patch, "confidence": made.confidence, "notes": made.notes,
        "steps": found.steps, "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    sign = f"{row.get('confidence', 0):.2f}" if row["model_patch"] else "   -"
    return f"{row['instance_id']:<34} {sign} {row.get('seconds', 0):6.0f} s  {row['notes'][0]}"


def _grade(rows: list[dict[str, Any]], out: Path, dataset: str, data: str | None) -> None:
    made = [row for row in rows if row["model_patch"]]
    if not made:
        return
    file = out / "graded.jsonl"
    names = ("instance_id", "model_name_or_path", "model_patch")
    file.write_text("".join(json.dumps({n: row[n] for n in names}) + "\n" for row in made))
    ids = ",".join(row["instance_id"] for row in made)
    folder = out / f"grades-{time.time_ns()}"
    command = [sys.executable, "-m", "refute", "grade", dataset, str(file), "--ids", ids]
    command += ["--run", str(folder), *(["--data", data] if data else [])]
    subprocess.run(command, check=False)
    grades = {
        row["id"]: row for path in folder.glob("*.jsonl") for row in _rows(path) if "id" in row
    }
    right = 0
    for row in sorted(made, key=lambda row: -row["confidence"]):
        status = grades.get(row["instance_id"], {}).get("status", "?")
        right += status == "success"
        print(f"{status:<16} {_line(row)}")
    print(
        f"{right} of {len(made)} predictions right; {right / len(rows):.1%} of {len(rows)} issues"
    )


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    main()
