"""The reproducer without a model on issues that it was not written for, rule by rule.

    python benchmarks/fresh_issues.py LIST.jsonl OUT --python FILE [--jobs 2] [--seconds 300]

LIST.jsonl has a line for each issue: `{"id", "repo", "base", "fix", "issue"}`. `repo` is a clone,
`base` and `fix` are commits (before the fix, and the fix), `issue` is a text file beside the list.
The texts are other people's: keep the list to yourself. FILE is an interpreter that has what the
projects need to be imported; the projects themselves are imported from their tree (or its `src`).

A prediction is right when it fails before the fix and passes with it, as `refute grade` judges. The
fix is split into code and tests; nothing of it is seen by the reproducer. Deal the list to two
halves by repository before you look at a result: tune on one, report the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from refute.workspace.patches import split_tests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("list", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="for one issue")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = options.out / "rows.jsonl"
    issues = [json.loads(line) for line in options.list.read_text().splitlines() if line.strip()]
    made = [_row(issue, options.list.parent, options.python.absolute()) for issue in issues]
    rows.write_text("".join(json.dumps(row) + "\n" for row in made))
    command = [sys.executable, str(Path(__file__).with_name("snippet.py")), str(options.out)]
    command += ["--dataset", str(rows), "--jobs", str(options.jobs)]
    subprocess.run([*command, "--set", f"seconds={options.seconds}", "--grade"], check=True)
    _by_rule(options.out)


def _row(issue: dict[str, str], folder: Path, python: Path) -> dict[str, Any]:
    """An issue as a row of a dataset."""
    command = ["git", "-C", issue["repo"], "diff", "--binary", issue["base"], issue["fix"]]
    diff = subprocess.run(command, check=True, capture_output=True).stdout
    tests, code = split_tests(diff.decode("utf-8", "surrogateescape"))
    return {
        "instance_id": issue["id"],
        "repo": issue["repo"],
        "base_commit": issue["base"],
        "problem_statement": (folder / issue["issue"]).read_text(),
        "patch": code,
        "test_patch": tests,
        "environment": {
            "interpreter": str(python),
            "editable": False,
            "env": {"PYTHONPATH": "<work tree>/src:<work tree>"},
            "test_command": "python -m pytest -p no:cacheprovider",
        },
    }


def _by_rule(out: Path) -> None:
    """A line for each rule: what it says of its predictions without names, right and all."""
    predictions = {row["instance_id"]: row for row in _rows(out / "predictions.jsonl")}
    last = max(out.glob("grades-*"), default=None)
    grades = [row for path in last.glob("*.jsonl") for row in _rows(path)] if last else []
    rules: dict[str, list[bool]] = defaultdict(list)
    for grade in grades:
        if "id" in grade:
            rule = str(predictions[grade["id"]]["notes"][0]).partition(":")[0]
            rules[rule].append(grade["status"] == "success")
    for rule, right in sorted(rules.items(), key=lambda pair: -len(pair[1])):
        print(f"{sum(right)} of {len(right)}  {rule}")


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


if __name__ == "__main__":
    main()
