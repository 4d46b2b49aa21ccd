"""The judge's rule, its evidence, and what hostile candidates can do about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from refute.core.problems import Call, FunctionProblem, Trust
from refute.function.judge import (
    CandidateRanking,
    Judge,
    Placed,
    by_behaviour,
    by_reward,
    by_tests,
    judge_candidates,
    ranked,
)
from refute.function.llm.options import Options
from refute.models.contract import Message
from refute.results.text.functions import print_judgement
from refute.sandbox.pool import SandboxPool

from .llm.scripted import asker

PROBLEM = FunctionProblem(
    "p", "Return x doubled.\n\n>>> double(2)\n4\n", "double(x)", "double", "def double(x): ...\n"
)
RIGHT = "def double(x):\n    return 2 * x\n"
ALSO = "def double(x):\n    return x + x\n"
SQUARE = "def double(x):\n    return x * x\n"
FOUR = "def double(x):\n    return 4\n"
BROKEN = "def double(x:\n"
EXITS = "import os\nos._exit(0)\n"
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
    print_judgement(found, "double", list("abcde"), console)
    assert "score" not in console.export_text()


def test_a_crowd_that_fails_the_example_loses(pool: SandboxPool) -> None:
    assert judged(by_behaviour(), [TRIPLE, TRIPLE, TRIPLE, RIGHT], pool).best == 3


def test_what_does_not_run_is_last_and_harms_nobody(pool: SandboxPool) -> None:
    found = judged(by_behaviour(), [BROKEN, EXITS, "x = 1\n", RIGHT, SQUARE], pool)
    assert set(order(found)[:2]) == {3, 4}
    assert all(one.passed == 0 and one.agreement == 0 for one in found.ranking[2:])


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


def test_the_rule() -> None:
    def placed(index: int, certain: int, score: float, agreement: float) -> Placed:
        return Placed(index, 0, 0, certain, score, agreement)

    found = ranked(
        [
            placed(0, 1, 1.0, 1.0),
            placed(1, 0, 0.5, 0.9),
            placed(2, 0, 0.8, 0.1),
            placed(3, 0, 0.5, 0.9),
            placed(4, 0, 0.5, 1.0),
        ]
    )
    assert [(one.index, one.rank) for one in found] == [(2, 1), (4, 2), (1, 3), (3, 3), (0, 5)]


def test_nobody_to_judge(pool: SandboxPool) -> None:
    with pytest.raises(ValueError, match="no candidates"):
        judged(by_behaviour(), [], pool)
