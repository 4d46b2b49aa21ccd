"""The verdict on a generated test as a reward: what training by reinforcement (GRPO) is paid.

An answer is paid 1 where reference and faulty code differ on its input and the output that it
states is the reference's; the reader is that of inference, the verdict the grader's, and all code
runs in the sandbox. What a model could write to be paid without that is paid nothing:

- code in the place of a value (`exit()`, an object that equals everything, an endless loop) is
  evaluated in the sandbox by itself, and only what crosses its border as plain data is a value;
- an input that needs names of the program, which could tell the two programs apart by looking at
  them, is none;
- nor is an expected exception, which inputs of the wrong type would be paid for;
- an input that the reference does not take, or on which it gives now this, now that, has no output.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refute.core.problems import Call, Trust, UnitTest
from refute.core.remarks import remark
from refute.errors import LimitReached, Unavailable
from refute.function.llm.generation import read_proposal, shape_of
from refute.function.llm.results import NO_EXCEPTION, Output
from refute.models.contract import Completion, together
from refute.sandbox.pool import AsyncSandbox
from refute_lab.adapters.scoring import text_of
from refute_lab.benches.grade import TestVerdict, grade_tests
from refute_lab.datasets import Item

NOTHING = TestVerdict(valid=False, attacks=False, accurate=False)

Reward = Callable[..., Awaitable[list[float]]]
"""As `trl.GRPOTrainer` takes it."""


@dataclass(frozen=True, slots=True)
class Credits:
    """What half a success is paid, each in [0, 1); without them it is all or nothing."""

    attack: float = 0.0
    """The input attacks, the output is wrong."""
    right: float = 0.0
    """The output is right, the input does not attack."""


ALL_OR_NOTHING = Credits()


def paid(verdict: TestVerdict, credits: Credits = ALL_OR_NOTHING) -> float:
    """The reward for a verdict, in [0, 1]."""
    if verdict.both:
        return 1.0
    return credits.attack * verdict.attacks + credits.right * verdict.accurate


async def verdict_on(answer: str, item: Item, box: AsyncSandbox) -> TestVerdict:
    """The verdict on the unit test of an answer; an unreadable one has none of its parts.

    Raises `SandboxUnavailable`.
    """
    problem = item.problem
    said = await read_proposal(Completion(answer), problem, shape_of(problem), box, raises=False)
    if not isinstance(said.call, Call):
        return NOTHING
    # Without a readable output the input may attack all the same.
    stated = said.stated if isinstance(said.stated, Output) else Output(raises=NO_EXCEPTION)
    test = UnitTest(said.call, stated.value, stated.raises, Trust.PREDICTED, "model")
    twice = [test, replace(test)]  # a reference that rolls dice pays nobody
    graded = await box.do(lambda one: grade_tests(twice, problem, item.key, one))
    first, second = graded.verdicts
    return first if first == second else NOTHING


def reward_for(
    items: Mapping[str, Item], box: AsyncSandbox, credits: Credits = ALL_OR_NOTHING
) -> Reward:
    """The reward function for `trl.GRPOTrainer`.

    `items`: problem and key by the name that the column `problem` of the trainer's rows holds.
    """

    async def verdict(
        completions: Sequence[Any], problem: Sequence[str], **others: Any
    ) -> list[float]:
        async def one(pair: tuple[Any, str]) -> float:
            completion, name = pair
            try:
                return paid(await verdict_on(text_of(completion), items[name], box), credits)
            except (Unavailable, LimitReached):
                raise
            except Exception as error:  # a resumed run would meet the same answer for ever
                remark([f"{name}: an answer is paid nothing: {type(error).__name__}: {error}"])
                return 0.0

        return list(await together(map(one, zip(completions, problem, strict=True))))

    return verdict
