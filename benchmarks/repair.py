"""How many problems the search engine repairs, how its choice ranks, how right its tests are.

    python benchmarks/repair.py he-fix [--data DIR] [--budget 10] [--fold 0|1] [--ids 1,2] [--diff]
    python benchmarks/repair.py mbpp-fix-hard --visible 1
    python benchmarks/repair.py mbpp-fix-hard --failing 3

Prints one line a problem and the totals of each of two folds (rows alternate in pairs), so that an
improvement that only one fold shows is seen for what it is. `--failing N` gives N right failing
tests, as a perfect generator would (`refute_lab.benches.grade.with_failing_tests`). Outcomes: FIRST
(the first choice passes all private tests), TOP3, WRONG, ABSTAIN (a failing test is known but no
fix), SILENT (no trusted test fails, and nothing is proposed from the description alone). `--most N`
tries N candidates a search whatever the time: figures that a busy machine does not change.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import time
from collections import Counter
from statistics import median

from refute.core.problems import Trust
from refute.function.search.engine import search
from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import (
    expected_outputs,
    grade_program,
    grade_tests,
    with_failing_tests,
)
from refute_lab.datasets import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dataset")
    parser.add_argument("--data")
    parser.add_argument("--visible", type=int, default=0)
    parser.add_argument("--failing", type=int, default=0)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--most", type=int, help="candidates, instead of the budget")
    parser.add_argument("--fold", type=int)
    parser.add_argument("--ids")
    parser.add_argument("--diff", action="store_true", help="show the edits")
    options = parser.parse_args()
    ids = options.ids.split(",") if options.ids else None
    items = load(options.dataset, data=options.data, visible_tests=options.visible, ids=ids)
    print(vars(options), f"{len(items)} problems", flush=True)
    totals: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    seconds: list[float] = []
    with LocalSandbox() as box:
        for number, item in enumerate(items):
            fold = (number // 2 + number) % 2
            if options.fold not in (None, fold):
                continue
            problem, key = item.problem, item.key
            truth = expected_outputs(key, box)
            if options.failing:
                problem = with_failing_tests(problem, key, box, options.failing, truth=truth)
            start = time.monotonic()
            result = search(problem, box=box, budget=options.budget, max_candidates=options.most)
            seconds.append(time.monotonic() - start)
            right = [grade_program(c.code, key, box, truth=truth).passed for c in result.candidates]
            derived = [f.test for f in result.failing if f.test.trust == Trust.PREDICTED]
            graded = grade_tests(derived, problem, key, box)
            verdict = (
                "FIRST"
                if right and right[0]
                else "TOP3"
                if any(right)
                else "WRONG"
                if right
                else "ABSTAIN"
                if result.failing
                else "SILENT"
            )
            count = totals[fold]
            count[verdict] += 1
            count[result.state] += 1
            count[f"{result.state} right"] += bool(right and right[0])
            count["n"] += 1
            count["derived"] += len(derived)
            count["derived right"] += graded.both
            edits = "; ".join(
                f"{'+' if ok else '-'} {' & '.join(c.edits)} ({c.score:.2f})"
                for c, ok in zip(result.candidates, right, strict=True)
            )
            line = (
                f"{problem.id:14} {problem.entry_point[:22]:22} {verdict:8} {result.state:8}"
                f" {len(result.given)} tests, {result.tried:6} tried, {seconds[-1]:5.1f} s,"
                f" derived {graded.both}/{len(derived)}  {edits} {' '.join(result.notes)}"
            )
            print(line, flush=True)
            if options.diff:
                for candidate in result.candidates:
                    print(difference(problem.code, candidate.code), flush=True)
    for fold, count in totals.items():
        show(f"fold {fold}", count)
    show("all", totals[0] + totals[1])
    print(f"seconds: median {median(seconds):.2f}, worst {max(seconds):.1f}")


def difference(before: str, after: str) -> str:
    """The changed lines, formatting left out."""
    sides = [ast.unparse(ast.parse(text)).splitlines() for text in (before, after)]
    lines = difflib.unified_diff(*sides, lineterm="", n=0)
    return "\n".join(f"    {x}" for x in lines if x[:3] not in ("---", "+++") and x[0] in "+-")


def show(name: str, count: Counter[str]) -> None:
    n = max(1, count["n"])
    top3 = count["FIRST"] + count["TOP3"]
    wrong = count["TOP3"] + count["WRONG"]
    print(
        f"{name:7} n={n}  first {count['FIRST'] / n:.1%}  top3 {top3 / n:.1%}  "
        f"wrong first {wrong / n:.1%}  abstained {count['ABSTAIN'] / n:.1%}  "
        f"silent {count['SILENT'] / n:.1%}  derived right "
        f"{count['derived right']}/{count['derived']}  of fixed right "
        f"{count['fixed right']}/{count['fixed']}  of proposed first right "
        f"{count['proposed right']}/{count['proposed']}"
    )


if __name__ == "__main__":
    main()
