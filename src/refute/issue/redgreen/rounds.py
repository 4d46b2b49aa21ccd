"""One round of questions: put all at once, cut to what the bounds allow, in a fixed order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from refute.errors import ContextTooLong
from refute.issue.drafting.bounded_asker import Bounded
from refute.models.contract import Message, Sampling

FREE = Sampling(temperature=0.8, top_p=0.95, max_tokens=12_288)
"""For drafts, of which several shall differ."""
STRICT = Sampling(temperature=0.0, top_p=1.0, max_tokens=12_288)
"""For verdicts and corrections."""


@dataclass(frozen=True, slots=True)
class PromptedQuestion:
    """A prompt and how many answers are wanted."""

    prompt: str
    n: int = 1
    sampling: Sampling = STRICT
    first: int = 0
    """The number of the first answer: so many were had already."""
    of_tests: bool = False
    """Its answer writes tests: it is put to the model that does (`Context.writer`)."""


async def ask_round(
    ask: Bounded, questions: Sequence[PromptedQuestion], *, must_fit: bool = False
) -> list[list[str]]:
    """The answers to each question, in their order; fewer, or none, where calls run out.

    Which questions lose theirs is settled before any is put, from the last to the first, so that
    the same answers lead to the same questions. A question that does not fit into the model's
    context has no answer; `must_fit`: raises `ContextTooLong` where none of them fits. All are put
    before the first exception goes on, so that each of them is on file where answers come later
    (`AnswersPending`). Raises what `Asker.ask` raises besides.
    """
    left = ask.left
    numbers = []
    for question in questions:
        numbers.append(min(question.n, left))
        left -= numbers[-1]
    jobs = (_answers(ask, q, n) for q, n in zip(questions, numbers, strict=True))
    ended = await asyncio.gather(*jobs, return_exceptions=True)
    too_long = [one for one in ended if isinstance(one, ContextTooLong)]
    answers: list[list[str]] = []
    for one in ended:
        if isinstance(one, ContextTooLong):
            one = []
        elif isinstance(one, BaseException):
            raise one
        answers.append(one)
    if must_fit and too_long and not any(answers):
        raise too_long[0]
    return answers


async def _answers(ask: Bounded, question: PromptedQuestion, n: int) -> list[str]:
    if not n:
        return []
    messages = [Message("user", question.prompt)]
    found = await ask.ask(
        messages,
        n=n,
        first=question.first,
        sampling=question.sampling,
        of_tests=question.of_tests,
    )
    return [completion.text for completion in found]
