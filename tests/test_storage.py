"""What refute writes goes through no link of a checkout, whichever verb writes it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.core.storage import write_atomically, write_output
from refute.errors import InputError

Run = Callable[..., tuple[int, str, str]]
M = "def half(n):\n    '''\n    >>> half(4)\n    2\n    '''\n    return n // {}\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A checkout, beside a folder that nobody is to write to."""
    folder = tmp_path / "repo"
    (folder / "sub").mkdir(parents=True)
    (folder / "m.py").write_text(M.format(3))
    (folder / "sub" / "m.py").write_text(M.format(3))
    (folder / "pyproject.toml").write_text("[project]\nname = 'm'\nversion = '1'\n")
    (folder / "issue.md").write_text("half(4) returns 1\n\nIt should be 2.\n")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in ("init -q", "add m.py", "commit -qm first"):
        subprocess.run([*git, *words.split()], check=True)
    (folder / "m.py").write_text(M.format(4))
    outside = tmp_path / "outside"
    (outside / "workflows").mkdir(parents=True)
    (outside / "file.py").write_text(M.format(3))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("link", "target", "command"),
    [
        (".claude", ".", "init --agent claude --write"),
        (".github", ".", "init --write"),
        ("AGENTS.md", "file.py", "init --write"),
        ("out.py", "file.py", "hunt m.py --budget 0.2 -o out.py --force"),
        ("new.py", "none.py", "hunt m.py --budget 0.2 -o new.py"),
        ("tests", ".", "hunt m.py --budget 0.2 -o tests/test_x.py"),
        ("tests", ".", "hunt ../m.py --budget 0.2 -o ../tests/test_x.py"),
        ("found.json", "file.py", "hunt m.py --budget 0.2 --save json=found.json"),
        ("known.json", "none", "hunt m.py --budget 0.2 --baseline known.json --write-baseline"),
        ("linked.py", "file.py", "debug linked.py --budget 9 --write --proposed"),
        ("linked", ".", "debug linked/file.py --budget 9 --write --proposed"),
        ("out.py", "file.py", "diff HEAD --budget 0.2 --pin after --force -o out.py"),
        ("a.patch", "file.py", "reproduce issue.md -o a.patch"),
        ("a.patch", "file.py", "fix issue.md -o a.patch"),
        ("a.html", "file.py", "report run -o a.html"),
    ],
)
def test_no_verb_writes_through_a_link(
    repo: Path, refute: Run, monkeypatch: pytest.MonkeyPatch, link: str, target: str, command: str
) -> None:
    place = repo / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(repo.parent / "outside" / target)
    words = command.split()
    where = "sub" if any(word.startswith("../") for word in words) else "."
    before = contents(repo.parent / "outside")
    monkeypatch.chdir(repo / where)
    status, _, err = refute(*words)
    assert contents(repo.parent / "outside") == before
    assert (status, f"{place}: is a link" in err) == (2, True), err


def test_links_of_the_user_are_followed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders outside of every checkout are the user's own, and so is the way to the checkout."""
    (repo.parent / "mine").symlink_to("outside")
    (repo.parent / "way").symlink_to("repo")
    write_output(repo.parent / "mine" / "a.txt", "a")
    write_output(repo.parent / "way" / "sub" / "deep" / "b.txt", "b", folders=True)
    assert (repo.parent / "outside" / "a.txt").read_text() == "a"
    assert (repo / "sub" / "deep" / "b.txt").read_text() == "b"
    write_output(repo.parent / "new" / "deep" / "c.txt", "c", folders=True)
    assert (repo.parent / "new" / "deep" / "c.txt").read_text() == "c"
    monkeypatch.chdir(repo.parent)
    with pytest.raises(InputError, match="mine: is a link"):
        write_output(Path("mine/a.txt"), "other")  # below the current folder none is


def test_a_file_is_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_atomically(file, "é", mode=0o640)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == ("é".encode(), 0o640)
    for write in (write_atomically, write_output):
        write(file, b"other")
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"other", 0o640)
    umask = os.umask(0o027)
    try:
        write_output(tmp_path / "b", "b")
    finally:
        os.umask(umask)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o640
    for wrong, error in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "a", FileNotFoundError)):
        with pytest.raises(error) as caught:
            write_output(wrong, "")
        assert caught.value.filename == str(wrong)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


MAKER = """
import os, sys, time
from pathlib import Path
from refute.core.storage import ensure
folder, log, die = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "die"
def make(target):
    target.mkdir(parents=True)
    (target / "content").write_text("half")
    with log.open("a") as file: file.write("x")
    if die: os.kill(os.getpid(), 9)
    time.sleep(0.3)
    (target / "content").write_text("whole")
    return {"n": 1}
print(ensure(folder, make))
"""


def start(folder: Path, log: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKER, str(folder), str(log), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_makers_make_once_and_a_killed_one_is_followed(tmp_path: Path) -> None:
    folder, log = tmp_path / "things" / "thing", tmp_path / "log"
    killed = start(folder, log, "die")
    killed.communicate()
    assert killed.returncode == -9
    assert (folder / "content").read_text() == "half"
    both = [start(folder, log, "live") for _ in range(2)]
    answers = [process.communicate()[0] for process in both]
    assert answers == ["{'n': 1}\n"] * 2
    assert (folder / "content").read_text() == "whole"
    assert log.read_text() == "xx"
