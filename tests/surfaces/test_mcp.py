"""The MCP server, with the SDK's client in memory: tools, results, errors, progress, resources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from refute.doors.worker import Done, Failed

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

import jsonschema
from mcp import MCPError
from mcp.client import Client

from refute.doors import mcp as served
from refute.doors.mcp import MOST_KEPT

FOUND = {
    "state": "wrong",
    "summary": "1 wrong",
    "functions": [],
    "unlisted": 0,
    "test_file": "",
    "test_path": "",
    "written": [],
    "not_looked_at": [],
    "complete": True,
    "report": "",
}
TARGET = {"targets": "cart.py"}


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
        return Done(FOUND, {"functions": ["all"]}, "as printed")

    monkeypatch.setattr(served, "call", call)
    return calls


def text(result: Any) -> str:
    """What a model reads of a result."""
    return str(result.content[0].text)


def test_six_tools_read_only_with_schemas(tmp_path: Path) -> None:
    tools = within(tmp_path, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "find_failing_input",
        "debug_function",
        "reproduce_issue",
        "vet_patch",
        "compare_behaviour",
        "check_tests_red_green",
    ]
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert tool.description
        assert not {"output", "write", "apply"} & set(tool.input_schema["properties"])
        for schema in (tool.input_schema, tool.output_schema):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
        assert all(one.get("description") for one in tool.input_schema["properties"].values())


def test_writing_is_an_argument_only_where_it_is_allowed(tmp_path: Path) -> None:
    asked = {"model": "openai:some"}
    tools = within(tmp_path, lambda c: c.list_tools(), writes=True, asked=asked).tools
    writing = {tool.name: tool.annotations for tool in tools}
    assert not writing["debug_function"].read_only_hint
    assert writing["debug_function"].destructive_hint
    assert writing["vet_patch"].read_only_hint
    assert all(one.open_world_hint for one in writing.values())  # a model is asked


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_result_is_typed_and_its_document_a_resource(
    tmp_path: Path, answering: list[dict[str, Any]], mode: str
) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async def use(client: Client) -> None:
        tool = (await client.list_tools()).tools[0]
        arguments = {**TARGET, "time_limit": 7}
        result = await client.call_tool(tool.name, arguments, progress_callback=progress)
        assert not result.is_error
        assert result.structured_content == {**FOUND, "report": "refute://calls/1"}
        assert json.loads(text(result)) == result.structured_content
        jsonschema.validate(result.structured_content, tool.output_schema)
        listed = (await client.list_resources()).resources
        assert [(one.uri, one.description) for one in listed] == [("refute://calls/1", "1 wrong")]
        document = (await client.read_resource("refute://calls/1")).contents[0]
        assert json.loads(document.text) == {"functions": ["all"]}
        shown = (await client.read_resource("refute://calls/1/text")).contents[0]
        assert (shown.text, shown.mime_type) == ("as printed", "text/plain")
        patterns = {
            one.uri_template for one in (await client.list_resource_templates()).resource_templates
        }
        assert patterns == {"refute://calls/{number}", "refute://calls/{number}/text"}

    within(tmp_path, use, mode=mode)
    assert heard == [(0.5, 7.0, "1 of 2 functions")]
    assert [(one["verb"], one["seconds"], one["root"]) for one in answering] == [
        ("find_failing_input", 7.0, tmp_path)
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "find_failing_input",
            {"target": "a.py"},
            ["unknown field `target`", "it takes", "targets"],
        ),
        ("find_failing_input", {"time_limit": 0}, ["`float` > 0", "time_limit"]),
        ("vet_patch", {"patch": "x"}, ["missing required field `issue`"]),
        (
            "debug_function",
            {"write": True},
            ["write: this server writes nothing", "--allow-writes"],
        ),
        ("find_bug", {}, ["no such tool", "find_failing_input"]),
        ("find_failing_input", {"targets": "missing.py"}, ["unavailable: no sandbox", "doctor"]),
    ],
)
@pytest.mark.usefixtures("answering")
def test_errors_say_what_where_and_how_to_mend(
    tmp_path: Path, tool: str, arguments: dict[str, Any], said: list[str]
) -> None:
    result = within(tmp_path, lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert [part for part in said if part not in text(result)] == []


def test_what_is_no_resource_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for uri in ("refute://calls/1", "refute://calls/../../etc", "x:y"):
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource(uri)

    within(tmp_path, use)


@pytest.mark.usefixtures("answering")
def test_the_latest_documents_are_kept(tmp_path: Path) -> None:
    async def use(client: Client) -> list[str]:
        for _ in range(MOST_KEPT + 2):
            await client.call_tool("find_failing_input", TARGET)
        return [one.uri for one in (await client.list_resources()).resources]

    kept = within(tmp_path, use)
    assert (len(kept), kept[0]) == (MOST_KEPT, "refute://calls/3")


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
        calling = asyncio.create_task(client.call_tool("find_failing_input", TARGET))
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
    assert ended == ["find_failing_input"]
