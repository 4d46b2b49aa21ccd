"""Requests and answers in the form of OpenAI's chat completions (servers and batch files)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from refute.models.contract import (
    Completion,
    Message,
    Sampling,
    ToolCall,
    Usage,
    is_count,
    to_be_continued,
)

CONTINUING = {"continue_final_message": True, "add_generation_prompt": False}
"""What vLLM and SGLang are told where the last message is an answer to be continued."""

_CUT = frozenset({"length", "max_tokens", "model_length"})
"""How servers call an answer that was cut off."""


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, *, n: int, first: int = 0
) -> dict[str, Any]:
    """The body of `POST /chat/completions`. What has its default is left out."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
    }
    if n > 1:
        body["n"] = n
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.seed is not None:
        body["seed"] = sampling.seed + first
    if to_be_continued(messages):
        body |= CONTINUING
    if sampling.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(tool.parameters),
                },
            }
            for tool in sampling.tools
        ]
    return body


def completions(
    answer: object, sampling: Sampling, messages: Sequence[Message] = (), *, n: int
) -> list[Completion]:
    """The first n choices of an answer, in their order; there may be fewer, or none.

    A choice without content is an empty text; the reasoning that some servers send beside the
    content is left out. The prompt's tokens are counted for the first choice, the answer's tokens
    are shared among the choices by their length; where a server counts nothing, four characters of
    `messages` or text are a token. Raises `ValueError`, its text says which field is wrong.
    """
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")
    choices = answer.get("choices")
    if not isinstance(choices, list):
        raise ValueError("choices: not a list")
    parts = [_choice(choice, sampling, at) for at, choice in enumerate(choices[:n])]
    lengths = [_length(text, calls) for text, _, calls in parts]
    prompt, written = _usage(answer.get("usage"), messages, lengths)
    return [
        Completion(text, reason, calls, Usage(0 if at else prompt, share))
        for at, ((text, reason, calls), share) in enumerate(
            zip(parts, _shares(written, lengths), strict=True)
        )
    ]


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """The text up to the first stop string, and whether there was one."""
    ends = [at for at in (text.find(one) for one in stop if one) if at >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def _message(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"role": message.role, "content": _encodable(message.content)}
    if message.tool_calls:
        document["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    return document


def _choice(choice: object, sampling: Sampling, at: int) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Text, finish reason and tool calls of a choice."""
    where = f"choices[{at}]"
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ValueError(f"{where}.message: not a JSON object")
    text = _content(message.get("content"), where)
    calls = tuple(_tool_calls(message.get("tool_calls"), where))
    said = choice.get("finish_reason")
    reason = "length" if isinstance(said, str) and said in _CUT else "stop"
    text, stopped = cut_at_stop(text, sampling.stop)
    if stopped:
        reason = "stop"
    elif calls:
        reason = "tool_calls"
    return text, reason, calls


def _content(content: object, where: str) -> str:
    """The text of a message: a text, nothing, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return _encodable(content)
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return _encodable("".join(text for text in texts if isinstance(text, str)))
    raise ValueError(f"{where}.message.content: not a text")


def _tool_calls(calls: object, where: str) -> list[ToolCall]:
    found: list[ToolCall] = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ValueError(f"{where}.message.tool_calls: a call without a name")
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):  # Ollama's own form: an object
            arguments = json.dumps(arguments)
        name = call.get("id")
        found.append(
            ToolCall(
                _encodable(name) if isinstance(name, str) and name else f"call_{len(found)}",
                _encodable(function["name"]),
                _encodable(arguments),
            )
        )
    return found


def _length(text: str, calls: Sequence[ToolCall]) -> int:
    return len(text) + sum(len(call.name) + len(call.arguments) for call in calls)


def _usage(usage: object, messages: Sequence[Message], lengths: Sequence[int]) -> tuple[int, int]:
    """Tokens of the prompt and of all choices."""
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    prompt, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not is_count(prompt):
        prompt = sum(-(-len(message.content) // 4) for message in messages)
    if not is_count(written):
        written = sum(-(-length // 4) for length in lengths)
    return prompt, written


def _encodable(text: str) -> str:
    """Without lone surrogates, which JSON can escape and UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shares(total: int, lengths: Sequence[int]) -> list[int]:
    """Divide a whole number by lengths; the shares add up to it."""
    sums = list(itertools.accumulate((length + 1 for length in lengths), initial=0))
    ends = [total * part // sums[-1] for part in sums] if lengths else [0]
    return [end - start for start, end in itertools.pairwise(ends)]
