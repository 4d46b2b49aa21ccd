"""The MCP server, with the SDK's client in memory: tools, results, errors, progress."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from refute.doors.worker import Done, Failed
from refute.verbs.declared import command_of

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

import jsonschema
from mcp.client import Client

from refute.doors import mcp as served

TARGET = {"targets": "cart.py"}
DOCUMENT = {"schema": "hunt/1", "state": "wrong"}


def within(
    root: Path, use: Callable[[Client], Awaitable[Any]], *, mode: str = "auto", **how: Any
) -> Any:
    """What `use` returns with a client of a server for `root`."""

    async def used() -> Any:
        async with Client(served.make_server(root, **how), mode=mode) as client:
            return await use(client)

    return asyncio.run(used())


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Calls are answered in this process; what was called is kept."""
    calls: list[dict[str, Any]] = []

    async def call(verb: str, arguments: dict[str, Any], *, told: Any, **how: Any) -> Any:
        calls.append({"verb": verb, "arguments": arguments, **how})
        await told(0.5, "1 of 2 functions")
        if arguments.get("targets") == "missing.py":
            return Failed("unavailable", "no sandbox")
        return Done(DOCUMENT, "1 wrong\n" + "x" * arguments.get("n", 0) + "\nnext: this")

    monkeypatch.setattr(served, "call", call)
    return calls


def text(result: Any) -> str:
    """What a model reads of a result."""
    return str(result.content[0].text)


def test_tools_are_verbs_and_few_words(tmp_path: Path) -> None:
    listed = within(tmp_path, lambda client: client.list_tools())
    assert [tool.name for tool in listed.tools] == [
        "hunt",
        "debug",
        "reproduce",
        "vet",
        "diff",
        "gate",
    ]
    assert len(json.dumps(listed.model_dump(exclude_none=True))) / 4 < 2000  # tokens, about
    for tool in listed.tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert not {"output", "write"} & set(tool.input_schema["properties"])
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        command = command_of(tool.name)
        known = {one.name for one in command.params} | {"time_limit", "detail"}
        assert tool.input_schema["properties"].keys() <= known
        assert all(one.get("description") for one in tool.input_schema["properties"].values())


def test_writing_is_an_argument_only_where_it_is_allowed(tmp_path: Path) -> None:
    how: Any = {"asked": {"model": "openai:some"}, "allow": frozenset({"writes"})}
    tools = within(tmp_path, lambda c: c.list_tools(), **how).tools
    writing = {tool.name: tool.annotations for tool in tools}
    assert not writing["debug"].read_only_hint
    assert writing["debug"].destructive_hint
    assert writing["vet"].read_only_hint
    assert all(one.open_world_hint for one in writing.values())  # a model is asked


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_result_is_short_and_its_document_comes_on_request(
    tmp_path: Path, answering: list[dict[str, Any]], mode: str
) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async def use(client: Client) -> None:
        arguments = {**TARGET, "time_limit": 7}
        result = await client.call_tool("hunt", arguments, progress_callback=progress)
        assert not result.is_error
        assert (text(result), result.structured_content) == ("1 wrong\n\nnext: this", None)
        result = await client.call_tool("hunt", {**arguments, "detail": True})
        assert json.loads(text(result)) == result.structured_content == DOCUMENT
        long = text(await client.call_tool("hunt", {**arguments, "n": 9000}))
        assert len(long) / 4 < 600  # tokens, about
        assert (long[:7], long[-10:]) == ("1 wrong", "next: this")
        assert "detail: true has all" in long

    within(tmp_path, use, mode=mode)
    assert heard == [(0.5, 7.0, "1 of 2 functions")]
    first = answering[0]
    assert (first["verb"], first["seconds"], first["root"]) == ("hunt", 7.0, tmp_path)
    assert not first["outside"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("hunt", {"target": "a.py"}, ["no argument target; did you mean targets?", "since"]),
        ("hunt", {"time_limit": 0}, ["`float` > 0", "time_limit"]),
        ("vet", {"fixes": "x"}, ["missing required field `issue`"]),
        ("debug", {"write": True}, ["write: this server writes nothing", "--allow writes"]),
        ("hnt", {}, ["unknown tool; did you mean hunt?"]),
        ("hunt", {"targets": "missing.py"}, ["unavailable: no sandbox", "doctor"]),
    ],
)
@pytest.mark.usefixtures("answering")
def test_errors_say_what_where_and_what_to_do(
    tmp_path: Path, tool: str, arguments: dict[str, Any], said: list[str]
) -> None:
    result = within(tmp_path, lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert [part for part in said if part not in text(result)] == []


def test_a_call_that_is_given_up_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    async def call(verb: str, arguments: dict[str, Any], **how: Any) -> Done:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(verb)
            raise
        raise AssertionError

    async def use(client: Client) -> None:
        calling = asyncio.create_task(client.call_tool("hunt", TARGET))
        await started.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        for _ in range(100):  # the server hears of it by a message
            if ended:
                break
            await asyncio.sleep(0.01)

    started = asyncio.Event()
    monkeypatch.setattr(served, "call", call)
    within(tmp_path, use, mode="legacy")
    assert ended == ["hunt"]
