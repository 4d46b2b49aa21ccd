"""Methods that fix a function beside each other at the tokens that they spend, with a weak model.

    python benchmarks/equal_tokens.py he-fix mbpp-fix-hard [--limit N] [--seed 0] [--ability 0.6]
                                      [--methods prompted,regenerate,codet,council]

The model is made up, of a strength that is stated (`weak_model.py` asks a real one). For each
problem an ability is drawn from a beta distribution with mean `--ability`; with that probability
the model *reads* the task rightly (it means the reference), else it means one of a few wrong
programs (single edits of the reference that fail a private test, and the code under test), the
first of them most often: wrong readings repeat themselves, as a model's do.

- A program is the one that it means.
- An output is what the program that it means returns, or, with the chance of a slip, something
  else; where the code is in sight, what the code returns with another chance.
- An input is one of a pool of the search engine's; asked to break the code it finds one that does
  with a further chance.
- An edit is the program that it means after a chance that depends on whether the test that it is
  shown is right; else something wrong.

Tokens are counted as a server does: a prompt once for all its samples (4 characters a token), and
for each answer the length that such answers have (`LENGTHS`). This is a simulation: it says which
method uses the same answers better, not how good a real model is. The script sees the answer keys;
the methods see the problems, and the model's answers.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from judging import mutants

from refute.datasets import Item, load
from refute.figures import mcnemar
from refute.function.formatting import call_source, describe, expected_source
from refute.function.grade import grade_program
from refute.function.oracle import expected_outputs
from refute.function.search.inputs import propose_inputs
from refute.methods import Context
from refute.models.contract import Completion, Message, Sampling, Tally, Usage
from refute.problems import Expression, UnitTest
from refute.registry import METHODS
from refute.sandbox import Limits, Program, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool

LENGTHS = {"program": 350, "edit": 400, "test": 450, "vote": 300, "list": 400}
"""Tokens of an answer of a 7B instruct model with its reasoning, by kind of the question."""
SLIP, SWAYED, FINDS = 0.15, 0.2, 0.2
"""Chance of a slip in an output, of believing the code in sight, and of finding an attack."""
TAKES_RIGHT, TAKES_WRONG = 0.6, 0.15
"""Of the ability: how often an edit succeeds after a right test, and after a wrong one."""
METHODS_COMPARED = "prompted,hybrid,regenerate,regenerate:20,codet,council"
FENCE = "```"
LIMITS = Limits(cpu=0.3, memory=256 << 20, stop_after=3)
DRAWN = Sampling()


@dataclass
class WeakModel:
    """One problem's answers; an `Asker`."""

    item: Item
    box: Sandbox
    rng_key: str
    ability: float
    wrong: Sequence[str]
    calls: Sequence[str]
    attacks: Sequence[str]
    tally: Tally
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    async def ask(
        self, messages: Sequence[Message], *, n: int = 1, first: int = 0, sampling: Sampling = DRAWN
    ) -> list[Completion]:
        text = "\n".join(message.content for message in messages)
        made = []
        for number in range(first, first + n):
            rng = random.Random(f"{self.rng_key} {text} {number} {sampling.seed}")
            kind, answer = self.answer(messages, rng)
            prompt = len(text) // 4 if number == first else 0
            made.append(Completion(answer, usage=Usage(prompt, LENGTHS[kind])))
            self.tally.prompt_tokens += prompt
            self.tally.completion_tokens += LENGTHS[kind]
            self.tally.samples += 1
        return made

    def answer(self, messages: Sequence[Message], rng: random.Random) -> tuple[str, str]:
        question = messages[-1].content
        seen = any(self.item.problem.code.strip() in message.content for message in messages)
        if question.startswith("Now the output"):
            call = re.findall(r"```python\n(.*?)\n```", question, re.S)[0]
            return "vote", f"Output: {FENCE}{self.output(call, rng, seen)}{FENCE}"
        if "calls of it that together" in question:
            chosen = rng.sample(self.calls, min(12, len(self.calls)))
            return "list", f"{FENCE}python\n" + "\n".join(chosen) + f"\n{FENCE}"
        if "one unit test" in question:
            finds = seen and self.attacks and rng.random() < FINDS
            call = rng.choice(self.attacks if finds else self.calls)
            told = self.output(call, rng, seen)
            return "test", f"Arguments: {FENCE}{call}{FENCE}\nOutput: {FENCE}{told}{FENCE}"
        if len(messages) == 1:
            return "program", f"{FENCE}python\n{self.meant(rng)}\n{FENCE}"
        return "edit", f"{FENCE}python\n{self.edit(question, rng)}\n{FENCE}"

    def meant(self, rng: random.Random) -> str:
        """The program that one reading of the task means."""
        if rng.random() < self.ability or not self.wrong:
            return self.item.key.reference
        weights = [1 / (1 + rank) for rank in range(len(self.wrong))]
        return rng.choices(self.wrong, weights)[0]

    def output(self, call: str, rng: random.Random, seen: bool) -> str:
        if rng.random() < SLIP:
            call = rng.choice(self.calls)
        code = self.meant(rng)
        if seen and rng.random() < SWAYED:
            code = self.item.problem.code
        return self.ran(code, call)

    def ran(self, code: str, call: str) -> str:
        if (code, call) not in self.known:
            program = Program(code, self.item.problem.entry_point)
            [outcome] = self.box.run(program, [Expression(call)], LIMITS)
            self.known[code, call] = describe(outcome)
        return self.known[code, call]

    def edit(self, question: str, rng: random.Random) -> str:
        said = re.search(r"Input: (.*)\n(?:.*\n)*?Expected: (.*)", question)
        right = said is not None and self.ran(self.item.key.reference, said[1]) == said[2].strip()
        chance = self.ability * (TAKES_RIGHT if right else TAKES_WRONG)
        if rng.random() < chance:
            return self.item.key.reference
        return rng.choice(self.wrong) if self.wrong else self.item.problem.code


def model_of(item: Item, box: Sandbox, mean: float, seed: int) -> WeakModel:
    """The made-up model of one problem."""
    key = f"{seed} {item.problem.id}"
    rng = random.Random(key)
    ability = rng.betavariate(2.5 * mean, 2.5 * (1 - mean))
    wrong = [*mutants(item, 5, box, rng)]
    if not grade_program(item.problem.code, item.key, box).passed:
        wrong.insert(rng.randrange(len(wrong) + 1), item.problem.code)
    name = item.problem.entry_point
    truth = expected_outputs(item.key, box)
    stated = [call_source(call, name) for call in truth.calls[:20]]
    stream = propose_inputs(replace(item.problem, code=item.key.reference), [], seed=seed)
    made = [call_source(one.call, name) for one in islice(stream, 20)]
    calls = [call for call in dict.fromkeys((*stated, *made)) if _parses(call)]
    rows = [
        box.run(Program(code, name), [Expression(call) for call in calls], LIMITS)
        for code in (item.key.reference, item.problem.code)
    ]
    attacks = [c for c, a, b in zip(calls, *rows, strict=True) if describe(a) != describe(b)]
    return WeakModel(item, box, key, ability, wrong, calls, attacks, Tally())


def _parses(call: str) -> bool:
    try:
        ast.parse(call, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return len(call) < 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ability", type=float, default=0.6)
    parser.add_argument("--methods", default=METHODS_COMPARED)
    arguments = parser.parse_args()
    print(vars(arguments))
    with LocalSandbox() as box, SandboxPool(2) as pool:
        for dataset in arguments.datasets:
            compare(dataset, arguments, box, pool)


def compare(dataset: str, arguments: argparse.Namespace, box: Sandbox, pool: SandboxPool) -> None:
    """One table, over the problems of a dataset that the sandbox can reach."""
    names = arguments.methods.split(",")
    right: dict[str, list[bool]] = {name: [] for name in names}
    tests: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    spent = dict.fromkeys(names, 0)
    samples = dict.fromkeys(names, 0)
    for item in load(dataset, data=arguments.data, limit=arguments.limit):
        try:
            model = model_of(item, box, arguments.ability, arguments.seed)
        except ValueError:
            continue
        graded: dict[str, bool] = {}
        for name in names:
            model.tally = Tally()
            spec = METHODS.get(name.split(":")[0])
            more = {"solutions": int(name.split(":")[1])} if ":" in name else {}
            ctx = Context(model=model, sandbox=pool, seed=arguments.seed)
            result = asyncio.run(spec(item.problem, ctx=ctx, options=spec.options(**more)))
            code = result.candidates[0].code if result.candidates else item.problem.code
            if code not in graded:
                graded[code] = grade_program(code, item.key, box).passed
            right[name].append(graded[code])
            spent[name] += model.tally.prompt_tokens + model.tally.completion_tokens
            samples[name] += model.tally.samples
            true = [t for t in result.derived if not _wrong(t, model)]
            tests[name].append((len(true), len(result.derived)))
    count = len(right[names[0]])
    print(f"\n{dataset}: {count} problems, made-up model of mean ability {arguments.ability}")
    print("| method | code accuracy | tokens a problem | samples | tests that are right |")
    print("|---|---|---|---|---|")
    for name in names:
        made = [sum(column) for column in zip(*tests[name], strict=True)]
        print(
            f"| {name} | {sum(right[name]) / count:.1%} | {spent[name] / count:,.0f} "
            f"| {samples[name] / count:.1f} | {made[0]} of {made[1]} |"
        )
    for name in names[:-1]:
        b = sum(x and not y for x, y in zip(right[names[-1]], right[name], strict=True))
        c = sum(y and not x for x, y in zip(right[names[-1]], right[name], strict=True))
        print(
            f"{names[-1]} alone right {b}, {name} alone right {c}: McNemar p = {mcnemar(b, c):.3f}"
        )


def _wrong(test: UnitTest, model: WeakModel) -> bool:
    call = call_source(test.call, model.item.problem.entry_point)
    return model.ran(model.item.key.reference, call) != expected_source(test)


if __name__ == "__main__":
    main()
