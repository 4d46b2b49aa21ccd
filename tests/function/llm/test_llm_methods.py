"""The registry, the ablations, the record, and what happens when asking fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from zlib import crc32

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from refute.core.methods import Context
from refute.core.problems import Call, FunctionProblem, Trust, UnitTest
from refute.core.registry import METHODS
from refute.errors import AnswersPending, BudgetExceeded, ContextTooLong, InputError
from refute.function.contract import MethodResult
from refute.function.llm.options import Options
from refute.models.contract import Completion, Message, Sampling
from refute.prompts import render
from refute.testing.models import ScriptedModel
from refute_lab.baselines.methods.no_ut import finds_fault
from refute_lab.benches import StoredLog, stored_log
from refute_lab.runs import as_data, checked

from .scripted import DirectAsker, MadeUp, TrustingBox, asker, trace_of

DOUBLE = FunctionProblem(
    "double", "Return x doubled.\n\n>>> double(0)\n0\n", "double(x)", "double",
    "def double(x):\n    return x * x\n", examples=(UnitTest(Call((0,)), 0),),
)  # fmt: skip
ASKING = [spec.name for spec in METHODS.all() if spec.level == "function" and spec.asks_model]
REVISING = ["hybrid", "no-ut", "prompted", "random", "utgen"]
"""Methods that make an edit a round, on the code under test."""
FIX = "```python\ndef double(x):\n    return x + x\n```"


GIVEN = FunctionProblem(
    "g", "", "double(x)", "double", DOUBLE.code, (UnitTest(Call((7,)), 14, source="mine"),)
)


def honest(messages: Sequence[Message], number: int) -> str:
    """A model that is right about doubling."""
    question = messages[-1].content
    if "## Unit Test\n" in question:
        x = number % 5 + 1
        return f"Arguments: ```double({x})```\n### Output\nOutput: ```{2 * x}```"
    if question.startswith("Now the output"):
        x = int(question.split("double(")[1].split(")")[0])
        return f"Output: ```{2 * x}```"
    if "Does this code" in question:
        right = "x * x" not in question
        verdict = "correct." if right else "wrong, please fix it."
        return f"Feedback: hm.\nThe above code is {verdict}"
    return FIX


def run(
    name: str,
    ask: DirectAsker,
    options: Options | None,
    problem: FunctionProblem = DOUBLE,
    seed: int = 0,
) -> MethodResult:
    ctx = Context(model=ask, sandbox=TrustingBox(), seed=seed)
    found: MethodResult = asyncio.run(METHODS.get(name)(problem, ctx=ctx, options=options))
    return found


@pytest.mark.parametrize("name", REVISING)
def test_every_method_mends_with_an_honest_model(name: str) -> None:
    result = run(name, asker(honest), Options())
    assert trace_of(result).codes == (DOUBLE.code, *["def double(x):\n    return x + x\n"] * 3)
    assert [candidate.code for candidate in result.candidates] == [trace_of(result).codes[-1]]
    assert METHODS.get(name).writes_tests == bool(result.generated)
    assert all(test.trust is Trust.PREDICTED for test in result.generated)
    assert not trace_of(result).unreadable
    log = stored_log(trace_of(result), "double")
    assert log.codes == trace_of(result).codes
    assert log.edits[0].accepted is True
    assert checked(json.loads(json.dumps(as_data(log))), StoredLog) == log


def test_the_tester_may_be_another_model() -> None:
    tester, coder = asker(honest), asker(honest)
    ctx = Context(model=coder, tester=tester, sandbox=TrustingBox())
    asyncio.run(METHODS.get("utgen")(DOUBLE, ctx=ctx))
    assert all("it fails this unit test" in asked[-1].content for asked in coder.model.asked)
    assert len(coder.model.asked) == 1
    assert tester.model.requests > 1


def test_debugging_with_the_given_tests_writes_none() -> None:
    ask = asker(honest)
    result = run("given", ask, None, GIVEN)
    assert "double(7)" in ask.model.asked[0][-1].content
    assert len(ask.model.asked) == 1
    assert result.given == GIVEN.tests
    assert result.derived == ()
    assert result.candidates[0].code == "def double(x):\n    return x + x\n"
    nothing = run("given", asker(honest), None)
    assert not nothing.candidates
    assert nothing.notes == ("no test is given",)


def test_a_request_that_is_too_long_is_counted_by_itself() -> None:
    def answer(messages: Sequence[Message], number: int) -> str:
        if len(messages) > 1:
            raise ContextTooLong
        return honest(messages, number)

    result = run("utgen", asker(answer), Options())
    assert not result.generated
    assert trace_of(result).too_long >= 8
    assert not trace_of(result).unreadable, "nothing was there to be read"
    voteless = run("utgen", asker(answer), Options(vote=False))
    assert [edit.reason for edit in trace_of(voteless).edits] == [
        "discarded: the request is too long for the model"
    ] * 3
    judged = run("no-ut", asker(answer), Options())
    trace = trace_of(judged)
    assert (trace.too_long, dict(trace.unreadable)) == (3, {})


@pytest.mark.parametrize("error", [AnswersPending("later"), BudgetExceeded("enough")])
@pytest.mark.parametrize("name", sorted({*ASKING} - {"judge:reward"}))
def test_infrastructure_is_not_an_answer(name: str, error: Exception) -> None:
    def answer(messages: Sequence[Message], number: int) -> str:
        raise error

    with pytest.raises(type(error)):
        run(name, asker(answer), None, GIVEN)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("random", Options(backtrack=False, guard=False)),
        ("prompted", Options(ties=True, guard=False)),
    ],
)
def test_a_new_suite_is_of_new_samples(name: str, options: Options) -> None:
    """`random` asks the same for each version of the code, and anybody for code that stays."""

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "## Unit Test\n" in question:
            return f"Arguments: ```double({number % 9 + 20})```\nOutput: ```0```"
        if question.startswith("Now the output"):
            return f"Output: ```{number // 8}```"
        stays = DOUBLE.code if name == "prompted" else f"def double(x): return {-len(messages)}"
        return f"```python\n{stays}\n```"

    ask = asker(answer)
    result = run(name, ask, options)
    assert [edit.accepted for edit in trace_of(result).edits] == [True] * 3
    expected = [[test.expected for test in suite.tests] for suite in trace_of(result).suites]
    assert expected == [[0] * 3, [1] * 3, [2] * 3]
    assert len(set(ask.drawn)) == len(ask.drawn)
    assert run(name, asker(answer), options) == result


def test_pending_votes_are_all_asked_before_the_run_stops() -> None:
    """A batch has to hold the questions of all tests, not those of the first only."""

    def answer(messages: Sequence[Message], number: int) -> str:
        if len(messages) > 1:
            raise AnswersPending("later")
        return honest(messages, number)

    ask = asker(answer)
    with pytest.raises(AnswersPending):
        run("utgen", ask, Options())
    assert len({asked[-1].content for asked in ask.model.asked if len(asked) > 1}) == 3


def test_the_same_whatever_the_order_of_arrival() -> None:
    class Late(DirectAsker):
        async def ask(
            self,
            messages: Sequence[Message],
            *,
            n: int = 1,
            first: int = 0,
            sampling: Sampling = Sampling(),  # noqa: B008
        ) -> list[Completion]:
            for _ in range(crc32(f"{first} {messages[-1].content}".encode()) % 7):
                await asyncio.sleep(0)
            return await super().ask(messages, n=n, first=first, sampling=sampling)

    for seed in range(40, 60):
        model = MadeUp(seed)
        prompt, late = (
            asyncio.run(
                METHODS.get("utgen")(
                    model.problem(),
                    ctx=Context(model=kind(ScriptedModel(model.answer)), sandbox=TrustingBox()),
                )
            )
            for kind in (DirectAsker, Late)
        )
        assert stored_log(trace_of(prompt), "f") == stored_log(trace_of(late), "f")


@pytest.mark.parametrize(
    ("feedback", "wrong"),
    [
        ("The above code is wrong, please fix it.", True),
        ("Some say the code is wrong. The above code is correct.", False),
        ("The code above is correct? No.\nThe above code is wrong, please fix it.", True),
        ("The above code is incorrect.", True),
        ("I cannot tell.", None),
        ("", None),
    ],
)
def test_opinions(feedback: str, wrong: bool | None) -> None:
    assert finds_fault(feedback) is wrong


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"shown": "second"},
        {"vote_tokens": 0},
        {"top_p": 0.0},
    ],
)
def test_options_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Options(**wrong)  # type: ignore[arg-type]


def test_the_defaults_are_the_papers() -> None:
    options = Options()
    assert (options.n, options.k, options.m, options.tries) == (3, 8, 3, 9)
    assert (options.temperature, options.top_p) == (0.7, 0.9)
    assert options.vote
    assert options.backtrack


def test_prompts_are_strict_and_take_text_literally() -> None:
    with pytest.raises(UndefinedError):
        render("random_test", signature="f(x)", entry_point="f")
    with pytest.raises(TemplateNotFound):
        render("no such prompt")
    text = render("random_test", signature="f(x)", entry_point="f", description="{{ 7 * 7 }} < &")
    assert "{{ 7 * 7 }} < &" in text
    assert "Arguments: ```f(<all arguments>)```" in text
    assert not text.endswith("\n")
