"""Messages that Claude Code gives its hooks when it stops, as recorded: names and paths are made
up."""

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


def message(form: dict[str, Any], cwd: object) -> str:
    """The message as it comes on stdin, for an agent that works in `cwd`."""
    return json.dumps({**form, "cwd": str(cwd)})
