"""The agent's hook: its messages, its answers, and that trouble of ours never keeps an agent."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError
from refute.gating.hook import read_message

from .endings import SPANS, Ending, planted

# Messages as recorded or as the agents' references show them: names and paths are made up.
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


Run = Callable[..., tuple[int, str, str]]
QUICKLY = ("--no-behaviour", "--neighbours", "0", "--runner", "unittest")


pytestmark = pytest.mark.usefixtures("cache")


def test_messages() -> None:
    sessions = ((STOP, STOP["session_id"]), (SUBAGENT, STOP["session_id"]))
    more = ((CODEX, STOP["session_id"]), (CURSOR, "c1"), (GEMINI, "s1"), (COPILOT, "s2"))
    for form, session in (*sessions, *more):
        told = read_message(json.dumps(form))
        assert (told.cwd, told.session, told.active) == (Path("/home/a/shop"), session, False)
    for again in (AGAIN, {**CURSOR, "loop_count": 1}, {**COPILOT, "stop_hook_active": True}):
        assert read_message(json.dumps(again)).active
    assert read_message(json.dumps(EARLY)).cwd is None
    for text in ("", "[]", "no", json.dumps({**STOP, "hook_event_name": "PreToolUse"})):
        with pytest.raises(InputError):
            read_message(text)


def hooked(
    refute: Run, monkeypatch: pytest.MonkeyPatch, text: str, *options: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return refute("gate", "--hook", *options)


def test_an_agent_is_kept_once_for_each_state(
    refute: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = Ending("", "red-first", SPANS, {"span.py": SPANS["span.py"] + "\nWEEK = 604800\n"})
    folder = planted(wrong, tmp_path / "repo")
    before = sorted(str(p) for p in folder.rglob("*"))
    status, out, err = hooked(refute, monkeypatch, message(STOP, folder), *QUICKLY)
    assert (status, out) == (2, "")
    assert "[red-first]" in err
    assert "none was added or changed" in err
    assert hooked(refute, monkeypatch, message(AGAIN, folder), *QUICKLY) == (0, "", "")
    assert hooked(refute, monkeypatch, message(STOP, folder), *QUICKLY) == (0, "", "")
    assert sorted(str(p) for p in folder.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize(
    ("agent", "keeps", "key"),
    [
        ("cursor", {}, "followup_message"),
        ("gemini", {"decision": "deny"}, "reason"),
        ("copilot", {"decision": "block"}, "reason"),
    ],
)
def test_agents_that_read_stdout(
    refute: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, agent: str, keeps: Any, key: str
) -> None:
    wrong = Ending("", "red-first", SPANS, {"span.py": SPANS["span.py"] + "\nWEEK = 604800\n"})
    text = message(ON_STDOUT[agent], planted(wrong, tmp_path / "repo"))
    status, out, err = hooked(refute, monkeypatch, text, *QUICKLY)
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert "[red-first]" in answer.pop(key)
    assert answer == keeps
    assert hooked(refute, monkeypatch, text, *QUICKLY) == (0, "", "")


def test_trouble_does_not_keep_the_agent(
    refute: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert hooked(refute, monkeypatch, message(STOP, tmp_path), *QUICKLY) == (0, "", "")
    status, _, err = hooked(refute, monkeypatch, "no JSON")
    assert status == 1
    assert "no hook message" in err
    for wrong in ("--nonsense", "--neighbours=-1", "--seconds=3", "--set=calls=0", "--set=x=1"):
        status, _, err = hooked(refute, monkeypatch, "{}", wrong)
        assert status == 1, err
    folder = planted(Ending("", "", SPANS, {"span.py": "x"}), tmp_path / "repo")
    status, _, err = hooked(refute, monkeypatch, message(STOP, folder), "--base", "nowhere")
    assert (status, "no such commit" in err) == (1, True)


def test_usage(refute: Run, tmp_path: Path) -> None:
    status, _, err = refute("gate", "-C", tmp_path)
    assert (status, "not in a git repository" in err) == (2, True)
    status, _, err = refute("gate", "--without", "red-frist")
    assert (status, "did you mean red-first?" in err) == (2, True)
    status, _, err = refute("gate", "--without", "green-now")
    assert (status, "cannot be left out" in err) == (2, True)


ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / "skills" / "refute" / "SKILL.md"


def front_matter() -> dict[str, str]:
    head = SKILL.read_text().split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.strip().splitlines())


def test_front_matter() -> None:
    """As agentskills.io has it."""
    fields = front_matter()
    assert set(fields) <= {"name", "description", "license", "compatibility"}
    assert fields["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert not re.search(r"[<>]|: ", fields["description"]), "plain YAML takes it as it is"
    assert len(fields["compatibility"]) <= 500
    assert len(SKILL.read_text().splitlines()) <= 60


def test_plugin_files() -> None:
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    (listed,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert plugin["name"] == listed["name"] == "refute"
    assert (ROOT / listed["source"] / "skills" / "refute" / "SKILL.md").is_file()
    servers = json.loads((ROOT / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"refute": {"command": "refute", "args": ["mcp"]}}


def test_the_plugins_hook(tmp_path: Path) -> None:
    """A shell runs it: quiet where there is no refute, and refute's status where there is."""
    stop = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]["Stop"]
    (hook,) = (one for group in stop for one in group["hooks"])
    assert hook["type"] == "command"

    def run(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", hook["command"]], env={"PATH": path}, input=message(STOP, tmp_path),
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = run(str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    program = tmp_path / "refute"
    program.write_text('#!/bin/sh\necho "$@" >&2\nexit 2\n')
    program.chmod(0o755)
    done = run(str(tmp_path))
    assert (done.returncode, done.stderr) == (2, "gate --hook\n")
