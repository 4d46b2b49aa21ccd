"""`hunt --since REF` and `debug --since REF`: only what changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

OLD = '''
def half(n):
    """Half of n.

    >>> half(4)
    2
    """
    return n // 2

def twice(n):
    """Twice n.

    >>> twice(4)
    8
    """
    return n + 2
'''


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def git(*words: str) -> None:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "m.py").write_text(OLD)
    git("add", "-A")
    git("commit", "-qm", "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


Refute = Callable[..., tuple[int, str, str]]


def test_only_what_changed_is_looked_at(repo: Path, refute: Refute) -> None:
    (repo / "m.py").write_text(OLD.replace("n // 2", "n // 3") + "\ndef _own(n):\n    return n\n")
    status, out, _ = refute("hunt", "--since", "HEAD", "--json")
    assert (status, json.loads(out)["function"]) == (1, "half"), "twice is wrong, and unchanged"
    status, out, _ = refute("debug", "--since", "HEAD", "m.py", "--json")
    assert status in (0, 4)
    assert json.loads(out)["function"] == "half"


def test_nothing_changed_is_no_fault(repo: Path, refute: Refute) -> None:
    status, out, err = refute("hunt", "--since", "HEAD")
    assert (status, out) == (0, "")
    assert "no public function or method changed since HEAD" in err


def test_bad_input(repo: Path, refute: Refute) -> None:
    assert refute("hunt", "--since", "gone")[0] == 2
    assert refute("hunt", "--since", "HEAD", "gone.py")[0] == 2
    status, _, err = refute("hunt")
    assert status == 2
    assert "name a target" in err
