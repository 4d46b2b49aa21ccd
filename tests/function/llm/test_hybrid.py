"""The hybrid method: what it asks for at most, whom it believes, and what it reaches."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from refute.core.methods import Context
from refute.core.problems import Call, FunctionProblem, UnitTest
from refute.core.registry import METHODS
from refute.function.contract import MethodResult
from refute.function.llm.options import Options
from refute.function.llm.results import certain_tests, try_code
from refute.function.methods.hybrid import most_asked
from refute.models.contract import Message
from refute.sandbox.pool import AsyncSandbox, SandboxPool
from refute_lab.benches import stored_log
from refute_lab.runs import as_data

from .scripted import DirectAsker, MadeUp, TrustingBox, asker, source, table_of, trace_of

Script = Callable[[Sequence[Message], int], str]


def run(
    problem: FunctionProblem,
    script: Script,
    options: Options | None = None,
    method: str = "hybrid",
    box: AsyncSandbox | None = None,
) -> tuple[MethodResult, DirectAsker]:
    ask = asker(script)
    ctx = Context(model=ask, sandbox=box or TrustingBox())
    return asyncio.run(METHODS.get(method)(problem, ctx=ctx, options=options or Options())), ask


# -- what it costs ---------------------------------------------------------------------------------


class Opinions(MadeUp):
    """A made-up model that also answers the questions of `hybrid`: any input, and no code shown."""

    def _value(self, rng: Random, x: int) -> Any:
        return super()._value(rng, x % self.inputs)

    def answer(self, messages: Sequence[Message], number: int) -> str:
        shown = "\n".join(message.content for message in messages)
        # Nothing may be shown, or what the engine made of it.
        if not re.search(r"return \[\d[\d, ]*\]\[x\]", shown):
            shown = source(self.code)
        code = table_of(shown)
        question = messages[-1].content.replace("f(-", "f(")
        if "suspected to be wrong" in question or "Expected: " in question:
            at = number % len(code)
            table = self.edit(code, at, self.right[at], number)
            return "No idea." if table is None else f"```python\n{source(table)}```"
        asked = Message("user", question)
        return super().answer((Message("system", source(code)), asked), number)


def options_of(seed: int) -> Options:
    rng = Random(seed)
    return Options(
        n=rng.choice((1, 2, 3, 3, 5)),
        k=rng.choice((1, 2, 5, 8, 8, 8, 9)),
        m=rng.choice((0, 1, 2, 3, 3, 4)),
        vote=rng.random() < 0.8,
    )


@pytest.mark.parametrize("part", range(2))
def test_never_asks_for_more_than_utdebug_may(part: int) -> None:
    for seed in range(4 * part, 4 * (part + 1)):
        options = options_of(seed)
        model = Opinions(seed)
        result, ask = run(model.problem(), model.answer, options)
        assert ask.model.samples <= most_asked(options), (seed, options)
        assert len(trace_of(result).codes) == options.m + 1
        assert bool(result.candidates) == (trace_of(result).codes[-1] != model.problem().code)
        accepted = [edit for edit in trace_of(result).edits if edit.accepted]
        if trace_of(result).codes[-1] != trace_of(result).codes[0]:
            assert accepted[-1].code == trace_of(result).codes[-1]
            assert accepted[-1].after > 0
        json.dumps(as_data(stored_log(trace_of(result), "f")))


def test_the_same_answers_lead_to_the_same_record() -> None:
    for seed in (3, 17):
        model = Opinions(seed)
        one, other = (run(model.problem(), model.answer)[0] for _ in range(2))
        assert stored_log(trace_of(one), "f") == stored_log(trace_of(other), "f")


# -- what it reaches -------------------------------------------------------------------------------

TEXT = "The number of words of a text.\n\n>>> count('one two')\n2\n"
WRONG = "def count(text):\n    return text.count(' ') + 1\n"
RIGHT = "def count(text):\n    return len(text.split())\n"
WORDS = FunctionProblem(
    "w",
    TEXT,
    "count(text)",
    "count",
    WRONG,
    examples=(UnitTest(Call(("one two",)), 2, source="description line 3"),),
)


LARGER = FunctionProblem(
    "l", "The larger of a and b.\n\n>>> larger(3, 1)\n3\n", "larger(a, b)", "larger",
    "def larger(a, b):\n    return a if a > 0 else b\n",
    examples=(UnitTest(Call((3, 1)), 3),),
)  # fmt: skip
MENDED = "def larger(a, b):\n    return a if a > b else b\n"


def called(question: str) -> Any:
    """The arguments of the call that a question is about."""
    found = re.search(r"```python\n\w+(\(.*\))\n```", question, re.S)
    return eval(found[1])


def knowing(messages: Sequence[Message], number: int) -> str:
    """Right about outputs and fixes; the inputs that it proposes show nothing."""
    question = messages[-1].content
    if "Now the output" in question:
        return f"Output: ```{max(called(question))}```"
    if "with one unit test" in question:
        return "Error Pattern: b is larger\n\nArguments: ```larger(4, 2)```"
    return f"```python\n{MENDED}```"


def test_disagreement_finds_the_test_that_the_model_did_not(pool: SandboxPool) -> None:
    """No proposed input shows the fault, and the code passes its example; a neighbour shows it."""
    result, ask = run(LARGER, knowing, box=pool)
    assert trace_of(result).codes[-1] == MENDED
    assert result.failing
    for failing in result.failing:
        assert failing.test.call != Call((4, 2))
        assert failing.test.expected == max(failing.test.call.args)
    hypotheses = [m[-1].content for m in ask.model.asked if "suspected" in m[-1].content]
    assert len(hypotheses) == 1
    assert "- b is larger\n" in hypotheses[0]
    # Outputs of the engine's inputs are asked for without the code under test in sight.
    votes = [m for m in ask.model.asked if "Now the output" in m[-1].content]
    for messages in votes:
        own = "Error Pattern" in messages[1].content
        assert ("if a > 0" in messages[0].content) == own


def test_the_engine_mends_what_the_model_cannot(pool: SandboxPool) -> None:
    """The model knows outputs and writes no code at all."""
    code = "def double(x):\n    return x + 3\n"
    problem = FunctionProblem("d", "Double x.", "double(x)", "double", code)

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "with one unit test" in question:
            return f"Arguments: ```double({number + 4})```"
        if "Now the output" in question:
            x = int(re.findall(r"double.(-?\d+)", question)[0])
            return f"Output: {2 * x}"
        return "I would rather not."

    result, _ = run(problem, answer, box=pool)
    assert trace_of(result).codes[-1] != code
    assert asyncio.run(
        try_code(trace_of(result).codes[-1], "double", [UnitTest(Call((50,)), 100)], TrustingBox())
    ).verdicts == (True,)
    assert trace_of(result).unreadable["no-code"] >= 3
    [edit] = [edit for edit in trace_of(result).edits if edit.accepted]
    assert edit.answer == ""
    assert "becomes" in edit.reason


# -- whom it believes ------------------------------------------------------------------------------


def liar(messages: Sequence[Message], number: int) -> str:
    question = messages[-1].content
    if "with one unit test" in question:
        return f"Arguments: ```count({'x ' * number!r})```"
    if "Now the output" in question:
        return "Output: ```'never'```"
    return "```python\ndef count(text):\n    return 'never'\n```"


@pytest.mark.parametrize("code", [RIGHT, WRONG])
def test_no_fix_fails_a_certain_test(code: str, pool: SandboxPool) -> None:
    """A unanimous liar whose fix satisfies all of its lies."""
    problem = replace(WORDS, code=code)
    result, _ = run(problem, liar, box=pool)
    assert result.generated
    assert trace_of(result).codes == (code,) * 4
    assert {edit.reason for edit in trace_of(result).edits} <= {
        "discarded: it fails a certain test (description line 3)",
        "discarded: another answer says the same",
    }
    certain = certain_tests(problem)
    assert certain
    assert (
        asyncio.run(try_code(trace_of(result).codes[-1], "count", certain, TrustingBox())).failing
        == ()
    )


def test_a_test_that_all_fixes_contradict_is_suspect(pool: SandboxPool) -> None:
    """The vote is wrong about one input; two fixes of the model agree on another output."""
    other = RIGHT.replace("len(text.split())", "sum(1 for _ in text.split())")

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "with one unit test" in question:
            return f"Arguments: ```count({('a  b', 'c ', 'd d')[number % 3]!r})```"
        if "Now the output" in question:
            text = called(question)
            return f"Output: {7 if text == 'a  b' else len(text.split())}"
        return f"```python\n{(RIGHT, other)[number % 2]}```"

    result, _ = run(WORDS, answer, box=pool)
    states = {str(a.call): a.status for a in trace_of(result).suites[0].attempts}
    assert states[str(Call(("a  b",)))] == "suspect"
    assert states[str(Call(("c ",)))] == "kept"
    assert all(test.call != Call(("a  b",)) for test in result.generated)
    assert trace_of(result).codes[-1] in (RIGHT, other)


# -- which inputs are worth a question -------------------------------------------------------------
