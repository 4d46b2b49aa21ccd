"""Models made up by a seed, an asker without cache, and a runner for programs that we trust."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from types import ModuleType
from typing import Any

from refute.core.problems import Expression, FunctionProblem, Invocation
from refute.function.contract import MethodResult
from refute.function.llm.results import Trace
from refute.models.contract import Completion, Message, Sampling, Tally
from refute.sandbox import Limits, Outcome, Program, Raised, Returned, values
from refute.sandbox.loading import SwappableProgram
from refute.testing.models import ScriptedModel

LIMITS = Limits()


def trace_of(result: MethodResult) -> Trace:
    assert result.trace is not None
    return result.trace


FENCE = "```"


class DirectAsker:
    """An `Asker` that asks the model each time."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.tally = Tally()
        self.drawn: list[tuple[str, int]] = []
        """The last message and the number of every sample, in the order of asking."""

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first: int = 0,
        sampling: Sampling = Sampling(),  # noqa: B008
    ) -> list[Completion]:
        self.drawn += [(messages[-1].content, number) for number in range(first, first + n)]
        return await self.model.generate(messages, n=n, sampling=sampling, first=first)


def asker(answer: Callable[[Sequence[Message], int], str]) -> DirectAsker:
    return DirectAsker(ScriptedModel(answer))


class TrustingBox:
    """Runs the programs that these tests wrote, in this process; not what is tested here."""

    async def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = LIMITS
    ) -> list[Outcome]:
        return (await self.run_variants([program], calls, limits))[0]

    async def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = LIMITS
    ) -> list[list[Outcome]]:
        gc.freeze()  # variants look for functions among all objects: not among those of the tests
        try:
            return [_called(program, calls) for program in programs]
        finally:
            gc.unfreeze()

    async def takes_code(self) -> bool:
        return True


def _called(program: Program, calls: Sequence[Invocation]) -> list[Outcome]:
    module = ModuleType("program")
    names = module.__dict__
    parts = program.code if isinstance(program.code, tuple) else (program.code,)
    for part in parts:
        exec(part, names)
    if program.setup is not None:
        SwappableProgram([module], parts).become(program.bodies, program.setup)
    outcomes: list[Outcome] = []
    for call in calls:
        try:
            if isinstance(call, Expression):
                value = eval(call.source, names)
            else:
                value = names[program.entry_point](*call.args, **call.kwargs)
            outcomes.append(Returned(values.encode(value)))
        except Exception as error:
            outcomes.append(Raised(type(error).__name__, str(error)))
    return outcomes


class MadeUp:
    """A model's opinions, all drawn from a seed: inputs, outputs and edits, some of them malformed.

    Code is a table from input to output, `{0: 2, 1: 0, ...}`. The methods below say what the model
    means; `answer` wraps it into text as models do, or spoils it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = Random(seed)
        self.inputs = rng.randint(1, 9)
        self.outputs = rng.randint(1, 4)
        self.agreement = rng.random()
        self.spoiled = rng.choice((0.0, 0.1, 0.4, 0.9))
        self.right = self._table(rng)
        self.code = self._table(rng)

    def _table(self, rng: Random) -> tuple[int, ...]:
        return tuple(rng.randrange(self.outputs) for _ in range(self.inputs))

    def _rng(self, *parts: object) -> Random:
        return Random(repr((self.seed, *parts)))

    def propose(self, code: tuple[int, ...], number: int) -> int | None:
        """The input of answer `number` to a request for a test of `code`; None: malformed."""
        rng = self._rng("propose", code, number)
        return None if rng.random() < self.spoiled else rng.randrange(self.inputs)

    def stated(self, code: tuple[int, ...], number: int) -> Any:
        """The output stated with it; None: malformed."""
        return self._value(self._rng("stated", code, number), self.propose(code, number) or 0)

    def output(self, code: tuple[int, ...], x: int, number: int) -> Any:
        """Sample `number` of the output for input x; None: malformed."""
        return self._value(self._rng("output", code, x, number), x)

    def _value(self, rng: Random, x: int) -> Any:
        if rng.random() < self.spoiled:
            return None
        value = self.right[x] if rng.random() < self.agreement else rng.randrange(self.outputs)
        return rng.choice((value, float(value), bool(value) if value < 2 else value))

    def edit(self, code: tuple[int, ...], x: int, wanted: Any, again: int) -> Any:
        """The code after feedback on a failing test, the sample `again`; None: no code."""
        rng = self._rng("edit", code, x, float(wanted), again)
        if rng.random() < self.spoiled:
            return None
        if rng.random() < 0.2:
            return code
        table = [y if rng.random() < 0.6 else rng.randrange(self.outputs) for y in code]
        if rng.random() < 0.7:
            table[x] = int(wanted)
        return tuple(table)

    # -- as text -----------------------------------------------------------------------------------

    def problem(self) -> FunctionProblem:
        return FunctionProblem("made-up", "Look the value up.", "f(x)", "f", source(self.code))

    def answer(self, messages: Sequence[Message], number: int) -> str:
        """What the model writes, after what it was asked last."""
        question = messages[-1].content
        code = table_of("\n".join(message.content for message in messages))
        rng = self._rng("text", question, number)
        if "Write one unit test" in question or "with one unit test" in question:
            call, value = self.propose(code, number), self.stated(code, number)
            arguments = spoiled(rng) if call is None else rng.choice(CALLS).format(x=call)
            forms = VALUES if call is not None else VALUES[:5]  # the others name a call themselves
            outcome = spoiled(rng) if value is None else rng.choice(forms).format(y=value)
            return (
                f"## Unit Test\n### Input Arguments\nLet me think.\nArguments: {arguments}\n\n"
                f"### Output\nHm.\nOutput: {outcome}"
            )
        if "Now the output" in question:
            shown = re.search(r"f\((\d+)\)", question)
            value = self.output(code, int(shown[1]), number)
            if value is None:
                return spoiled(rng) if rng.random() < 0.5 else "I cannot tell."
            return "It goes like this.\nOutput: " + rng.choice(VALUES).format(y=value)
        shown = re.search(r"Input: f\((\d+)\)", question)
        wanted = re.search(r"Expected: (\S+)", question)
        value = json.loads(wanted[1].lower())
        edited = self.edit(code, int(shown[1]), value, number)
        if edited is None:
            return rng.choice(
                ("No.", f"{FENCE}python\ndef f(x:\n{FENCE}", f"{FENCE}\nx = 3\n{FENCE}", "")
            )
        return f"Sorry.\n{FENCE}python\n{source(edited)}{FENCE}\nNow it works."


CALLS = (
    "```f({x})```", "`f({x})`", "f({x})", "f(x={x})", "```python\nf(\n    {x},  # the one\n)\n```",
    "f({x})  # a comment", "{x}", "x = {x}", "**`f({x})`**",
)  # fmt: skip
VALUES = (
    "```{y}```", "`{y}`", "{y}", "{y}.", "```python\n{y}\n```", "{y}  # so", "{y} (a number)",
    "f(1) == {y}", "The value is `{y}`", "sum([{y}])",
)  # fmt: skip


NOTHING = (
    "```f(<all arguments>)```", "```<your final answer>```", "", "none of these", "```", "f(",
)  # fmt: skip


def spoiled(rng: Random) -> str:
    """Something that is no call and no value."""
    return rng.choice(NOTHING)


def source(table: Sequence[int]) -> str:
    return f"def f(x):\n    return {list(table)}[x]\n"


def table_of(text: str) -> tuple[int, ...]:
    """The last program in a text."""
    return tuple(json.loads(re.findall(r"return (\[[\d, ]*\])\[x\]", text)[-1]))
