"""What coding agents load: the skill, the plugin, the hook. Every command of the skill is run."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from .messages import STOP, message

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
