"""Methods that fix a function beside each other, with a real model that is weak.

    python benchmarks/weak_model.py OUT [--run] [--base-url URL] [--model openai:NAME] [--blocks 2]
        [--seed 15] [--datasets mbpp-fix-hard,he-fix] [--methods codet,council]

With `--run` the methods are run first, with `refute bench`: each on the same ten rows of each
dataset, then on the next ten, `--blocks` times, so that it can be stopped after any of them; the
same command goes on. The rows are drawn by `--seed`. Without, the table of what OUT holds is
printed: code accuracy on the rows that all methods have, with Wilson's interval, tokens, and the
last method beside each of the others (McNemar's exact test).

Tokens: characters / 4 of what was asked, once for all samples of a request, and of each answer (the
`usage` of llama.cpp's server counts one of a request's answers). They are of the runs that were
recorded.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from refute_lab.benches import RECORDS, FunctionRecord, read_grade
from refute_lab.datasets import load
from refute_lab.figures import mcnemar, wilson
from refute_lab.runs import read_run

BLOCK = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--base-url", default="http://127.0.0.1:8811/v1")
    parser.add_argument("--model", default="openai:qwen")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--datasets", default="mbpp-fix-hard,he-fix")
    parser.add_argument("--methods", default="prompted,codet,regenerate:20,council")
    asked = parser.parse_args()
    datasets, methods = asked.datasets.split(","), asked.methods.split(",")
    if asked.run:
        drawn = {dataset: rows_of(dataset, asked.seed) for dataset in datasets}
        for block in range(asked.blocks):
            for dataset in datasets:
                ids = drawn[dataset][block * BLOCK : (block + 1) * BLOCK]
                for method in methods if ids else ():
                    bench(asked, dataset, method, block, ids)
    for dataset in datasets:
        table(asked.out, dataset, methods)


def rows_of(dataset: str, seed: int) -> list[str]:
    ids = sorted(item.problem.id for item in load(dataset))
    random.Random(seed).shuffle(ids)
    return ids


def folder(out: Path, dataset: str, block: int | str, method: str) -> Path:
    return out / f"{dataset}-{block}-{method.replace(':', '')}"


def bench(
    asked: argparse.Namespace, dataset: str, method: str, block: int, ids: Sequence[str]
) -> None:
    """Run a method on ten rows, or go on with it."""
    run = folder(asked.out, dataset, block, method)
    name, _, solutions = method.partition(":")
    command = ["refute", "bench", dataset, "--run", str(run), "--base-url", asked.base_url]
    if not (run / "journal.jsonl").exists():
        command += ["--ids", ",".join(ids), "--method", name, "--model", asked.model]
        command += ["--set", "max_tokens=400"]
        command += ["--set", f"solutions={solutions}"] if solutions else []
    command += ["--no-cache", "--record", f"{run}.answers.jsonl", "--timeout", "1500"]
    subprocess.run([*command, "--concurrency", "2", "--jobs", "2"], stdout=sys.stderr, check=True)


def table(out: Path, dataset: str, methods: Sequence[str]) -> None:
    """What the runs of a dataset gave, on the rows that all of `methods` have."""
    right: dict[str, dict[str, bool]] = {}
    tests: dict[str, list[int]] = {}
    tokens: dict[str, list[int]] = {}
    for method in methods:
        right[method], tests[method], tokens[method] = {}, [0, 0], [0, 0]
        for run in sorted(out.glob(folder(Path(), dataset, "*", method).name)):
            graded = [one for one in read_run(run, RECORDS)[1] if isinstance(one, FunctionRecord)]
            for one in graded:
                grade = read_grade(one)
                right[method][grade.problem] = grade.passed
                tests[method][0] += grade.tests.accurate
                tests[method][1] += len(grade.tests.verdicts)
            answers = Path(f"{run}.answers.jsonl")
            if answers.exists():
                tokens[method][0] += tokens_in(answers)
                tokens[method][1] += len(graded)
    shared = sorted(set.intersection(*(set(found) for found in right.values())))
    if not shared:
        return
    print(f"\n{dataset}: {len(shared)} rows")
    print("| method | code accuracy | tokens a problem | tests that are right |")
    print("|---|---|---|---|")
    for method in methods:
        passed = sum(right[method][row] for row in shared)
        around = wilson(passed, len(shared))
        bounds = f"{100 * around.low:.0f} to {100 * around.high:.0f}"
        spent, rows = tokens[method]
        print(
            f"| {method} | {100 * passed / len(shared):.1f} % ({bounds}) "
            f"| {f'{spent / rows:,.0f}' if rows else 'not recorded'} "
            f"| {tests[method][0]} of {tests[method][1]} |"
        )
    *others, last = methods
    for other in others:
        mine = sum(right[last][row] and not right[other][row] for row in shared)
        its = sum(right[other][row] and not right[last][row] for row in shared)
        print(f"{last} alone right {mine}, {other} alone {its}: p = {mcnemar(mine, its):.3f}")


def tokens_in(answers: Path) -> int:
    """Of a recording, as the module says."""
    asked: dict[str, int] = {}
    answered = 0
    for line in answers.read_text("utf-8").splitlines():
        held = json.loads(line)
        request = json.dumps([held["messages"], held["sampling"]])
        asked[request] = sum(len(message["content"]) for message in held["messages"])
        answered += len(held["completion"]["text"])
    return (sum(asked.values()) + answered) // 4


if __name__ == "__main__":
    main()
