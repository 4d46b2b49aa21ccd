"""The server: a tool is a verb, its answer what the command prints, failing things only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec
from mcp import types as protocol
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from refute.core.parameters import nearest
from refute.core.storage import parse_json
from refute.doors.verbs import VERBS, writing
from refute.doors.worker import READY, Failed, Fault, all_ended, call
from refute.results import described

_Context = ServerRequestContext[Any, Any]
INSTRUCTIONS = """\
refute proves Python code wrong by tests that fail, and fixes right by tests that pass. Code runs in
a sandbox; the checkout is not changed. Find: hunt. Fix: debug. Compare a change: diff. Prove a
change: gate (with an issue: reproduce, then vet). Each tool is the command `refute NAME` with the
same arguments. "cannot tell" and "unavailable" say nothing about the code: add a doctest."""
LONGEST = 2000
"""Characters of an answer without `detail`: about 600 tokens."""
_NEXT: dict[Fault, str] = {
    "bad input": "Change the arguments and call again.",
    "unavailable": "This says nothing about the code: the machine lacks something. Run "
    "`refute doctor`.",
    "stopped": "Call again with a larger time_limit, or with fewer targets.",
    "internal": "This is an error of refute and says nothing about the code. Try another target.",
}
"""Next step of a model after a call without a result."""


class _Tools:
    """The handlers of one server."""

    def __init__(
        self,
        root: Path,
        *,
        asked: Mapping[str, Any],
        allow: frozenset[str],
        at_once: int,
        most: float,
    ) -> None:
        self._how: dict[str, Any] = {
            "root": root,
            "asked": dict(asked),
            "outside": "outside" in allow,
        }
        self._open = asked.get("model") is not None
        self._writes = "writes" in allow
        self._most = most
        self._places = asyncio.Semaphore(at_once)

    async def list_tools(self, context: _Context, params: Any) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[self._tool(name) for name in VERBS])

    def _tool(self, name: str) -> protocol.Tool:
        schema = self._schema(name)
        writes = not writing(VERBS[name].options).isdisjoint(schema["properties"])
        return protocol.Tool(
            name=name,
            description=VERBS[name].text,
            input_schema=schema,
            annotations=protocol.ToolAnnotations(
                read_only_hint=not writes, destructive_hint=writes, open_world_hint=self._open
            ),
        )

    def _schema(self, name: str) -> dict[str, Any]:
        """JSON schema of a verb's arguments; those that write only where that is allowed."""
        schema = described(VERBS[name].arguments)
        hidden = set() if self._writes else writing(VERBS[name].options)
        fields = schema["properties"].items()
        schema["properties"] = {key: _short(one) for key, one in fields if key not in hidden}
        return {key: schema[key] for key in ("type", "properties", "required") if schema[key]}

    async def call_tool(
        self, context: _Context, params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        name, arguments = params.name, params.arguments or {}
        if fault := self._fault(name, arguments):
            return _refusal("bad input", fault)
        given = msgspec.convert(arguments, VERBS[name].arguments)
        limit = min(given.time_limit, self._most)
        arguments = {**arguments, "time_limit": limit}
        if self._places.locked():
            await context.session.report_progress(0, limit, "waiting for another call to end")

        async def told(seconds: float, line: str) -> None:
            await context.session.report_progress(round(seconds, 1), limit, line)

        async with self._places:
            done = await call(name, arguments, told=told, seconds=limit, **self._how)
        if isinstance(done, Failed):
            return _refusal(done.fault, f"{done.fault}: {done.message}")
        text = json.dumps(done.result) if given.detail else clipped(done.text)
        return protocol.CallToolResult(
            content=[protocol.TextContent(text=text)],
            structured_content=done.result if given.detail else None,
        )

    def _fault(self, name: str, arguments: dict[str, Any]) -> str:
        """Return the fault of a call; "" for none."""
        if name not in VERBS:
            return f"{name}: unknown tool{nearest(name, VERBS)}; there are {', '.join(VERBS)}"
        known = self._schema(name)["properties"]
        for one in arguments.keys() - known.keys():
            if one in writing(VERBS[name].options):
                return (
                    f"{name}: {one}: this server writes nothing; write what it returns yourself"
                    " (its user can start it as `refute mcp --allow writes`)"
                )
            near = nearest(one, known)
            return f"bad input: {name} has no argument {one}{near}; it takes {', '.join(known)}"
        try:
            msgspec.convert(arguments, VERBS[name].arguments)
        except msgspec.ValidationError as error:
            return f"bad input: {name}: {error}; it takes {', '.join(known)}"
        return ""


def _short(one: dict[str, Any]) -> dict[str, Any]:
    """The schema of an argument without what a model need not read: null, and empty defaults."""
    kinds = [kind for kind in one.pop("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) > 1:  # a list of texts, or one: a model needs to know only the first
        kinds = kinds[:1]
    found = {**one, **(kinds[0] if kinds else {})}
    return {key: value for key, value in found.items() if key != "default" or value}


def clipped(text: str) -> str:
    """A text without its middle, where it is long."""
    if len(text) <= LONGEST:
        return text
    head, tail = LONGEST * 2 // 3, LONGEST // 3
    left = len(text) - head - tail
    return f"{text[:head]}\n[... {left:,} characters; detail: true has all ...]\n{text[-tail:]}"


def _refusal(fault: Fault, line: str) -> protocol.CallToolResult:
    """An error that the model reads: what, where, and what to do."""
    text = f"{line}\n{_NEXT[fault]}"
    return protocol.CallToolResult(content=[protocol.TextContent(text=text)], is_error=True)


def make_server(
    root: Path,
    *,
    asked: Mapping[str, Any] | None = None,
    allow: frozenset[str] = frozenset(),
    at_once: int = 4,
    most: float = math.inf,
) -> Server[Any]:
    """A server for the folder `root`.

    `asked`: fields of `refute.models.asking.Asked`. `allow`: "writes" for arguments that write,
    "outside" for paths outside of the folder. `at_once`: calls that run at the same time. `most`:
    seconds that no call passes, whatever its `time_limit`.
    """
    import refute

    tools = _Tools(root, asked=asked or {}, allow=allow, at_once=at_once, most=most)
    return Server(
        "refute",
        title="refute",
        version=refute.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


async def _relay(reading: Any, messages: Any, writing: Any) -> None:
    """Hand messages on, and answer what is none: the SDK drops it, and who asked waits."""
    async with messages:
        async for one in reading:
            if isinstance(one, Exception):
                await writing.send(SessionMessage(_unread(one)))
            else:
                await messages.send(one)


def _unread(error: Exception) -> protocol.JSONRPCError:
    """The answer to a line that holds no message: to the request of its id, where it has one."""
    code, line, id = protocol.PARSE_ERROR, "no JSON", None
    for one in error.errors() if isinstance(error, ValidationError) else ():
        given, line = one["input"], one["msg"]
        if one["type"] != "json_invalid":
            code = protocol.INVALID_REQUEST
        elif isinstance(given, str):
            with contextlib.suppress(ValueError):
                given = parse_json(given)  # which takes what the SDK does not: a lone surrogate
        if isinstance(given, dict) and len(one["loc"]) in (0, 2):  # all of it, no part
            id = id if type(given.get("id")) not in (int, str) else given["id"]
    data = protocol.ErrorData(code=code, message=f"the line holds no message: {line}")
    return protocol.JSONRPCError(jsonrpc="2.0", id=id, error=data)


def serve(root: Path, **how: Any) -> None:
    """Serve over stdin and stdout until the client has gone. Parameters as of `make_server`."""

    async def served() -> None:
        server = make_server(root, **how)
        async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(_relay, reading, send, writing)
            await server.run(receive, writing, server.create_initialization_options())
            group.cancel_scope.cancel()
        await all_ended()

    READY.start(*VERBS)
    asyncio.run(served())
