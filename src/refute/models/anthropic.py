"""A model behind Anthropic's messages API: `anthropic:NAME`, with the key ANTHROPIC_API_KEY.

Requests and answers are those of chat completions in another form, so only the form is changed
here: tries, pauses, bounds and errors are those of `refute.models.openai`. The API gives one answer
a request and takes no seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from refute.models.openai import OpenAIModel

_ENDS = {"max_tokens": "length", "tool_use": "tool_calls"}


class AnthropicModel(OpenAIModel):
    """A served model of Anthropic's API; see `OpenAIModel`."""

    KIND = "anthropic"
    HOME = "https://api.anthropic.com/v1"
    KEY, ADDRESS = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
    PATH = "/messages"
    NEVER = frozenset({"n", "seed"})

    @staticmethod
    def _whole(address: str) -> str:
        """Anthropic's own clients take an address without `/v1`; so its variable means the same
        here."""
        return address if address.endswith("/v1") else f"{address}/v1"

    async def _can_continue(self) -> bool:
        return False

    def _headers(self) -> dict[str, str]:
        key = {"x-api-key": self._key} if self._key else {}
        return {"anthropic-version": "2023-06-01", **key}

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        return as_messages(body)

    def _received(self, answer: object) -> object:
        return as_chat(answer)


def as_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a chat completion as one of `POST /messages`."""
    made: dict[str, Any] = {
        name: body[name] for name in ("model", "temperature", "top_p", "max_tokens") if name in body
    }
    system = [one["content"] for one in body["messages"] if one["role"] == "system"]
    if system:
        made["system"] = "\n\n".join(system)
    turns: list[dict[str, Any]] = []
    for one in body["messages"]:
        if one["role"] == "system":
            continue
        role, content = _content(one)
        if turns and turns[-1]["role"] == role:  # results of several tools are one turn
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    made["messages"] = turns
    if "stop" in body:
        made["stop_sequences"] = body["stop"]
    if "tools" in body:
        functions = [tool["function"] for tool in body["tools"]]
        made["tools"] = [
            {
                "name": one["name"],
                "description": one["description"],
                "input_schema": one["parameters"],
            }
            for one in functions
        ]
    return made


def _content(message: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Role and blocks of a message."""
    text = message.get("content") or ""
    if message["role"] == "tool":
        name = message["tool_call_id"]
        return "user", [{"type": "tool_result", "tool_use_id": name, "content": text}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        blocks.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": function["name"],
                "input": _arguments(function["arguments"]),
            }
        )
    return message["role"], blocks


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments that a model gave a tool; they need not be JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def as_chat(answer: object) -> object:
    """An answer of `POST /messages` as a chat completion; what is none is given as it is."""
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list):
        return answer
    blocks: Sequence[Any] = [one for one in answer["content"] if isinstance(one, dict)]
    texts = [one.get("text") for one in blocks if one.get("type") == "text"]
    calls = [
        {
            "id": one.get("id"),
            "function": {"name": one.get("name"), "arguments": one.get("input", {})},
        }
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    message = {"content": "".join(map(str, texts)), "tool_calls": calls}
    told = answer.get("usage")
    usage: Mapping[str, Any] = told if isinstance(told, dict) else {}
    end = answer.get("stop_reason")
    return {
        "choices": [{"message": message, "finish_reason": _ENDS.get(str(end), "stop")}],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
        },
    }
