"""The judge's rule, its evidence, and what hostile candidates can do about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from refute.core.problems import Call, FunctionProblem, UnitTest
from refute.function.llm.options import Options
from refute.models.contract import Message
from refute.sandbox.pool import SandboxPool
from refute_lab.baselines.judge import (
    CandidateRanking,
    Judge,
    by_reward,
    by_tests,
    judge_candidates,
)

from .llm.scripted import asker

PROBLEM = FunctionProblem(
    "p", "Return x doubled.", "double(x)", "double", "def double(x): ...\n",
    examples=(UnitTest(Call((2,)), 4, source="description line 3"),),
)  # fmt: skip
RIGHT = "def double(x):\n    return 2 * x\n"
TRIPLE = "def double(x):\n    return 3 * x\n"


def judged(by: Judge, candidates: Sequence[str], pool: SandboxPool) -> CandidateRanking:
    return asyncio.run(judge_candidates(PROBLEM, candidates, by=by, box=pool, seed=0))


def order(found: CandidateRanking) -> list[int]:
    return [one.index for one in found.ranking]


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
