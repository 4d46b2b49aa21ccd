"""What coding agents load: the skill, the plugin, the hook. Every command of the skill is run."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ..diffing.repositories import commit, git
from .endings import edited
from .messages import STOP, message

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / "skills" / "refute" / "SKILL.md"
ISSUE = """shipping_cost(50.0, 1.0) is not free

```python
>>> from shipping import shipping_cost
>>> shipping_cost(50.0, 1.0)
4.9
```

I expected 0.0.
"""
THERE = """import unittest

from shipping import shipping_cost


class TestShipping(unittest.TestCase):
    def test_light(self):
        self.assertEqual(shipping_cost(20.0, 2.0), 4.9)
"""
TEST = (
    THERE
    + """
    def test_free(self):
        self.assertEqual(shipping_cost(50.0, 1.0), 0.0)
"""
)
DUE = {
    "reproduce": (1,),
    "hunt": (0, 1, 5),
    "debug": (0, 1, 4, 5),
    "gate": (0,),
    "vet": (0,),
    "diff": (0,),
}
"""Exit statuses in the repository below; of `hunt` and `debug` what little time allows."""
QUICKLY = {
    "reproduce": ("--runner", "unittest"),
    "hunt": ("--budget", "0.5"),
    "debug": ("--budget", "0.5"),
    "diff": ("--budget", "0.5"),
    "gate": ("--no-behaviour", "--runner", "unittest"),
    "vet": ("--no-behaviour", "--runner", "unittest"),
}
"""What is added to each, so that none takes long: unittest starts faster than pytest."""


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
    assert len(SKILL.read_text().split()) < 2500


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


def test_every_command_of_the_skill(
    refute: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    faulty = (ROOT / "examples" / "shipping.py").read_text()
    fixed = edited(faulty, ("subtotal > FREE_FROM", "subtotal >= FREE_FROM"))
    commit(folder, {"shipping.py": faulty, "test_shipping.py": THERE})
    (folder / "shipping.py").write_text(fixed)
    (tmp_path / "FIX.diff").write_text(git(folder, "diff") + "\n")
    (tmp_path / "ISSUE.md").write_text(ISSUE)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    names = {
        "FILE.py::FUNCTION": "shipping.py::shipping_cost",
        "ISSUE.md": "../ISSUE.md",
        "FIX.diff": "../FIX.diff",
        "test.patch": "../test.patch",
    }
    commands = re.findall(r"(?m)^ *(refute \w.*)$", SKILL.read_text())
    assert len(commands) == 7
    ran = {}
    for command in commands:
        done = command.split()[1] in ("gate", "diff")
        (folder / "shipping.py").write_text(fixed if done else faulty)
        (folder / "test_shipping.py").write_text(TEST if done else THERE)
        words = [names.get(word, word) for word in command.split()[1:]]
        status, out, err = refute(*words, *QUICKLY[words[0]])
        assert status in DUE[words[0]], f"{command}\n{out}\n{err}"
        ran[command] = out
    assert "red before, green now" in ran["refute gate"]
    assert "def test_" in (tmp_path / "test.patch").read_text()
