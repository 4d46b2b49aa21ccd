"""UTDebug with models that know the answer, or never do: what the method itself can reach.

    python benchmarks/oracle.py [he-fix|mbpp-fix-hard] [--data DIR] [--limit N] [--ids 1,2]

Two models are put in place of a language model. The *oracle* answers from the reference code: it
names inputs on which code under test and reference differ, their right outputs, and the reference
as the fix. The *liar* names the same inputs with outputs that are wrong, and edits that return
something else each time. Wanted, and checked (exit status 1 where it does not hold):

- oracle: every expected output is right, and at least 99 % of the programs pass all private tests;
- liar: an edit never makes the code fail a certain test (one that the description states formally)
  that it passed before.

This script sees the answer keys; the methods see the problems only, through the models' answers.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from refute.core.methods import Context
from refute.core.problems import UnitTest
from refute.core.registry import METHODS
from refute.function.contract import MethodResult
from refute.function.formatting import call_source, value_source
from refute.function.llm.execution import certain_tests, try_code
from refute.function.llm.options import Options
from refute.models.contract import Completion, Message, Sampling, Tally
from refute.sandbox import Limits, NotRun, Program, Sandbox
from refute.sandbox.equality import matches
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool
from refute.source.literals import NotLiteral, source_of
from refute.testing.models import ScriptedModel
from refute_lab.benches.grade import expected_outputs, grade_program, grade_tests
from refute_lab.datasets import Item, load

FENCE = "```"
DRAWN = Sampling()
MOST = 120
"""Private inputs that are looked at."""
INPUTS = 9
"""Inputs that a model knows of; after the last it begins again with the first."""


@dataclass(frozen=True)
class Knowledge:
    """What a model of this script knows of one problem."""

    calls: tuple[tuple[str, str], ...]
    """Calls as source, and the reference's output, first those that the code gets wrong."""
    reference: str
    entry_point: str


class Asker:
    """Asks a scripted model, without a cache."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.tally = Tally()

    async def ask(
        self, messages: Sequence[Message], *, n: int = 1, first: int = 0, sampling: Sampling = DRAWN
    ) -> list[Completion]:
        self.tally.samples += n
        return await self.model.generate(messages, n=n, sampling=sampling, first=first)


def known(item: Item, box: Sandbox) -> Knowledge:
    """What the reference says about the problem's private inputs."""
    problem, key = item.problem, item.key
    truth = expected_outputs(key, box)
    # Code that never ends, or eats memory, would be run on hundreds of inputs.
    limits = Limits(cpu=0.3, memory=256 << 20, stop_after=3)
    calls, stated = truth.calls[:MOST], truth.expected[:MOST]
    outcomes = box.run(Program(problem.code, problem.entry_point), calls, limits)
    # Some private inputs violate the task's contract (HumanEval/116): no test of a method's.
    tests = [UnitTest(call) for call in calls]
    graded = grade_tests(tests, problem, key, box, limits=limits).verdicts
    invalid = [call for call, verdict in zip(calls, graded, strict=True) if not verdict.valid]
    right: list[tuple[str, str]] = []
    wrong: list[tuple[str, str]] = []
    for call, expected, outcome in zip(calls, stated, outcomes, strict=True):
        if isinstance(outcome, NotRun) or call in invalid:
            continue
        try:
            row = call_source(call, problem.entry_point), source_of(expected.value)
            source_of(call.args)
        except NotLiteral:
            continue
        if len(row[0]) + len(row[1]) < 20_000:
            (right if matches(outcome, expected) else wrong).append(row)
    return Knowledge((*wrong, *right)[:INPUTS], key.reference, key.entry_point)


def oracle(knowledge: Knowledge) -> Callable[[Sequence[Message], int], str]:
    """A model that is always right."""
    outputs = dict(knowledge.calls)

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if is_request(question):
            call, output = knowledge.calls[number % len(knowledge.calls)]
            return unit_test(call, output)
        if question.startswith("Now the output"):
            return f"Output: {FENCE}{outputs[asked_call(question)]}{FENCE}"
        return f"{FENCE}python\n{knowledge.reference}\n{FENCE}"

    return answer


def liar(knowledge: Knowledge) -> Callable[[Sequence[Message], int], str]:
    """A model that is never right, but agrees with itself: its votes are unanimous."""

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if is_request(question):
            call, _ = knowledge.calls[number % len(knowledge.calls)]
            return unit_test(call, lie(call))
        if question.startswith("Now the output"):
            return f"Output: {FENCE}{lie(asked_call(question))}{FENCE}"
        # An edit that satisfies the wrong test that was shown: the temptation to overfit.
        shown = question.partition("Expected: ")[2].splitlines()[0]
        name = knowledge.entry_point
        return f"{FENCE}python\ndef {name}(*args, **kwargs):\n    return {shown}\n{FENCE}"

    return answer


def lie(call: str) -> str:
    """The same wrong value for all calls, so that an edit can satisfy the whole suite."""
    return value_source({"never": ["right"]})


def is_request(question: str) -> bool:
    return "\n## Unit Test\n" in question


def asked_call(question: str) -> str:
    found = re.search(rf"{FENCE}python\n(.*?)\n{FENCE}", question, re.S)
    assert found is not None
    return found[1]


def unit_test(call: str, output: str) -> str:
    return f"Arguments: {FENCE}{call}{FENCE}\n\n### Output\nOutput: {FENCE}{output}{FENCE}"


@dataclass(frozen=True)
class Verdict:
    """One problem: what came of it with one of the models."""

    id: str
    tests: int
    accurate: int
    attacks: int
    passed: bool
    """The last version of the code passes all private tests."""
    broken: int
    """Certain tests that the code under test passes and the last version does not."""
    samples: int
    saved: int


async def debugged(
    item: Item, model: str, knowledge: Knowledge, pool: SandboxPool, options: Options
) -> tuple[MethodResult, int]:
    """What UTDebug makes of a problem with one of the models, and the samples it asked for."""
    make = {"oracle": oracle, "liar": liar}[model]
    asker = Asker(ScriptedModel(make(knowledge)))
    ctx = Context(model=asker, sandbox=pool)
    result = await METHODS.get("utgen")(item.problem, ctx=ctx, options=options)
    return result, asker.tally.samples


async def check(
    item: Item, model: str, box: Sandbox, pool: SandboxPool, options: Options
) -> Verdict:
    """Debug one problem and grade what came of it."""
    knowledge = known(item, box)
    result, samples = await debugged(item, model, knowledge, pool, options)
    last = result.candidates[0].code if result.candidates else item.problem.code
    grade = grade_tests(result.derived, item.problem, item.key, box)
    tests, name = certain_tests(item.problem), item.problem.entry_point
    before = await try_code(item.problem.code, name, tests, pool)
    after = await try_code(last, name, tests, pool)
    return Verdict(
        item.problem.id,
        len(result.derived),
        grade.accurate,
        grade.attacks,
        grade_program(last, item.key, box).passed,
        len(after.breaks(before)),
        samples,
        0 if result.trace is None else result.trace.saved,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dataset", nargs="?", default="he-fix")
    parser.add_argument("--data")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--ids")
    arguments = parser.parse_args()
    ids = arguments.ids.split(",") if arguments.ids else None
    items = load(arguments.dataset, data=arguments.data, ids=ids, limit=arguments.limit)
    options = Options()
    print(f"{arguments.dataset}: {len(items)} problems, {options}")
    failed = False
    with LocalSandbox() as box, SandboxPool(2) as pool:
        for model in ("oracle", "liar"):
            start = time.monotonic()
            verdicts = [asyncio.run(check(item, model, box, pool, options)) for item in items]
            tests = sum(v.tests for v in verdicts)
            accurate = sum(v.accurate for v in verdicts)
            passed = sum(v.passed for v in verdicts)
            broken = [v.id for v in verdicts if v.broken]
            print(
                f"{model}: {tests} tests, {sum(v.attacks for v in verdicts)} attack, "
                f"{accurate} accurate; {passed} of {len(verdicts)} programs pass; "
                f"{len(broken)} lost a certain test; {sum(v.samples for v in verdicts)} samples, "
                f"{sum(v.saved for v in verdicts)} saved; {time.monotonic() - start:.0f} s"
            )
            for v in verdicts:
                if v.broken or (model == "oracle" and not (v.passed and v.accurate == v.tests)):
                    print(f"  {v}")
            if model == "oracle":
                failed |= accurate < tests or passed < 0.99 * len(verdicts)
            failed |= bool(broken)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
