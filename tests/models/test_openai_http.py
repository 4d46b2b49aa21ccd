"""The HTTP model against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from refute.errors import ContextTooLong, InputError, ModelUnavailable, NotContinued
from refute.models.contract import Completion, Message, Sampling, ToolCall
from refute.models.dialects import RetryPolicy
from refute.models.openai import OpenAIModel

from .loopback import Loopback, Reply, chat, error

HELLO = [Message("user", "hello")]


def ask(
    server: Loopback,
    retry: RetryPolicy,
    *,
    n: int = 1,
    sampling: Sampling = Sampling(),  # noqa: B008 (frozen)
    times: int = 1,
) -> list[Completion]:
    """The answers of one request (of the last, when asked several times)."""

    async def run() -> list[Completion]:
        model = OpenAIModel("m", base_url=server.url, retry=retry)
        try:
            for _ in range(times):
                answers = await model.generate(HELLO, n=n, sampling=sampling)
            return answers
        finally:
            await model.close()

    return asyncio.run(run())


def texts(answers: list[Completion]) -> list[str]:
    return [answer.text for answer in answers]


def test_what_is_sent(server: Loopback, quick_retry: RetryPolicy) -> None:
    sampling = Sampling(0.5, 0.8, 33, ("END",), 9)
    ask(server, quick_retry, n=4, sampling=sampling)
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hello"}],
            "temperature": 0.5,
            "top_p": 0.8,
            "max_tokens": 33,
            "n": 4,
            "stop": ["END"],
            "seed": 9,
        }
    ]


def test_tops_up_where_fewer_choices_come(server: Loopback, quick_retry: RetryPolicy) -> None:
    server.behaviour = lambda body, before: chat([f"{before}.{i}" for i in range(3)][: body["n"]])
    sampling = Sampling(seed=100)
    answers = ask(server, quick_retry, n=8, sampling=sampling)
    assert texts(answers) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2", "2.0", "2.1"]
    assert [body["n"] for body in server.requests] == [8, 5, 2]
    assert [body["seed"] for body in server.requests] == [100, 103, 106]


def test_what_is_refused_is_left_out_from_then_on(
    server: Loopback, quick_retry: RetryPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    def behave(body: dict[str, Any], before: int) -> Reply:
        if "seed" in body:
            return error(400, "Unrecognized request argument supplied: seed")
        if body["temperature"] != 1 if "temperature" in body else False:
            text = "Unsupported value: 'temperature' does not support 0.7 with this model."
            return error(400, text, param="temperature", code="unsupported_value")
        return chat(["fine STOP more"])

    server.behaviour = behave
    with caplog.at_level(logging.WARNING, "refute.models"):
        sampling = Sampling(seed=1, stop=("STOP",))
        answers = ask(server, quick_retry, sampling=sampling, times=3)
    assert texts(answers) == ["fine "]
    assert len(server.requests) == 5
    assert "temperature" not in server.requests[-1]
    assert server.requests[-1]["top_p"] == 0.9
    assert [record.args[1] for record in caplog.records if record.args] == ["seed", "temperature"]  # type: ignore[index]


def test_tools_are_never_left_out(server: Loopback, quick_retry: RetryPolicy) -> None:
    from refute.models.contract import Tool

    server.behaviour = lambda body, before: error(400, "m does not support tools")
    tools = (Tool("t", "d", "{}"),)
    with pytest.raises(ModelUnavailable, match="does not support tools"):
        ask(server, quick_retry, sampling=Sampling(tools=tools))
    assert len(server.requests) == 1


def test_tool_calls_of_all_forms(server: Loopback, quick_retry: RetryPolicy) -> None:
    """Arguments as text (OpenAI) and as an object (Ollama); an id or none."""
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": '{"x": 1'}},
        {"function": {"name": "g", "arguments": {"y": 2}}},
    ]
    server.behaviour = lambda body, before: chat([None], "tool_calls", tool_calls=calls)
    [answer] = ask(server, quick_retry)
    assert answer.text == ""
    assert answer.finish_reason == "tool_calls"
    assert answer.tool_calls == (
        ToolCall("a", "f", '{"x": 1'),
        ToolCall("call_1", "g", '{"y": 2}'),
    )


@pytest.mark.parametrize(
    "failure",
    [
        error(500, "oops"),
        Reply(cut=-1),
        Reply(body=b'{"choices": []}' * 50, cut=20),
        Reply(body=b"[" * 100_000),
        Reply(body=b'{"choices": [{"message": {"content": 3}}]}'),
        Reply(body={"error": {"message": "upstream is down", "code": 502}}),
        chat([]),
    ],
)
def test_asks_again_after_a_failure(
    failure: Reply, server: Loopback, quick_retry: RetryPolicy
) -> None:
    server.behaviour = lambda body, before: chat(["fine"]) if before == 2 else failure
    assert texts(ask(server, quick_retry)) == ["fine"]
    assert len(server.requests) == 3


def test_gives_up_in_one_line(server: Loopback, quick_retry: RetryPolicy) -> None:
    server.behaviour = lambda body, before: error(500, "first\nsecond \x1b[31m line")
    with pytest.raises(ModelUnavailable) as caught:
        ask(server, replace(quick_retry, tries=4))
    assert str(caught.value) == (
        f"openai:m at 127.0.0.1:{server.port}: first second [31m line (4 tries)"
    )
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("reply", "error_type", "words"),
    [
        (error(401, "Incorrect API key provided"), ModelUnavailable, "set OPENAI_API_KEY"),
        (Reply(404, b"Not Found"), ModelUnavailable, "no such model or address"),
        (error(413, "prompt is too long"), ContextTooLong, "too long"),
        (
            Reply(body={"error": {"message": "prompt is too long: 9 > 8", "code": 400}}),
            ContextTooLong,
            "9 > 8",
        ),
    ],
)
def test_what_will_never_work_is_not_tried_again(
    reply: Reply,
    error_type: type[Exception],
    words: str,
    server: Loopback,
    quick_retry: RetryPolicy,
) -> None:
    server.behaviour = lambda body, before: reply
    with pytest.raises(error_type, match=words):
        ask(server, quick_retry, n=3)
    assert len(server.requests) == 1


def test_one_request_is_told_to_wait_and_all_do(server: Loopback, quick_retry: RetryPolicy) -> None:
    arrivals: list[float] = []

    def behave(body: dict[str, Any], before: int) -> Reply:
        arrivals.append(time.monotonic())
        return chat(["fine"]) if before else error(429, "later", {"retry-after": "0.5"})

    server.behaviour = behave

    async def run() -> None:
        model = OpenAIModel("m", base_url=server.url, retry=quick_retry)
        first = asyncio.ensure_future(model.generate(HELLO, n=1, sampling=Sampling()))
        while not arrivals or model._not_before == 0.0:
            await asyncio.sleep(0.005)
        await asyncio.gather(first, *(ask_one(model) for _ in range(5)))
        await model.close()

    async def ask_one(model: OpenAIModel) -> None:
        await model.generate(HELLO, n=1, sampling=Sampling())

    asyncio.run(run())
    assert len(arrivals) == 7
    assert min(arrivals[1:]) - arrivals[0] >= 0.5


@pytest.mark.parametrize(
    "reply",
    [Reply(delay=3600.0), replace(chat(["x" * 10_000]), drip=0.1)],
    ids=["silent", "a byte at a time"],
)
def test_every_request_ends(reply: Reply, server: Loopback) -> None:
    server.behaviour = lambda body, before: reply
    retry = RetryPolicy(first_tries=2, attempt=1.0, total=300.0, pause=0.001)
    with pytest.raises(ModelUnavailable, match="no answer within"):
        ask(server, retry)
    assert len(server.requests) == 2


async def _closed(model: OpenAIModel, function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    try:
        return await function()
    finally:
        await model.close()


def test_no_more_at_once_than_allowed(server: Loopback, quick_retry: RetryPolicy) -> None:
    """Also where one request becomes eight, because n is refused."""

    def behave(body: dict[str, Any], before: int) -> Reply:
        if body.get("n", 1) > 1:
            return error(400, "only one completion choice is allowed")
        return replace(chat(["x"]), delay=0.02)

    server.behaviour = behave
    model = OpenAIModel("m", base_url=server.url, concurrency=5, retry=quick_retry)

    async def run() -> None:
        await asyncio.gather(*(model.generate(HELLO, n=8, sampling=Sampling()) for _ in range(6)))

    asyncio.run(_closed(model, run))
    assert server.at_once == 5


def test_the_key_is_sent_and_never_told(
    server: Loopback, quick_retry: RetryPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-very-secret\n")
    server.behaviour = lambda body, before: error(400, "bad request by sk-very-secret")
    with pytest.raises(ModelUnavailable) as caught:
        ask(server, quick_retry)
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert "secret" not in str(caught.value)


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: Loopback, quick_retry: RetryPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert len(ask(server, quick_retry)) == 1


def test_the_key_is_needed_for_openai_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match="set OPENAI_API_KEY"):
        OpenAIModel("gpt-4o")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1/")
    assert OpenAIModel("gpt-4o").base_url == "http://localhost:1/v1"
    with pytest.raises(InputError, match="must be like http"):
        OpenAIModel("m", base_url="localhost:8000")
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(InputError, match="characters that no key has"):
        OpenAIModel("m")


BEGUN = [*HELLO, Message("assistant", "One, two,")]


def continuing(server: Loopback, retry: RetryPolicy) -> list[str]:
    async def run() -> list[str]:
        model = OpenAIModel("m", base_url=server.url, retry=retry)
        try:
            both = (model.generate(BEGUN, n=1, sampling=Sampling()) for _ in range(2))
            return [texts(answers)[0] for answers in await asyncio.gather(*both)]
        finally:
            await model.close()

    return asyncio.run(run())


def test_an_answer_is_continued_where_the_server_does_it(
    server: Loopback, quick_retry: RetryPolicy
) -> None:
    def vllm(body: dict[str, Any], before: int) -> Reply:
        found = chat([" three"])
        found.body["usage"]["prompt_tokens"] = 7 if body.get("continue_final_message") else 12
        return found

    server.behaviour = vllm
    assert continuing(server, quick_retry) == [" three"] * 2
    assert len(server.requests) == 4, "it is found out once"
    for body in server.requests[-2:]:
        assert body["messages"][-1] == {"role": "assistant", "content": "One, two,"}
        assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)


def test_a_server_that_begins_a_new_answer_is_found_out(
    server: Loopback, quick_retry: RetryPolicy
) -> None:
    with pytest.raises(NotContinued):  # it ignores the parameter
        continuing(server, quick_retry)

    def strict(body: dict[str, Any], before: int) -> Reply:
        for name in ("continue_final_message", "add_generation_prompt"):
            if name in body:
                return error(400, f"Unrecognized request argument supplied: {name}")
        return chat(["Hello."])

    server.behaviour = strict
    with pytest.raises(NotContinued):
        continuing(server, quick_retry)
