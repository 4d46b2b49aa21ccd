"""Best of N: how often the judge puts the right program first.

    python benchmarks/judging.py [he-fix] [--data DIR] [--limit N] [-n 8] [--seed 0]

For each problem the reference is hidden among n - 1 mutants of it (single edits that fail at least
one private test), in an order drawn from the seed. Compared: a pick at random, the judge without a
model, and the judge with a model that answers outputs from the reference. This script sees the
answer keys; the judge sees problem and candidates.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from refute.datasets import Item, load
from refute.function.formatting import call_source, describe
from refute.function.grade import grade_program
from refute.function.judge import by_behaviour, by_tests, judge_candidates
from refute.function.llm.options import Options
from refute.function.search.edit import applied
from refute.function.search.facts import gather
from refute.function.search.inputs import propose_inputs
from refute.function.search.mutants import singles
from refute.models.contract import Message
from refute.models.scripted import ScriptedModel
from refute.models.session import Session
from refute.problems import Expression
from refute.sandbox import Limits, Program, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool

TRIED = 60


def mutants(item: Item, count: int, box: Sandbox, rng: Random) -> list[str]:
    """Single edits of the reference that fail a private test, likely ones."""
    tree = ast.parse(item.key.reference)
    edits = singles(tree, gather(tree, item.problem.description), lambda stmts: 0.0)[:TRIED]
    rng.shuffle(edits)
    found: list[str] = []
    for edit in edits:
        with applied([edit]):
            code = ast.unparse(tree) + "\n"
        if (
            len(found) < count
            and code not in found
            and not grade_program(code, item.key, box).passed
        ):
            found.append(code)
    return found


def oracle(item: Item, box: Sandbox) -> Callable[[Sequence[Message], int], str]:
    """Proposes inputs of the search engine; its outputs are the reference's."""
    name = item.problem.entry_point
    problem = replace(item.problem, code=item.key.reference)
    stream = propose_inputs(problem, [], seed=0)
    calls = [call_source(one.call, name) for one, _ in zip(stream, range(40), strict=False)]

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "Now the output" not in question:
            return f"Arguments: ```{calls[(len(question) + number) % len(calls)]}```"
        found = re.search(r"```python\n(.*?)\n```", question, re.S)
        assert found is not None
        program = Program(item.key.reference, name)
        [outcome] = box.run(program, [Expression(found[1])], Limits(cpu=0.5))
        return f"Output: ```{describe(outcome)}```"

    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dataset", nargs="?", default="he-fix")
    parser.add_argument("--data")
    parser.add_argument("--limit", type=int)
    parser.add_argument("-n", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = Random(arguments.seed)
    chance, right, rows = 0.0, {"none": 0, "oracle": 0}, 0
    with LocalSandbox() as box, SandboxPool(2) as pool:
        for item in load(arguments.dataset, data=arguments.data, limit=arguments.limit):
            candidates = [item.key.reference, *mutants(item, arguments.n - 1, box, rng)]
            if len(candidates) < 2:
                continue
            rng.shuffle(candidates)
            # The body of the code under test plays no part: the problem is posed without it.
            problem = replace(item.problem, code=candidates[0])
            ask = Session(ScriptedModel(oracle(item, box))).asker(item.problem.id)
            for name, by in (
                ("none", by_behaviour()),
                ("oracle", by_tests(ask, options=Options(), seed=0)),
            ):
                found = asyncio.run(judge_candidates(problem, candidates, by=by, box=pool, seed=0))
                right[name] += candidates[found.best] == item.key.reference
            chance += 1 / len(candidates)
            rows += 1
    print(f"{arguments.dataset}: {rows} problems, at most {arguments.n} candidates each")
    for name, count in (("random", chance), *right.items()):
        print(f"{name:8} {count / max(rows, 1):.1%}")


if __name__ == "__main__":
    main()
