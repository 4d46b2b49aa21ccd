"""A model whose answers are written in a program: for tests, examples and measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refute.errors import ModelUnavailable
from refute.models.contract import Completion, Message, Sampling, Usage

Answer = str | Completion
Script = Callable[[Sequence[Message], int], Answer] | Sequence[Answer]


class ScriptedModel:
    """A deterministic model.

    `answer` is either a function of (messages, number of the sample) or a list that is dealt out in
    the order of asking, one sample each; a list that is used up raises `ModelUnavailable`. Whatever
    the function raises comes out of `generate`. A plain text is cut at the first stop string and
    counted as one token per four characters.
    """

    def __init__(self, answer: Script, name: str = "scripted") -> None:
        self._answer = answer
        self._name = name
        self.requests = 0
        """How often `generate` was called."""
        self.samples = 0
        """How many samples were handed out."""
        self.asked: list[tuple[Message, ...]] = []
        """The messages of every request, in the order of asking."""
        self.closed = False

    @property
    def name(self) -> str:
        """What identifies the model in a cache key."""
        return self._name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """The next n answers. Raises `ModelUnavailable` when a list has run out."""
        self.requests += 1
        self.asked.append(tuple(messages))
        prompt = sum(len(message.content) for message in messages) // 4
        answers = []
        for number in range(first, first + n):
            answer = self._one(messages, number)
            self.samples += 1
            if isinstance(answer, str):
                answer = _completion(answer, sampling, prompt if number == first else 0)
            answers.append(answer)
        return answers

    def _one(self, messages: Sequence[Message], number: int) -> Answer:
        if callable(self._answer):
            return self._answer(messages, number)
        if self.samples >= len(self._answer):
            raise ModelUnavailable(f"{self._name}: the script has {len(self._answer)} answers")
        return self._answer[self.samples]

    async def close(self) -> None:
        """Note that it was closed; idempotent."""
        self.closed = True


def _completion(text: str, sampling: Sampling, prompt_tokens: int) -> Completion:
    """A text as an answer: cut at the stop strings, and at `max_tokens` of four characters each."""
    for stop in sampling.stop:
        text = text.partition(stop)[0]
    reason = "stop"
    if len(text) > 4 * sampling.max_tokens:
        text, reason = text[: 4 * sampling.max_tokens], "length"
    return Completion(text, reason, usage=Usage(prompt_tokens, -(-len(text) // 4)))
