"""The agent's hook: its messages, its answers, and that trouble of ours never keeps an agent."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError
from refute.gating.hook import read_message

from .endings import SPANS, Ending, planted
from .messages import (
    AGAIN,
    CODEX,
    COPILOT,
    CURSOR,
    EARLY,
    GEMINI,
    ON_STDOUT,
    STOP,
    SUBAGENT,
    message,
)  # fmt: skip

Run = Callable[..., tuple[int, str, str]]
QUICKLY = ("--no-behaviour", "--neighbours", "0", "--runner", "unittest")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))


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
