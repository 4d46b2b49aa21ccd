"""Answers of a hostile server: bounded in memory and time, and one line whatever they are."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import os
import time
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError, ModelUnavailable
from refute.models.budget import Price
from refute.models.contract import Completion, Message, Sampling
from refute.models.dialects import RetryPolicy, completions
from refute.models.openai import LARGEST, OpenAIModel
from refute.models.providers import open_model

from .loopback import Loopback, Reply, chat

HELLO = [Message("user", "hello")]


def ask(server: Loopback, *, n: int = 1, tries: int = 8) -> list[Completion]:
    async def run() -> list[Completion]:
        retry = RetryPolicy(first_tries=tries, tries=tries, attempt=30.0, total=60.0, pause=0.001)
        model = OpenAIModel("m", base_url=server.url, retry=retry)
        try:
            return await model.generate(HELLO, n=n, sampling=Sampling())
        finally:
            await model.close()

    return asyncio.run(run())


def answer(**fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "hi"}
    return {"choices": [{"message": message, "finish_reason": "stop"}], **fields}


@cache
def bomb(size: int) -> bytes:
    """Gzip of `size` spaces."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(b" " * (1 << 20)) for _ in range(size >> 20)]
    return b"".join((*parts, packer.flush()))


GZIP = {"content-encoding": "gzip"}


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    "reply",
    [
        lambda: Reply(endless=b" " * 65536),
        lambda: Reply(body=bomb(16 * LARGEST), headers=GZIP),
        lambda: Reply(body=gzip.compress(b""), endless=b"x" * 65536, headers=GZIP),
        lambda: Reply(body=b" " * (LARGEST + 1)),
        lambda: Reply(body=bomb(4 * LARGEST), headers={"content-encoding": "gzip, gzip"}),
        lambda: Reply(body=b"x", headers={"content-encoding": "br"}),
        lambda: Reply(body=b"x", headers={"content-encoding": "zstd"}),
        lambda: Reply(body=b"no gzip", headers=GZIP),
    ],
    ids=["endless", "bomb", "trailer", "large", "twice", "br", "zstd", "lie"],
)
def test_a_body_is_read_up_to_a_bound_and_once(
    reply: Callable[[], Reply], status: int, server: Loopback
) -> None:
    sent = replace(reply(), status=status)
    server.behaviour = lambda body, before: sent
    importlib.import_module("httpx")  # five times as slow while allocations are traced
    tracemalloc.start()
    try:
        start = time.monotonic()
        with pytest.raises(ModelUnavailable, match="its answer is"):
            ask(server)
        taken, (_, peak) = time.monotonic() - start, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(server.requests) == 1, "asked again for what is refused"
    assert peak < 12 * LARGEST
    assert taken < 20


def test_no_other_server_gets_the_key(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Loopback() as other:
        server.behaviour = lambda body, before: Reply(307, headers={"location": other.url})
        with pytest.raises(ModelUnavailable, match=f"redirects to {other.url}: give"):
            ask(server)
        assert other.requests == []


def test_packed_answers_are_read(server: Loopback) -> None:
    packed = gzip.compress(json.dumps(answer()).encode())
    server.behaviour = lambda body, before: Reply(body=packed, headers=GZIP)
    assert ask(server)[0].text == "hi"
    assert server.headers[0]["accept-encoding"] == "gzip"


@pytest.mark.parametrize("charset", ["idna", "undefined", "rot13"])
@pytest.mark.parametrize("status", [200, 400])
def test_no_charset_but_utf_8(charset: str, status: int, server: Loopback) -> None:
    reply = chat(["é"])
    headers = {"content-type": f"application/json; charset={charset}"}
    server.behaviour = lambda body, before: Reply(status, reply.body, headers)
    if status == 200:
        assert ask(server)[0].text == "é"
    else:
        with pytest.raises(ModelUnavailable):
            ask(server, tries=1)


ODD = [{}, None, 10**400, -1, "x" * 1000, [[["length"]]]]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
@pytest.mark.parametrize("field", ["finish_reason", "usage", "prompt_tokens", "index", "role"])
def test_fields_of_other_types(field: str, odd: Any, server: Loopback) -> None:
    body = answer(usage={"prompt_tokens": 3, "completion_tokens": 4})
    if field == "usage":
        body["usage"] = odd
    elif field == "prompt_tokens":
        body["usage"] = {"prompt_tokens": odd, "completion_tokens": odd}
    else:
        body["choices"][0][field] = odd
    server.behaviour = lambda _, before: Reply(body=body)
    (completion,) = ask(server)
    assert completion.text == "hi"
    usage = completion.usage
    assert 0 <= usage.prompt_tokens < 2**53
    assert 0 <= usage.completion_tokens < 2**53
    assert Price(1.0, 1.0).of(usage) >= 0


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("depth", [150, 100_000])
@pytest.mark.parametrize(
    ("left", "right"), [('{"error":', "}"), ("[", "]"), ('{"message":', "}"), ('{"detail":[', "]}")]
)
def test_nested_bodies(left: str, right: str, depth: int, status: int, server: Loopback) -> None:
    nested = (left * depth + '"x"' + right * depth).encode()
    server.behaviour = lambda body, before: Reply(status, nested)
    with pytest.raises(ModelUnavailable):
        ask(server, tries=2)


def test_a_complaint_that_makes_patterns_slow(server: Loopback) -> None:
    words = "prompt tokens " * 500_000 + "n " * 500_000
    server.behaviour = lambda body, before: Reply(400, words.encode())
    start = time.monotonic()
    with pytest.raises(ModelUnavailable):
        ask(server, tries=1)
    assert time.monotonic() - start < 5


def test_lone_surrogates_of_tool_calls() -> None:
    call = {"id": "\ud800", "function": {"name": "a\udfff", "arguments": '{"\ud800": 1}'}}
    message = {"content": None, "tool_calls": [call]}
    (found,) = completions({"choices": [{"message": message}]}, Sampling(), n=1)
    for text in (found.tool_calls[0].id, found.tool_calls[0].name, found.tool_calls[0].arguments):
        text.encode()


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
def test_batch_files_are_read_by_the_same_rules(odd: Any, tmp_path: Path) -> None:
    folder = tmp_path / "batch"

    async def run() -> list[Completion]:
        model = open_model(f"batch:{folder}")
        try:
            return await model.generate(HELLO, n=1, sampling=Sampling())
        finally:
            await model.close()

    with pytest.raises(ModelUnavailable):
        asyncio.run(run())
    request = json.loads((folder / "requests.jsonl").read_text())
    body = answer(usage={"prompt_tokens": odd, "completion_tokens": odd})
    body["choices"][0]["finish_reason"] = odd
    row = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
    (folder / "responses.jsonl").write_text(json.dumps(row) + "\n")
    assert asyncio.run(run())[0].text == "hi"


@pytest.mark.parametrize(
    "row",
    [
        '{"custom_id": "0-0-1", "response": ' + "[" * 900 + "]" * 900 + "}",
        "[" * 100_000 + "]" * 100_000,
        '{"custom_id": []}',
        '{"custom_id": "' + "a" * 40 + '-0-1", "response": {"status_code": [], "body": {}}}',
        '{"custom_id": "' + "a" * 40 + '-0-1", "response": {"body": {"choices": 1}}}',
    ],
    ids=["nested", "deep", "id", "status", "choices"],
)
def test_hostile_rows_of_a_batch(row: str, tmp_path: Path) -> None:
    (tmp_path / "responses.jsonl").write_text(row + "\n")
    with pytest.raises(InputError, match=r"responses\.jsonl:1: "):
        open_model(f"batch:{tmp_path}")


@pytest.mark.parametrize(
    "line",
    [
        '{"messages": [], "completion": {"text": "x", "usage": {"prompt_tokens": 1' + "0" * 400,
        '{"messages": [], "completion": {"text": "x", "usage": {"prompt_tokens": 1'
        + "0" * 400
        + "}}}",
        '{"messages": [], "sampling": {"temperature": 1' + "0" * 400 + '}, "completion": "x"}',
        '{"messages": [], "sampling": {"temperature": NaN}, "completion": "x"}',
        '{"messages": ' + "[" * 900 + "]" * 900 + ', "completion": "x"}',
    ],
)
def test_hostile_lines_of_a_recording(line: str, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"recorded\.jsonl:1: "):
        open_model(f"replay:{path}")


@pytest.mark.parametrize("spec", ["replay:/dev/zero", "replay:{}/fifo", "replay:{}"])
def test_recordings_that_are_no_files(spec: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError):
        open_model(spec.format(tmp_path))
