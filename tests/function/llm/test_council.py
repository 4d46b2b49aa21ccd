"""The methods that write programs from the description alone, and what they ask for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from refute.core.methods import Context
from refute.core.problems import Call, FunctionProblem, UnitTest
from refute.core.registry import METHODS
from refute.function.contract import MethodResult, State
from refute.function.llm.options import Options
from refute.models.contract import Message
from refute_lab.baselines.methods.council import CouncilOptions
from refute_lab.baselines.methods.judging import JudgeOptions
from refute_lab.baselines.methods.regenerate import CodeTOptions, RegenerateOptions
from refute_lab.benches import work_of

from .scripted import DirectAsker, TrustingBox, asker, trace_of

WRONG = "def f(x):\n    # as it was\n    return x + 1\n"
RIGHT = "def f(x):\n    return 2 * x\n"
OTHER = "def f(x):\n    return x * x\n"
PROBLEM = FunctionProblem("p", "Return twice x.", "f(x)", "f", WRONG)

Script = Callable[[Sequence[Message], int], str]


def run(
    method: str, script: Script, options: Options, problem: FunctionProblem = PROBLEM
) -> tuple[MethodResult, DirectAsker]:
    ask = asker(script)
    ctx = Context(model=ask, sandbox=TrustingBox())
    return asyncio.run(METHODS.get(method)(problem, ctx=ctx, options=options)), ask


def writes(*programs: str, vote: Callable[[int], int] = lambda x: 2 * x) -> Script:
    """A model that writes these programs in turn, and votes for what `vote` gives."""

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "calls of it that together" in question:
            return "```python\nf(3)\nf(5)\nnot a call\nf(2)\nf(0)\nf(-4)\nf(10)\n```"
        if "Now the output" in question:
            [x] = re.findall(r"f\((-?\d+)\)", question)
            return f"Output: ```{vote(int(x))}```"
        if "one unit test" in question:
            return f"Arguments: ```f({number + 3})```\nOutput: ```{vote(number + 3)}```"
        return f"```python\n{programs[number % len(programs)]}```"

    return answer


def doubles(code: str) -> bool:
    names: dict[str, Callable[[int], int]] = {}
    exec(code or "f = abs", names)
    return [names["f"](x) for x in (0, 1, 5, -4)] == [0, 2, 10, -8]


def code_of(result: MethodResult) -> str:
    return result.candidates[0].code if result.candidates else ""


def test_council_stops_asking_as_soon_as_enough_programs_agree() -> None:
    result, ask = run("council", writes(RIGHT), CouncilOptions())
    assert ask.model.samples == 1 + 5  # the inputs, and half of ten programs
    assert doubles(code_of(result))
    assert {test.expected for test in result.derived} <= {2 * x for x in range(-100, 100)}
    assert all(test.confidence == 1.0 for test in result.derived)
    assert result.state is State.PROPOSED  # its tests are its own


def test_the_code_under_test_is_never_shown_while_programs_are_written() -> None:
    _, ask = run("council", writes(RIGHT, OTHER), CouncilOptions())
    seen = [messages for messages in ask.model.asked if "as it was" in messages[-1].content]
    assert seen == []


def test_where_programs_disagree_votes_decide_and_the_fix_is_doubted() -> None:
    programs = (OTHER, OTHER, OTHER, RIGHT, RIGHT, RIGHT, "def f(x):\n    return 7\n")
    result, ask = run("council", writes(*programs), CouncilOptions(solutions=7))
    assert doubles(code_of(result))
    assert any("Now the output" in messages[-1].content for messages in ask.model.asked)
    assert result.reservations == ("only 3 of 7 programs for the task do the same",)
    for test in result.derived:
        assert test.expected == 2 * test.call.args[0]  # type: ignore[union-attr]


def test_an_example_of_the_description_outweighs_the_programs() -> None:
    stated = replace(PROBLEM, examples=(UnitTest(Call((3,)), 6),))
    programs = (OTHER,) * 9 + (RIGHT,)
    result, _ = run("council", writes(*programs), CouncilOptions(), stated)
    assert doubles(code_of(result))


def test_regenerate_asks_once_and_takes_what_comes() -> None:
    result, ask = run("regenerate", writes(OTHER), RegenerateOptions())
    assert ask.model.samples == 1
    assert code_of(result).endswith("return x * x\n")
    stated = replace(PROBLEM, examples=(UnitTest(Call((3,)), 6),))
    result, _ = run("regenerate", writes(OTHER, RIGHT), RegenerateOptions(solutions=2), stated)
    assert code_of(result).endswith("return 2 * x\n")


def test_codet_takes_the_set_with_the_most_programs_times_tests() -> None:
    # Three programs pass none of the five tests, two pass all: 0 against 2 * 5.
    script = writes(OTHER, OTHER, RIGHT, OTHER, RIGHT)
    result, ask = run("codet", script, CodeTOptions(solutions=5, written_tests=5))
    assert ask.model.samples == 10
    assert code_of(result).endswith("return 2 * x\n")
    assert len(result.derived) == 5
    assert len(trace_of(result).sampled) == 5, "figures are over all of them"


def test_table_3_takes_the_program_that_passes_the_most_tests_and_keeps_all() -> None:
    script = writes(OTHER, WRONG, RIGHT)
    result, _ = run("judge:prompted", script, JudgeOptions(samples=3))
    assert code_of(result) == RIGHT
    assert trace_of(result).programs == (OTHER, WRONG, RIGHT)


@pytest.mark.parametrize("tester", ["random", "prompted"])
def test_table_3_makes_three_new_tests_for_each_program_and_removes_duplicates(tester: str) -> None:
    """30 for ten programs, whatever the request says of them; the journal keeps them all."""
    script = writes(RIGHT)
    options = JudgeOptions(samples=10, vote=False)
    result, ask = run(f"judge:{tester}", script, options)
    tests = [one for one in ask.drawn if "one unit test" in one[0]]
    assert len(set(tests)) == len(tests) == 30
    again, _ = run(f"judge:{tester}", script, options)
    assert again == result
    record = work_of(result, PROBLEM, 0.0)
    assert [len(suite) for suite in record.log.suites] == [3] * 10
    assert len(record.prediction.tests) == 30

    def same(messages: Sequence[Message], number: int) -> str:
        return script(messages, number % 9)

    result, _ = run(f"judge:{tester}", same, options)
    assert len(result.derived) == 3, "the same three ten times"


def test_where_no_program_can_be_read_the_code_under_test_is_not_the_judges_answer() -> None:
    """In Table 3's datasets it is the reference: a model that writes nothing would be right."""
    right = FunctionProblem("p", "Return twice x.", "f(x)", "f", RIGHT)
    result, _ = run("judge:random", lambda *_: "I cannot.", JudgeOptions(samples=3), right)
    assert trace_of(result).unreadable == {"no-code": 3}
    assert work_of(result, right, 0.0).prediction.candidates == ("",)
