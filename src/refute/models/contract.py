"""The contract of a language model: what is asked, and what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeGuard, TypeVar


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool that the model asked for."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it; it may be malformed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call, in the terms of the OpenAI API."""

    name: str
    description: str
    parameters: str
    """JSON schema of the arguments, as JSON text (hashable)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant's message."""
    tool_call_id: str | None = None
    """Of a tool's message: the call that it answers."""


def to_be_continued(messages: Sequence[Message]) -> bool:
    """Whether a conversation ends with the assistant's words, which the model is to go on with."""
    return bool(messages) and messages[-1].role == "assistant"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples are drawn; part of the cache key."""

    temperature: float = 0.7
    top_p: float = 0.9
    max_tokens: int = 2048
    stop: tuple[str, ...] = ()
    seed: int | None = None
    tools: tuple[Tool, ...] = ()


GREEDY = Sampling(temperature=0.0, top_p=1.0)


def is_count(value: object) -> TypeGuard[int]:
    """Whether a server, or a file, may have counted so many tokens: prices are floats, and a float
    holds no whole number beyond 2**53 exactly (one of 400 digits not at all)."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one sample. A prompt that was sent once for n samples counts for the first only."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled answer."""

    text: str
    finish_reason: str = "stop"
    """`stop`, `length` (cut at `max_tokens`) or `tool_calls`."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()


class Model(Protocol):
    """A language model. What each must do is checked by `refute.testing.models`."""

    @property
    def name(self) -> str:
        """What identifies the model in a cache key and a journal, e.g. `openai:gpt-4o-mini`."""
        ...

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """Exactly n samples. An implementation counts what came and asks for the rest.

        They are number `first` to `first + n - 1` of this request: recorded and batched answers are
        found by the number, and sample i is drawn with the seed `sampling.seed + i`.

        Where the last message is the assistant's, each sample is what follows on it. Raises
        `NotContinued` where that cannot be had; and `ModelUnavailable`, `AnswersPending`,
        `ContextTooLong`.
        """
        ...

    async def close(self) -> None:
        """Release connections and memory; idempotent."""
        ...


@dataclass(slots=True)
class Tally:
    """What asking has cost so far."""

    requests: int = 0
    """Requests sent to the model (a request may ask for several samples)."""
    samples: int = 0
    """Samples that the model was paid for."""
    cached: int = 0
    """Samples that came from the cache."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    """None: no price is known for the model."""
    seconds: float = 0.0
    """Waiting for answers, added up over requests (they overlap)."""

    def plus(self, other: Tally) -> Tally:
        """What both have cost; a price that is not known makes the sum unknown."""
        names = [one.name for one in fields(Tally) if one.name != "usd"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        known = self.usd is not None and other.usd is not None
        return Tally(**sums, usd=(self.usd or 0.0) + (other.usd or 0.0) if known else None)


class Asker(Protocol):
    """How a method asks: one per problem; cache, budget and accounting lie behind it."""

    @property
    def tally(self) -> Tally:
        """What this problem's questions have cost, cached samples included at their first price."""
        ...

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first: int = 0,
        sampling: Sampling = ...,
    ) -> list[Completion]:
        """Samples number `first` to `first + n - 1` of this request, from the cache where it can.

        The same request and index give the same sample for as long as the cache lives. Raises
        `ModelUnavailable`, `AnswersPending`, `BudgetExceeded`, `ContextTooLong`, and `NotContinued`
        where the last message is the assistant's and the model cannot go on from there.
        """
        ...


Result = TypeVar("Result")


async def together(jobs: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Their results, in their order, all at once. Raises the first exception, when all have ended.

    So every one gets to put its question, even where the answers come later (`AnswersPending`).
    """
    ended = await asyncio.gather(*jobs, return_exceptions=True)
    results: list[Result] = []
    for one in ended:
        if isinstance(one, BaseException):
            raise one
        results.append(one)
    return results
