"""`refute init`: what it proposes, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from refute.gating.hook import FORMS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\n')
    return tmp_path


ALL = ("settings", "workflow", "agents", "--agent", "claude")


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_shows_the_diff_and_writes_nothing(refute: Run, repo: Path) -> None:
    before = files(repo)
    status, out, err = refute("init", "-C", repo)
    assert (status, files(repo)) == (0, before)
    assert "+[tool.refute]" in out
    assert "refute.yml is left alone: name what it installs refute from: --source" in out
    assert "+++ b/AGENTS.md" in out
    assert ".claude" not in out, "the hook is for those who ask for it"
    assert "--write does it" in err


def test_writes_once(refute: Run, repo: Path) -> None:
    source = "refute @ git+https://host/o/refute@abc"
    assert refute("init", *ALL, "-C", repo, "--write", "--source", source)[0] == 0
    written = files(repo)
    settings = tomllib.loads(written["pyproject.toml"])
    assert settings["project"]["name"] == "a"
    assert set(settings["tool"]["refute"]) == {"budget", "neighbours"}
    workflow = yaml.safe_load(written[".github/workflows/refute.yml"])
    [ours, theirs, gate] = [step["run"] for step in workflow["jobs"]["gate"]["steps"][2:]]
    assert f"refute/bin/python\" -I -m pip install '{source}'" in ours
    assert "pip install pytest -e ." in theirs, "the project's packages are not refute's"
    assert 'refute/bin/refute" gate' in gate
    assert "${{ github.base_ref }}" in written[".github/workflows/refute.yml"]
    status, out, err = refute("init", *ALL, "-C", repo, "--write")
    assert (status, files(repo)) == (0, written)
    assert out.count("is left alone") == 4
    assert "nothing to write" in err


def test_adds_to_what_is_there(refute: Run, repo: Path) -> None:
    (repo / "AGENTS.md").write_text("# Ours\n\nBe kind.\n")
    (repo / ".claude").mkdir()
    place = repo / ".claude" / "settings.json"
    mine = {"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}
    place.write_text(json.dumps(mine))
    assert refute("init", *ALL, "-C", repo, "--write")[0] == 0
    assert (repo / "AGENTS.md").read_text().startswith("# Ours\n\nBe kind.\n\n<!-- refute: begin")
    stops = json.loads(place.read_text())["hooks"]["Stop"]
    commands = [hook["command"] for one in stops for hook in one["hooks"]]
    assert commands == ["a", "refute gate --hook"]
    assert json.loads(place.read_text())["model"] == "x"


@pytest.mark.parametrize("text", ["no JSON", '{"hooks": []}', '{"hooks": {"Stop": 3}}', "[]"])
def test_leaves_what_it_does_not_understand(refute: Run, repo: Path, text: str) -> None:
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(text)
    (repo / "pyproject.toml").write_text("not = [toml")
    status, out, _ = refute("init", *ALL, "-C", repo, "--write")
    assert status == 0
    assert out.count("is left alone") == 3
    assert (repo / ".claude" / "settings.json").read_text() == text


@pytest.mark.parametrize(
    ("agent", "path", "event", "limit"),
    [
        ("claude", ".claude/settings.json", "Stop", '"timeout": 600}'),
        ("codex", ".codex/hooks.json", "Stop", '"timeout": 600}'),
        ("copilot", ".github/hooks/refute.json", "agentStop", '"timeoutSec": 600}'),
        ("cursor", ".cursor/hooks.json", "stop", '"timeout": 600}'),
        ("gemini", ".gemini/settings.json", "AfterAgent", '"timeout": 600000}'),
    ],
)
def test_each_agent_has_its_own_file(
    refute: Run, repo: Path, agent: str, path: str, event: str, limit: str
) -> None:
    before = files(repo)
    assert refute("init", "--agent", agent, "-C", repo, "--write")[0] == 0
    assert set(files(repo)) - set(before) == {path}, "the parts are for those who name them"
    [entry] = json.loads(files(repo)[path])["hooks"][event]
    assert f'"refute gate --hook", {limit}' in json.dumps(entry)
    assert event in FORMS, "the gate answers in the form of this event"
