"""Messages that agents give their hooks when they stop, as recorded or as their references show
them: names and paths are made up."""

from __future__ import annotations

import json
from typing import Any

STOP: dict[str, Any] = {
    "session_id": "6f1c2f6e-5f0a-4b57-9f3d-3a1b8f4d9c11",
    "transcript_path": "/home/a/.claude/projects/-home-a-shop/6f1c2f6e.jsonl",
    "cwd": "/home/a/shop",
    "permission_mode": "acceptEdits",
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "I fixed total() so that it is never negative, and added a test.",
}
AGAIN = {**STOP, "stop_hook_active": True}
SUBAGENT = {**STOP, "hook_event_name": "SubagentStop", "agent_id": "a7", "agent_type": "Explore"}
EARLY = {name: STOP[name] for name in ("session_id", "transcript_path", "stop_hook_active")}
"""Of an old version: without the event's name and without `cwd`."""
CODEX = {**STOP, "turn_id": "t3", "model": "gpt-5", "transcript_path": None}
CURSOR: dict[str, Any] = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "hook_event_name": "stop",
    "cursor_version": "3.7.21",
    "workspace_roots": ["/home/a/shop"],
    "status": "completed",
    "loop_count": 0,
}
GEMINI = {
    "session_id": "s1",
    "transcript_path": "/home/a/.gemini/tmp/s1.json",
    "cwd": "/home/a/shop",
    "hook_event_name": "AfterAgent",
    "timestamp": "2026-11-20T10:00:00Z",
    "prompt": "Fix total().",
    "prompt_response": "I fixed it.",
    "stop_hook_active": False,
}
COPILOT = {
    "timestamp": 1764000000000,
    "cwd": "/home/a/shop",
    "sessionId": "s2",
    "transcriptPath": "/home/a/.copilot/session-state/s2/events.jsonl",
    "stopReason": "end_turn",
    "stop_hook_active": False,
}
ON_STDOUT = {"cursor": CURSOR, "gemini": GEMINI, "copilot": COPILOT}
"""Of agents that read the answer on stdout."""


def message(form: dict[str, Any], cwd: object) -> str:
    """The message as it comes on stdin, for an agent that works in `cwd`."""
    where = {"workspace_roots": [str(cwd)]} if "workspace_roots" in form else {"cwd": str(cwd)}
    return json.dumps({**form, **where})
