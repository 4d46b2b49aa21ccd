"""A model's server on loopback that answers from a table, for frameworks that call one.

It speaks OpenAI's chat completions, streamed where that is asked for. Where a request offers the
tool `bash`, it is called first, with `probe`; what it says then is kept in `told`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ServedModel:
    """Use as a context manager. `answers`: a word of the question -> what is said."""

    def __init__(self, answers: Mapping[str, str], probe: str) -> None:
        self.told: list[str] = []
        """What the tool has said."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

            def do_POST(handler: Any) -> None:
                size = int(handler.headers["content-length"])
                asked = json.loads(handler.rfile.read(size))
                message = self._message(asked["messages"], bool(asked.get("tools")))
                kind, data = written(asked, message)
                handler.send_response(200)
                handler.send_header("content-type", kind)
                handler.send_header("content-length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

        self._answers, self._probe = answers, probe
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ServedModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _message(self, messages: list[dict[str, Any]], tools: bool) -> dict[str, Any]:
        if messages[-1]["role"] == "tool":
            self.told.append(text_of(messages[-1]))
        elif tools:
            call = {"name": "bash", "arguments": json.dumps({"command": self._probe})}
            calls = [{"id": "c1", "type": "function", "function": call}]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        said = " ".join(map(text_of, messages))
        text = next((text for word, text in self._answers.items() if word in said), "I cannot")
        return {"role": "assistant", "content": text}


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, whose content may come in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(one["text"] for one in content)


def written(asked: dict[str, Any], message: dict[str, Any]) -> tuple[str, bytes]:
    """The type of the answer's content and its bytes."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "x", "created": 1, "model": asked["model"]}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", json.dumps(whole).encode()
    calls = [{**one, "index": at} for at, one in enumerate(message.get("tool_calls", []))]
    delta = {**message, "tool_calls": calls} if calls else message
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": usage},
    ]
    lines = [json.dumps({**head, "object": "chat.completion.chunk", **part}) for part in parts]
    return "text/event-stream", "".join(f"data: {x}\n\n" for x in [*lines, "[DONE]"]).encode()
