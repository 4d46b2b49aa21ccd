"""The contract of a language model, and its requests and answers as JSON objects.

The cache, recordings and replay share one form, whose fields are those of the dataclasses here;
defaults are left out of messages and answers. A digest names a request.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeGuard, TypeVar

from msgspec import ValidationError, convert, to_builtins

from refute.core.problems import Count, Number


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
    """Return whether a conversation ends with words of the assistant that the model has to
    continue."""
    return bool(messages) and messages[-1].role == "assistant"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; part of the cache key."""

    temperature: Number = 0.7
    top_p: Number = 0.9
    max_tokens: Count = 2048
    stop: tuple[str, ...] = ()
    seed: int | None = None
    tools: tuple[Tool, ...] = ()


GREEDY = Sampling(temperature=0.0, top_p=1.0)


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a number can be a count of tokens from a server or a file: prices are floats,
    and a float holds no whole number beyond 2**53 exactly (one of 400 digits not at all)."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one sample. A prompt that was sent once for n samples counts for the first only."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0


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
        """Name of the model in cache keys and journals, e.g. `openai:gpt-4o-mini`."""
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
    """Cost of the questions so far."""

    requests: Count = 0
    """Requests sent to the model (a request may ask for several samples)."""
    samples: Count = 0
    """Samples that the model was paid for."""
    cached: Count = 0
    """Samples that came from the cache."""
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    usd: Number | None = 0.0
    """None: no price is known for the model."""
    seconds: Number = 0.0
    """Waiting for answers, added up over requests (they overlap)."""

    def plus(self, other: Tally) -> Tally:
        """Return the cost of both; a price that is not known makes the sum unknown."""
        names = [one.name for one in fields(Tally) if one.name != "usd"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        known = self.usd is not None and other.usd is not None
        return Tally(**sums, usd=(self.usd or 0.0) + (other.usd or 0.0) if known else None)


class Asker(Protocol):
    """Access of a method to its model: one per problem, with cache, budget and accounting behind
    it."""

    @property
    def tally(self) -> Tally:
        """Return the cost of this problem's questions, cached samples included at their first
        price."""
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


def digest(messages: Sequence[Message], sampling: Sampling, model: str = "") -> str:
    """SHA-256, as 64 hexadecimal digits, of a request (to a certain model)."""
    document = {
        "model": model,
        "messages": [without_defaults(message) for message in messages],
        "sampling": sampling_json(sampling),
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def without_defaults(one: Message | Completion) -> dict[str, Any]:
    """A message or an answer; what has its default is left out."""
    document = to_builtins(one)
    kept = [field.name for field in fields(one) if getattr(one, field.name) != field.default]
    return {name: document[name] for name in kept}


def sampling_json(sampling: Sampling) -> dict[str, Any]:
    """All settings of the sampling."""
    floats = {"temperature": float(sampling.temperature), "top_p": float(sampling.top_p)}
    return {**to_builtins(sampling), **floats}


def read_as(kind: type[Result], document: object, name: str = "") -> Result:
    """A message, a sampling or an answer that was written as JSON; a field that is left out has its
    default, and a text is an answer. Raises `ValueError`, whose text names the field."""
    if isinstance(document, str) and kind is Completion:
        document = {"text": document}
    try:
        return convert(document, kind)
    except ValidationError as error:
        raise ValueError(f"{name or kind.__name__.lower()}: {error}") from None
