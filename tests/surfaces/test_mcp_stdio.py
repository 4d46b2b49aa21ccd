"""`refute mcp` as a process: the SDK's client finds a bug, has it fixed and the fix judged."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "mcp.md").read_text()
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}


def example() -> ModuleType:
    """The client of examples/mcp."""
    spec = importlib.util.spec_from_file_location("session", ROOT / "examples/mcp/session.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_find_fix_and_vet_as_the_document_records_it(tmp_path: Path) -> None:
    session: Any = example()
    root = session.repository(tmp_path)
    calls = asyncio.run(session.session(root))
    assert [(tool, text.partition("\n")[0].partition(":")[0]) for tool, _, text in calls] == [
        ("hunt", "1 wrong"),
        ("debug", "1 fixed"),
        ("vet", "fixed"),
    ]
    assert session.transcript(calls).strip() in DOCUMENT
    state = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    )
    assert state.stdout == " M shipping.py\n"  # by the client


def exchange(folder: Path, *lines: str) -> tuple[list[Any], str, int]:
    """What the server answers to each line but a notification, what it says after the last one, and
    its exit status."""
    with subprocess.Popen(
        [sys.executable, "-m", "refute", "mcp", "-C", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for line in lines:  # what waits for an answer when the input ends gets none
            server.stdin.write(f"{line}\n")
            server.stdin.flush()
            if "notifications" not in line:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        return answers, server.stdout.read(), server.wait(60)


def said(**message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message})


INITIALIZE = said(id=1, method="initialize", params=HELLO)


def test_only_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    """Every line is a message, and the process ends when its input does."""
    ready, tools = said(method="notifications/initialized"), said(id=2, method="tools/list")
    answers, rest, code = exchange(tmp_path, INITIALIZE, ready, tools)
    assert [one["id"] for one in answers] == [1, 2]
    assert len(answers[1]["result"]["tools"]) == 6
    assert (rest, code) == ("", 0)


def test_what_is_no_message_is_answered(tmp_path: Path) -> None:
    """The next one is answered, too."""
    lines = {
        r'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"a": "\ud800"}}': (5, -32700),
        '{"jsonrpc": "2.0", "id": "x", "method": 7}': ("x", -32600),
        '{"jsonrpc": "2.0", "id": 5': (None, -32700),
        "[" * 100_000: (None, -32700),
        "[]": (None, -32600),
    }
    (_, *answers, last), _, _ = exchange(tmp_path, INITIALIZE, *lines, said(id=9, method="ping"))
    assert [(one["id"], one["error"]["code"]) for one in answers] == [*lines.values()]
    assert not any("\n" in one["error"]["message"] for one in answers)
    assert (last["id"], "result" in last) == (9, True)


def test_configurations_start_this_command() -> None:
    """Each client's snippet is well-formed and ends in `refute mcp`."""
    blocks = re.findall(r"```(json|toml)\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(blocks) >= 3
    for language, text in blocks:
        read = json.loads(text) if language == "json" else tomllib.loads(text)
        (servers,) = read.values()
        server = servers["refute"]
        words = [server["command"], *server["args"]]
        at = words.index("refute")
        assert words[at : at + 2] == ["refute", "mcp"]
