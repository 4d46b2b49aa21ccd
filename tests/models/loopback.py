"""A real HTTP server on this machine that speaks chat completions and misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server sends, and how."""

    status: int = 200
    body: bytes | dict[str, Any] = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    drip: float = 0.0
    """Seconds between single bytes of the body."""
    cut: int | None = None
    """Close the connection after so many bytes of the body; -1: before the status line."""
    endless: bytes = b""
    """Sent again and again after the body, until the other side hangs up."""


Behaviour = Callable[[dict[str, Any], int], Reply]
"""From the body of a request and how many came before it."""


def chat(texts: Sequence[str | None], reason: str = "stop", **more: Any) -> Reply:
    """A good answer with these choices; `more` goes into each message."""
    return Reply(
        body={
            "id": "x",
            "object": "chat.completion",
            "choices": [
                {
                    "index": at,
                    "message": {"role": "assistant", "content": text, **more},
                    "finish_reason": reason,
                }
                for at, text in enumerate(texts)
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5 * len(texts), "total_tokens": 0},
        }
    )


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Reply:
    """A refusal as OpenAI words it."""
    return Reply(status, {"error": {"message": message, **more}}, headers or {})


def obedient(body: dict[str, Any], before: int) -> Reply:
    """As many choices as are asked for; text: the last message and the number of the request.

    A user who says "long" gets an endless text, cut at `max_tokens`; one who says "stop" gets one
    with stop strings in it; with tools, the first is called.
    """
    said = body["messages"][-1]["content"]
    n = body.get("n", 1)
    if body.get("tools"):
        name = body["tools"][0]["function"]["name"]
        call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
        return chat([None] * n, "tool_calls", tool_calls=[call])
    if said == "long":
        return chat(["word " * body["max_tokens"]] * n, "length")
    if said == "stop":
        text = "one STOP two END three"
        for stop in body.get("stop", []):
            text = text.split(stop)[0]
        return chat([text] * n)
    return chat([f"{said} {before}.{at}" for at in range(n)])


class Loopback:
    """The server, in a thread of its own. Use as a context manager."""

    def __init__(self, behaviour: Behaviour = obedient) -> None:
        self.behaviour = behaviour
        self.requests: list[dict[str, Any]] = []
        """The body of every request that came."""
        self.headers: list[dict[str, str]] = []
        self.at_once = 0
        """The most requests that were in progress together."""
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def samples(self) -> int:
        """How many choices were asked for."""
        return sum(body.get("n", 1) for body in self.requests)

    def __enter__(self) -> Loopback:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        reply = self.behaviour(body, len(self.requests))
        self.requests.append(body)
        self.headers.append(headers)
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        try:
            return await self._send(reply, writer)
        finally:
            self._now -= 1

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(reply.delay)
        if reply.cut == -1:
            return False
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(data))}
        if reply.endless:
            del headers["content-length"]
        lines = [f"{name}: {value}" for name, value in (headers | reply.headers).items()]
        start = "\r\n".join([f"HTTP/1.1 {reply.status} X", *lines, "", ""])
        writer.write(start.encode())
        if reply.cut is not None:
            writer.write(data[: reply.cut])
            await writer.drain()
            return False
        if reply.drip:
            for at in range(len(data)):
                writer.write(data[at : at + 1])
                await writer.drain()
                await asyncio.sleep(reply.drip)
        else:
            writer.write(data)
        while reply.endless:
            writer.write(reply.endless)
            await writer.drain()
        await writer.drain()
        return True
