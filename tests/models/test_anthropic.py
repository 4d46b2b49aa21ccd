"""Anthropic's messages API: the conformance suite over HTTP, and the form of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from refute.errors import ModelUnavailable
from refute.models.anthropic import AnthropicModel, as_chat, as_messages
from refute.models.budget import Prices
from refute.models.contract import Message, Sampling, Tool, ToolCall
from refute.models.dialects import RetryPolicy
from refute.testing.models import CHECKS, Check, Subject, conform

from .loopback import Loopback, Reply
from .test_conformance import exact


def behave(body: dict[str, Any], before: int) -> Reply:
    """The strict server of chat completions, in the other form."""
    *_, last = body["messages"]
    asked = {**body, "messages": [{"content": "".join(map(_said, last["content"]))}]}
    asked["stop"] = body.get("stop_sequences", [])
    if "tools" in body:
        asked["tools"] = [{"function": one} for one in body["tools"]]
    reply = exact(asked, before)
    if reply.status != 200:
        message = "prompt is too long: 5000 tokens > 500 maximum"
        error = {"type": "invalid_request_error", "message": message}
        return Reply(reply.status, {"type": "error", "error": error})
    (choice,) = reply.body["choices"]
    content = [{"type": "text", "text": choice["message"]["content"] or ""}]
    for call in choice["message"].get("tool_calls", []):
        named = {"id": call["id"], "name": call["function"]["name"]}
        content.append({"type": "tool_use", **named, "input": {"a": 1}})
    end = {"length": "max_tokens", "tool_calls": "tool_use"}.get(
        choice["finish_reason"], "end_turn"
    )
    usage = {"input_tokens": 7, "output_tokens": 5}
    return Reply(body={"content": content, "stop_reason": end, "usage": usage})


def _said(block: dict[str, Any]) -> str:
    return str(block.get("text", block.get("content")))


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback(behave) as made:
        yield made


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Check, server: Loopback) -> None:
    retry = RetryPolicy(attempt=30, total=60)
    conform(
        check,
        Subject(
            open=lambda: AnthropicModel("m", base_url=server.url, retry=retry),
            tools=True,
            limit=2000,
        ),
    )


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_an_address_as_anthropics_own_clients_take_it(end: str) -> None:
    model = AnthropicModel("m", base_url=f"http://localhost:1/proxy{end}")
    assert model.base_url == "http://localhost:1/proxy/v1"


def test_what_is_sent(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    price = Prices.load().of(AnthropicModel("claude-3-haiku-20240307"))
    assert price.output == 1.25
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

    async def ask() -> None:
        model = AnthropicModel("claude-3-haiku-20240307")
        sampling = Sampling(temperature=0.7, top_p=0.9, max_tokens=9, stop=("END",), seed=1)
        said = [Message("system", "Be brief."), Message("user", "hello")]
        answers = await model.generate(said, n=2, sampling=sampling)
        assert len(answers) == 2
        assert model.name == "anthropic:claude-3-haiku-20240307"
        await model.close()

    asyncio.run(ask())
    body, headers = server.requests[-1], server.headers[-1]
    assert body == {
        "model": "claude-3-haiku-20240307",
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "stop_sequences": ["END"],
    }
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("secret", "2023-06-01")
    assert "authorization" not in headers


def test_a_key_is_needed_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelUnavailable, match="set ANTHROPIC_API_KEY"):
        AnthropicModel("claude-3-haiku")


def test_results_of_tools_are_one_turn() -> None:
    from refute.models.dialects import request_body

    tool = Tool("look", "Looks.", '{"type": "object"}')
    calls = (ToolCall("1", "look", '{"at": 1}'), ToolCall("2", "look", "no JSON"))
    said = [
        Message("user", "go"),
        Message("assistant", "", tool_calls=calls),
        Message("tool", "one", tool_call_id="1"),
        Message("tool", "two", tool_call_id="2"),
    ]
    body = as_messages(request_body("m", said, Sampling(tools=(tool,)), n=1))
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    assert [one["input"] for one in body["messages"][1]["content"]] == [{"at": 1}, {}]
    assert [one["tool_use_id"] for one in body["messages"][2]["content"]] == ["1", "2"]
    assert body["tools"][0]["input_schema"] == {"type": "object"}
    assert as_chat({"type": "error"}) == {"type": "error"}
