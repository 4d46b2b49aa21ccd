"""The judge's rule, its evidence, and what hostile candidates can do about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from rich.console import Console

from refute.core.problems import Call, FunctionProblem, Trust
from refute.function.judge import (
    CandidateRanking,
    Judge,
    by_behaviour,
    by_reward,
    by_tests,
    judge_candidates,
)
from refute.function.llm.options import Options
from refute.models.contract import Message
from refute.sandbox.pool import SandboxPool
from refute.verbs.judge import JudgeResult

from .llm.scripted import asker

PROBLEM = FunctionProblem(
    "p", "Return x doubled.\n\n>>> double(2)\n4\n", "double(x)", "double", "def double(x): ...\n"
)
RIGHT = "def double(x):\n    return 2 * x\n"
ALSO = "def double(x):\n    return x + x\n"
SQUARE = "def double(x):\n    return x * x\n"
FOUR = "def double(x):\n    return 4\n"
TRIPLE = "def double(x):\n    return 3 * x\n"


def judged(by: Judge, candidates: Sequence[str], pool: SandboxPool) -> CandidateRanking:
    return asyncio.run(judge_candidates(PROBLEM, candidates, by=by, box=pool, seed=0))


def order(found: CandidateRanking) -> list[int]:
    return [one.index for one in found.ranking]


def honest(messages: Sequence[Message], number: int) -> str:
    question = messages[-1].content
    if "Now the output" in question:
        x = int(re.findall(r"double.(-?\d+)", question)[0])
        return f"Output: {2 * x}"
    return f"Arguments: ```double({number + 2})```\nOutput: 0"


def test_without_a_model_examples_then_agreement(pool: SandboxPool) -> None:
    found = judged(by_behaviour(), [TRIPLE, FOUR, RIGHT, ALSO, SQUARE], pool)
    assert order(found)[:2] == [2, 3]
    assert order(found)[-1] == 0
    assert [one.rank for one in found.ranking][:3] == [1, 1, 3]
    assert [test.expected for test in found.tests] == [4]
    assert found.ranking[0].agreement > found.ranking[2].agreement
    assert found.ranking[-1].certain == 1
    assert {one.score for one in found.ranking} == {None}, "nothing was there to give one"
    console = Console(record=True, width=100)
    JudgeResult("double", tuple("abcde"), found).print(console)
    assert "score" not in console.export_text()


def test_a_model_decides_against_the_crowd(pool: SandboxPool) -> None:
    crowd = [SQUARE, SQUARE, SQUARE, RIGHT, FOUR]
    assert judged(by_behaviour(), crowd, pool).best == 0
    ask = asker(honest)
    found = judged(by_tests(ask, options=Options(), seed=0), crowd, pool)
    assert found.best == 3
    assert found.ranking[0].score == 1.0
    assert found.ranking[0].passed == len(found.tests)
    calls = [test.call for test in found.tests]
    assert calls == [Call((2,)), Call((3,)), Call((4,))], "each call once, the certain one first"
    assert found.tests[0].trust is Trust.STATED
    # Equal candidates are asked about once: three distinct ones, three tests each.
    requests = {m[0].content for m in ask.model.asked}
    assert len(requests) == 3


def test_a_lying_model_cannot_put_a_failing_candidate_first(pool: SandboxPool) -> None:
    def liar(messages: Sequence[Message], number: int) -> str:
        if "Now the output" in messages[-1].content:
            x = int(re.findall(r"double.(-?\d+)", messages[-1].content)[0])
            return f"Output: {3 * x}"
        return f"Arguments: ```double({number + 5})```"

    found = judged(by_tests(asker(liar), options=Options(), seed=0), [TRIPLE, RIGHT], pool)
    assert order(found) == [1, 0]
    assert found.ranking[1].score == 1.0


def test_a_reward_model_sees_task_and_program(pool: SandboxPool) -> None:
    class Longest:
        name = "longest"
        seen = ""

        async def score(self, prompt: str, answers: Sequence[str]) -> list[float]:
            self.seen = prompt + answers[0]
            return [float(len(answer)) for answer in answers]

        async def close(self) -> None: ...

    scorer = Longest()
    found = judged(by_reward(scorer), [RIGHT, f"{RIGHT}# it is right\n", TRIPLE * 9], pool)
    assert order(found) == [2, 1, 0], "the paper's baseline: its score alone ranks"
    assert "Return x doubled" in scorer.seen
    assert "return 2 * x" in scorer.seen
