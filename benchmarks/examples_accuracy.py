"""How many examples the reader finds in real descriptions, and how many of them are right.

    python benchmarks/examples_accuracy.py [--data DIR] [--wrong]

The judge is each problem's reference solution, run in the sandbox. Two views of a description: the
raw prompt (HumanEval+, MBPP+: with its header, escapes as in the source) and the clean docstring of
HumanEvalFix. A reading is right when the reference returns (or raises) what it says. `--wrong`
prints each wrong one: what remains are errors of the descriptions themselves.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refute.core.problems import Trust, UnitTest
from refute.function.examples import read_examples
from refute.sandbox import Limits, Outcome, Program, Raised, Returned
from refute.sandbox.equality import equal
from refute.sandbox.local import LocalSandbox

Row = tuple[str, str, str, str, str]
"""Identifier, description, entry point, code under test, reference."""


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def sets(data: Path) -> Iterator[tuple[str, list[Row]]]:
    """Name and rows of each view; files that are absent are skipped with a line saying so."""
    for name, start in (
        ("HumanEval+ prompts", "HumanEvalPlus.jsonl"),
        ("MBPP+ prompts", "MbppPlus.jsonl"),
    ):
        for path in sorted(data.glob(start + "*"))[:1]:
            yield (
                name,
                [
                    (
                        row["task_id"],
                        row["prompt"],
                        row["entry_point"],
                        row["prompt"] + "    pass\n"
                        if "def " in row["prompt"]
                        else row["canonical_solution"],
                        (row["prompt"] if "def " in row["prompt"] else "")
                        + row["canonical_solution"],
                    )
                    for row in rows(path)
                ],
            )
    for path in sorted(data.glob("humanevalpack-python*"))[:1]:
        yield (
            "HumanEvalFix docstrings",
            [
                (
                    row["task_id"],
                    row["docstring"],
                    row["entry_point"],
                    row["declaration"] + row["buggy_solution"],
                    row["declaration"] + row["canonical_solution"],
                )
                for row in rows(path)
            ],
        )


def right(test: UnitTest, outcome: Outcome) -> bool:
    if test.raises is not None:
        return isinstance(outcome, Raised) and outcome.type == test.raises
    return isinstance(outcome, Returned) and equal(outcome.value, test.expected)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = os.environ.get("REFUTE_DATA") or Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--wrong", action="store_true", help="print every wrong reading")
    options = parser.parse_args()
    print(f"data: {options.data}")
    with LocalSandbox() as box:
        for name, problems in sets(options.data):
            having = total = correct = stated = stated_correct = hints = 0
            for task, description, entry_point, code, reference in problems:
                tests = read_examples(description, entry_point, code=code)
                sure = [test for test in tests if test.trust < Trust.HINT]
                hints += len(tests) - len(sure)
                having += bool(sure)
                program = Program(reference, entry_point)
                outcomes = box.run(program, [test.call for test in sure], Limits(cpu=5.0))
                for test, outcome in zip(sure, outcomes, strict=True):
                    good = right(test, outcome)
                    total, correct = total + 1, correct + good
                    stated += test.trust is Trust.STATED
                    stated_correct += good and test.trust is Trust.STATED
                    if options.wrong and not good:
                        said = f"{test.call} = {test.expected!r}"
                        print(f"  {task} {test.source}: {said}; {outcome}")
            worded, worded_correct = total - stated, correct - stated_correct
            print(
                f"{name}: {having} of {len(problems)} problems have one; {total} tests "
                f"({total / max(having, 1):.2f} a problem), right {correct / max(total, 1):.2%} "
                f"[stated {stated_correct}/{stated}, worded {worded_correct}/{worded}], "
                f"hints {hints}"
            )


if __name__ == "__main__":
    main()
