"""The contract of a language model, and its requests and answers as JSON objects.

The cache, recordings and replay share one form, whose fields are those of the dataclasses here;
defaults are left out of messages and answers. A digest names a request.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine, Iterable, Mapping, Sequence
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
    """Return whether a conversation ends with words of the assistant that the model has to
    continue."""
    return bool(messages) and messages[-1].role == "assistant"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; part of the cache key."""

    temperature: float = 0.7
    top_p: float = 0.9
    max_tokens: int = 2048
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
        "messages": [message_json(message) for message in messages],
        "sampling": sampling_json(sampling),
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def message_json(message: Message) -> dict[str, Any]:
    """A message; the parts that only a tool's conversation has are left out where empty."""
    document: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        document["tool_calls"] = [_call_json(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    return document


def message_from(document: object) -> Message:
    """Read a message that `message_json` wrote. Raises `ValueError`, its text says which field is
    wrong."""
    fields = _mapping(document, "message")
    role = fields.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"role: {role!r} is none of system, user, assistant, tool")
    reply = fields.get("tool_call_id")
    if reply is not None and not isinstance(reply, str):
        raise ValueError("tool_call_id: not a text")
    return Message(role, _text(fields, "content"), _calls(fields), reply)


def sampling_json(sampling: Sampling) -> dict[str, Any]:
    """All settings of the sampling."""
    return {
        "temperature": float(sampling.temperature),
        "top_p": float(sampling.top_p),
        "max_tokens": sampling.max_tokens,
        "stop": list(sampling.stop),
        "seed": sampling.seed,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in sampling.tools
        ],
    }


def sampling_from(document: object) -> Sampling:
    """Read parameters that `sampling_json` wrote; a field that is left out has its default. Raises
    `ValueError`."""
    fields = _mapping(document, "sampling")
    usual = Sampling()
    stop = fields.get("stop", [])
    if not isinstance(stop, list) or not all(isinstance(one, str) for one in stop):
        raise ValueError("stop: not a list of texts")
    tools = fields.get("tools", [])
    if not isinstance(tools, list):
        raise ValueError("tools: not a list")
    seed = fields.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ValueError("seed: not a whole number")
    return Sampling(
        temperature=number_from(fields, "temperature", usual.temperature),
        top_p=number_from(fields, "top_p", usual.top_p),
        max_tokens=_count(fields, "max_tokens", usual.max_tokens),
        stop=tuple(stop),
        seed=seed,
        tools=tuple(
            Tool(_text(tool, "name"), _text(tool, "description"), _text(tool, "parameters"))
            for tool in (_mapping(one, "tools") for one in tools)
        ),
    )


def completion_json(completion: Completion) -> dict[str, Any]:
    """An answer with its usage."""
    document: dict[str, Any] = {"text": completion.text}
    if completion.finish_reason != "stop":
        document["finish_reason"] = completion.finish_reason
    if completion.tool_calls:
        document["tool_calls"] = [_call_json(call) for call in completion.tool_calls]
    usage = completion.usage
    if usage != Usage():
        document["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }
    return document


def completion_from(document: object) -> Completion:
    """Read an answer that `completion_json` wrote, or a plain text. Raises `ValueError`, naming the
    field."""
    if isinstance(document, str):
        return Completion(document)
    fields = _mapping(document, "completion")
    usage = _mapping(fields.get("usage", {}), "usage")
    return Completion(
        text=_text(fields, "text"),
        finish_reason=_text({"finish_reason": "stop", **fields}, "finish_reason"),
        tool_calls=_calls(fields),
        usage=Usage(_count(usage, "prompt_tokens", 0), _count(usage, "completion_tokens", 0)),
    )


def _call_json(call: ToolCall) -> dict[str, str]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _calls(fields: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = fields.get("tool_calls", [])
    if not isinstance(calls, list):
        raise ValueError("tool_calls: not a list")
    return tuple(
        ToolCall(_text(call, "id"), _text(call, "name"), _text(call, "arguments"))
        for call in (_mapping(one, "tool_calls") for one in calls)
    )


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{field}: not a JSON object")
    return value


def _text(fields: Mapping[str, Any], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str):
        raise ValueError(f"{field}: not a text")
    return value


def number_from(fields: Mapping[str, Any], field: str, usual: float) -> float:
    """A number of the fields, `usual` where it is left out. Raises `ValueError`."""
    value = fields.get(field, usual)
    # The bound keeps out infinity, NaN and the long integers that no float holds.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        raise ValueError(f"{field}: not a number")
    return float(value)


def _count(fields: Mapping[str, Any], field: str, usual: int) -> int:
    value = fields.get(field, usual)
    if not is_count(value):
        raise ValueError(f"{field}: not a whole number from 0")
    return value
