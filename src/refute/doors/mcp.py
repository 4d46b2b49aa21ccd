"""An MCP server over stdio: tools are calls of verbs, resources are what they returned."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import msgspec
from mcp import types as protocol
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from refute.core.files import parse_json
from refute.doors.arguments import WRITING
from refute.doors.calls import all_ended, call
from refute.doors.verbs import VERBS
from refute.doors.worker import Done, Failed, Fault
from refute.results import described

INSTRUCTIONS = """\
refute proves Python code wrong with unit tests that fail, and fixes right by tests that turn
green. Code runs in a sandbox, and the checkout is not changed.
A usual order: find_failing_input (is this function wrong?), debug_function (a small fix),
check_tests_red_green (are the tests of my change red before it and green after it?), vet_patch
(does my fix resolve the issue, and what else does it do?), compare_behaviour (on which inputs does
my change behave otherwise?).
"cannot tell" and "unavailable" are no verdict on the code. No claim is made without a failing test:
where nothing says what is right (no docstring, doctest or test), add an example."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a model reads of a tool."""

    title: str
    description: str


DESCRIPTIONS = {
    "find_failing_input": Told(
        "Find a failing input",
        "Look for inputs on which Python functions are wrong, judged by their docstrings, doctests "
        "and given tests. Returns failing tests with expected and actual output, and a pytest file "
        "of them. Use it on a function that you suspect, or with `since` on what changed.",
    ),
    "debug_function": Told(
        "Fix a function",
        "Look for a small fix of Python functions that turns their failing tests green and breaks "
        "none. Returns a unified diff, how sure it is, and other fixes with an input that tells "
        "them apart. `fixed` is claimed only where a test that does not come from the search shows "
        "it.",
    ),
    "reproduce_issue": Told(
        "Reproduce an issue",
        "Write a test that fails now for the reason that an issue describes, in a private copy of "
        "the checkout. Returns it as a patch, with how it fails.",
    ),
    "vet_patch": Told(
        "Vet a patch",
        "Judge a fix (a unified diff against the checkout as it is) by tests: reproducing tests "
        "and existing tests near it are run without the fix and with it, and inputs are looked for "
        "on which it changes behaviour. Verdict: fixed, not fixed, breaks tests, does not apply or "
        "cannot tell.",
    ),
    "compare_behaviour": Told(
        "Compare behaviour",
        "Find inputs on which the functions that changed between two revisions behave otherwise, "
        "with what each side does. For `the refactoring changes nothing` and for reviews.",
    ),
    "check_tests_red_green": Told(
        "Check tests red, then green",
        "Run the tests that a change adds or edits on the code before the change and on the code "
        "after it. A test of a fix must fail before it and pass after it; one that passes before "
        "shows nothing.",
    ),
}


def input_schema(verb: str, *, writes: bool) -> dict[str, Any]:
    """JSON schema of a verb's arguments; those that write only where that is allowed."""
    schema = described(VERBS[verb].arguments)
    if not writes:
        fields = schema["properties"].items()
        schema["properties"] = {name: one for name, one in fields if name not in WRITING}
    return schema


def output_schema(verb: str) -> dict[str, Any]:
    """JSON schema of a verb's structured result."""
    return described(VERBS[verb].result)


_Context = ServerRequestContext[Any, Any]
_MEND: dict[Fault, str] = {
    "bad input": "Change the arguments and call again.",
    "unavailable": "This says nothing about the code: the machine lacks something. "
    "`refute doctor` says what, and how to get it.",
    "stopped": "Call again with a larger time_limit, or with less to look at.",
    "internal": "This is a fault of refute's own and says nothing about the code. Go on without it "
    "or try another target.",
}
"""What a model can do about a call that has no result."""


class _Tools:
    """The handlers of one server."""

    def __init__(
        self, root: Path, *, asked: Mapping[str, Any], writes: bool, at_once: int, most: float
    ) -> None:
        self._root = root
        self._most = most
        self._asked = dict(asked)
        self._writes = writes
        self._reports = Reports()
        self._places = asyncio.Semaphore(at_once)

    async def list_tools(self, context: _Context, params: Any) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[self._tool(name) for name in DESCRIPTIONS])

    def _tool(self, name: str) -> protocol.Tool:
        schema = input_schema(name, writes=self._writes)
        writes = not WRITING.isdisjoint(schema["properties"])
        told = DESCRIPTIONS[name]
        return protocol.Tool(
            name=name,
            title=told.title,
            description=told.description,
            input_schema=schema,
            output_schema=output_schema(name),
            annotations=protocol.ToolAnnotations(
                title=told.title,
                read_only_hint=not writes,
                destructive_hint=writes,
                open_world_hint=self._asked.get("model") is not None,
            ),
        )

    async def call_tool(
        self, context: _Context, params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        name, arguments = params.name, params.arguments or {}
        if name not in DESCRIPTIONS:
            return _refusal(f"{name}: no such tool; there are {', '.join(DESCRIPTIONS)}")
        if fault := self._fault(name, arguments):
            return _refusal(fault)
        wanted = msgspec.convert(arguments, VERBS[name].arguments).time_limit
        limit = min(wanted, self._most)
        arguments = {**arguments, "time_limit": limit}
        if self._places.locked():
            await context.session.report_progress(0, limit, "waiting for another call to end")
        async with self._places:
            done = await self._call(context, name, arguments, limit)
        if isinstance(done, Failed):
            return _refusal(f"{done.fault}: {done.message}", _MEND[done.fault])
        result = {**done.result, "report": self._reports.keep(done)}
        text = msgspec.json.format(msgspec.json.encode(result)).decode()
        content: list[protocol.ContentBlock] = [protocol.TextContent(text=text)]
        return protocol.CallToolResult(content=content, structured_content=result)

    def _fault(self, name: str, arguments: dict[str, Any]) -> str:
        """What is wrong with the arguments; "": nothing."""
        try:
            msgspec.convert(arguments, VERBS[name].arguments)
        except msgspec.ValidationError as error:
            known = ", ".join(input_schema(name, writes=self._writes)["properties"])
            return f"bad input: {name}: {error}; it takes {known}"
        if not self._writes and (wanted := sorted(WRITING & arguments.keys())):
            return (
                f"bad input: {name}: {', '.join(wanted)}: this server writes nothing; write what "
                "it returns yourself (a user may start it as `refute mcp --allow-writes`)"
            )
        return ""

    async def _call(
        self, context: _Context | None, verb: str, arguments: dict[str, Any], limit: float
    ) -> Done | Failed:
        async def told(seconds: float, line: str) -> None:
            if context is not None:
                await context.session.report_progress(round(seconds, 1), limit, line)

        how: dict[str, Any] = {"root": self._root, "seconds": limit, "asked": self._asked}
        return await call(verb, arguments, told=told, **how)

    async def list_resources(self, context: _Context, params: Any) -> protocol.ListResourcesResult:
        kept = [
            protocol.Resource(
                uri=f"{CALLS}/{number}",
                name=f"call {number}",
                description=done.result.get("summary"),
                mime_type="application/json",
            )
            for number, done in self._reports.kept.items()
        ]
        return protocol.ListResourcesResult(resources=kept)

    async def list_templates(
        self, context: _Context, params: Any
    ) -> protocol.ListResourceTemplatesResult:
        rows = [
            protocol.ResourceTemplate(uri_template=uri, name=title, mime_type=kind)
            for uri, (title, kind) in TEMPLATES.items()
        ]
        return protocol.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        self, context: _Context, params: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        uri = str(params.uri)
        found = self._reports.read(uri)
        if found is None:
            line = f"{uri}: no such resource; list them, or call a tool for its `report`"
            raise MCPError(code=protocol.INVALID_PARAMS, message=line)
        text, kind = found
        content = protocol.TextResourceContents(uri=uri, text=text, mime_type=kind)
        return protocol.ReadResourceResult(contents=[content])


def _refusal(line: str, mend: str = _MEND["bad input"]) -> protocol.CallToolResult:
    """An error that the model reads: what, where, and how to mend it."""
    text = f"{line}\n{mend}"
    return protocol.CallToolResult(content=[protocol.TextContent(text=text)], is_error=True)


def make_server(
    root: Path,
    *,
    asked: Mapping[str, Any] | None = None,
    writes: bool = False,
    at_once: int = 1,
    most: float = math.inf,
) -> Server[Any]:
    """A server for the folder `root`.

    `asked`: fields of `refute.models.asking.Asked`. `writes`: tools have the arguments that write
    into the checkout. `at_once`: calls that run at the same time. `most`: seconds that no call
    passes, whatever its `time_limit`.
    """
    import refute

    tools = _Tools(root, asked=asked or {}, writes=writes, at_once=at_once, most=most)
    return Server(
        "refute",
        title="refute",
        version=refute.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=tools.list_resources,
        on_list_resource_templates=tools.list_templates,
        on_read_resource=tools.read_resource,
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

    asyncio.run(served())


CALLS = "refute://calls"
MOST_KEPT = 50
"""Calls whose documents are kept, the latest."""
TEMPLATES = {
    f"{CALLS}/{{number}}": ("Document of a call", "application/json"),
    f"{CALLS}/{{number}}/text": ("A call as the command line prints it", "text/plain"),
}
"""URI template -> (title, media type)."""
_CALL = re.compile(rf"{CALLS}/(\d+)(/text)?\Z")


@dataclass(slots=True)
class Reports:
    """What the calls of a session returned."""

    kept: OrderedDict[int, Done] = field(default_factory=OrderedDict)
    count: int = 0

    def keep(self, done: Done) -> str:
        """Keep a document; the URI that it is read by."""
        self.count += 1
        self.kept[self.count] = done
        while len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return f"{CALLS}/{self.count}"

    def read(self, uri: str) -> tuple[str, str] | None:
        """Text and media type of a call's document; None where there is none of this URI."""
        found = _CALL.match(uri)
        done = self.kept.get(int(found[1])) if found and len(found[1]) < 10 else None
        if done is None or found is None:
            return None
        if found[2]:
            return done.text, "text/plain"
        return json.dumps(done.document, indent=2), "application/json"
