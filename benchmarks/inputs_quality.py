"""How good proposed inputs are, and how often findings without an oracle are false alarms.

    python benchmarks/inputs_quality.py [--data DIR] [--inputs 100]

- attack: share of HumanEvalFix's faulty programs that differ from the reference on one of the first
  20, and of all, proposed inputs on which the reference returns (wild ones left out);
- false alarms: share of right programs with a finding; recall: share of faulty ones with a finding.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

from refute import datasets
from refute.function.examples import read_examples
from refute.function.search.crashes import find_crashes
from refute.function.search.inputs import Tier, propose_inputs
from refute.problems import FunctionProblem, Invocation
from refute.sandbox import Limits, Program, Returned
from refute.sandbox.equality import equal
from refute.sandbox.local import LocalSandbox

LIMITS = Limits(cpu=0.3, stop_after=3)


def inputs(problem: FunctionProblem, count: int) -> list[Invocation]:
    """The known inputs of a problem and the first proposals, wild ones left out."""
    tests = read_examples(problem.description, problem.entry_point, code=problem.code)
    known = [test.call for test in [*problem.tests, *tests]]
    fresh = islice(propose_inputs(problem, known, seed=0), count)
    return known + [one.call for one in fresh if one.tier is not Tier.WILD]


def attacked(box: LocalSandbox, problem: FunctionProblem, reference: str, count: int) -> int | None:
    """Position of the first input on which the faulty program differs; None when none does."""
    calls = inputs(problem, count)
    right = box.run(Program(reference, problem.entry_point), calls, LIMITS)
    wrong = box.run(Program(problem.code, problem.entry_point), calls, LIMITS)
    for index, (one, other) in enumerate(zip(right, wrong, strict=True)):
        if isinstance(one, Returned) and not (
            isinstance(other, Returned) and equal(other.value, one.value)
        ):
            return index
    return None


def alarmed(box: LocalSandbox, problem: FunctionProblem, count: int) -> bool:
    calls = inputs(problem, count)
    outcomes = box.run(Program(problem.code, problem.entry_point), calls, LIMITS)
    return bool(find_crashes(problem, calls, outcomes))


def main() -> None:
    parser = argparse.ArgumentParser(description="Quality of proposed inputs and of findings.")
    default = os.environ.get("REFUTE_DATA") or Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--inputs", type=int, default=100)
    options = parser.parse_args()
    print(f"data: {options.data}, inputs a problem: {options.inputs}")
    with LocalSandbox() as box:
        faulty = list(datasets.load("he-fix", data=options.data))
        first = [attacked(box, i.problem, i.key.reference, options.inputs) for i in faulty]
        near = sum(index is not None and index < 20 for index in first)
        far = sum(index is not None for index in first)
        print(f"he-fix attacked: {near} within 20 inputs, {far} in all, of {len(faulty)}")
        caught = sum(alarmed(box, item.problem, options.inputs) for item in faulty)
        print(f"he-fix findings on faulty programs: {caught} of {len(faulty)}")
        for name in ("he-fix", "humaneval+", "mbpp+"):
            items = list(datasets.load(name, data=options.data, visible_tests=1))
            right = [replace(item.problem, code=item.key.reference) for item in items]
            alarms = sum(alarmed(box, problem, options.inputs) for problem in right)
            print(f"{name} false alarms: {alarms} of {len(right)} right programs")


if __name__ == "__main__":
    main()
