"""Requests and answers as JSON objects, and the digest that names a request.

One form for the cache, for recordings and for replay; the fields are those of the dataclasses in
`refute.models.contract`, defaults left out of messages and answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from refute.models.contract import (
    Completion,
    Message,
    Sampling,
    Tool,
    ToolCall,
    Usage,
    is_count,
)


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
    """What `message_json` wrote. Raises `ValueError`, its text says which field is wrong."""
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
    """What `sampling_json` wrote; a field that is left out has its default. Raises `ValueError`."""
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
    """What `completion_json` wrote, or a plain text. Raises `ValueError`, naming the field."""
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
