"""What a change is: its base, its files as text, and that each of them costs the same."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.diffing.changes import changed
from refute.diffing.revisions import open_revisions
from refute.errors import InputError
from refute.gating.change import Change, open_change
from refute.gating.experiments import disguised
from refute.gating.reading import Reading
from refute.gating.running import Finding
from refute.workspace import patches, repositories
from refute.workspace.factory import Checkout

from ..diffing.repositories import commit, git, write

Run = Callable[..., tuple[int, str, str]]
CODE = "def double(x):\n    return 2 * x\n"
TESTS = """from shop import double


def test_double():
    assert double(2) == 4
    assert double(3) == 6
"""
GUTTED = TESTS.replace("    assert double(3) == 6\n", "")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    commit(folder, {"shop.py": CODE, "tests/test_shop.py": TESTS})
    git(folder, "branch", "-M", "main")
    return folder


def findings(change: Change) -> list[Finding]:
    """What reading shows of changes that are not committed."""
    with open_revisions(change.root, change.base) as revisions:
        return list(Reading(change, changed(revisions)).findings())


# -- the base --------------------------------------------------------------------------------------


def cloned(repo: Path, *options: str) -> Path:
    target = repo.parent / "clone"
    git(repo.parent, "clone", "-q", *options, f"file://{repo}", str(target))
    return target


def topic(repo: Path) -> None:
    git(repo, "checkout", "-qb", "topic")
    commit(repo, {"shop.py": CODE.replace("2 *", "3 *")})


@pytest.mark.parametrize("origin", ["main", "topic"])
@pytest.mark.parametrize("hooked", [False, True])
def test_nothing_to_prove_needs_a_base(
    repo: Path, refute: Run, monkeypatch: pytest.MonkeyPatch, hooked: bool, origin: str
) -> None:
    topic(repo)
    git(repo, "checkout", "-q", origin)
    clone = cloned(repo, "--depth", "1", "-b", "topic")
    if hooked:
        monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    words = ("gate", "-C", clone, *(["--hook"] if hooked else []))
    status, out, err = refute(*words)
    assert status == (1 if hooked else 2), "an agent is not kept for it"
    assert "main is not known here (shallow clone)" in err
    assert "nothing to prove" not in out
    for words in (("diff", "HEAD~1"), ("gate", "--base", "HEAD~1"), ("diff", "origin/main...")):
        status, _, err = refute(*words, "-C", clone)
        assert (status, "shallow" in err) == (2, True), err
    status, _, err = refute("harden", "-C", clone)
    assert (status, "no difference between HEAD and working tree" in err) == (2, True)
    git(clone, "fetch", "-q", "--unshallow", "origin", "main:main")
    assert open_change(Checkout(clone)).base_label == "merge base with main"


def test_a_base_that_is_known(repo: Path, refute: Run) -> None:
    """On the main branch, or on the only one, a clean checkout has nothing to prove."""
    assert refute("gate", "-C", repo)[0] == 0
    git(repo, "branch", "-M", "trunk")
    assert refute("gate", "-C", repo)[0] == 0
    clone = cloned(repo)  # whose origin says which is the main one
    git(clone, "checkout", "-q", "--detach")
    assert refute("gate", "-C", clone)[0] == 0
    git(repo, "checkout", "-qb", "other")
    with pytest.raises(InputError, match="main is not known here"):
        open_change(Checkout(repo))
    write(repo, {"shop.py": "x = 1\n"})
    assert open_change(Checkout(repo)).base_label == "HEAD", (
        "what is not committed is compared with it"
    )


def test_changes_of_a_submodule_are_named(repo: Path, refute: Run) -> None:
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "lib")
    git(repo, "commit", "-qm", "with a submodule")
    assert refute("gate", "-C", repo)[0] == 0
    write(repo, {"lib/shop.py": "x = 1\n"})
    status, out, _ = refute("gate", "-C", repo)
    assert status == 1
    assert "submodule lib has changes that are not looked at" in out
    for verb in ("diff", "harden"):
        status, _, err = refute(verb, "-C", repo)
        assert (status, "only submodules differ, and are not looked at: lib" in err) == (2, True)
    write(repo, {"README.md": "x\n"})
    status, out, _ = refute("diff", "-C", repo)
    assert "not compared: lib" in out
    status, out, _ = refute("gate", "-C", repo, "--without", "nothing-else")
    assert (status, "submodule lib has changes" in out) == (0, True)


# -- the files -------------------------------------------------------------------------------------


def test_each_file_costs_the_same(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ten times the files, git is started as often, and the patch is parsed as often."""

    counted = []
    real, bounds = subprocess.run, patches._bounds
    for many in (3, 30):
        write(repo, {f"new{n}.py": CODE for n in range(many)})
        write(repo, {f"tests/test_new{n}.py": TESTS for n in range(many)})
        calls: Counter[str] = Counter()
        patches.file_patches.cache_clear()
        with monkeypatch.context() as patch:

            def run(*given: Any, calls: Counter[str] = calls, **how: Any) -> Any:
                calls["git"] += 1
                return real(*given, **how)

            def parse(*given: Any, calls: Counter[str] = calls) -> Any:
                calls["parsed"] += 1
                return bounds(*given)

            patch.setattr(repositories.subprocess, "run", run)
            patch.setattr(patches, "_bounds", parse)
            change = open_change(Checkout(repo))
            assert change.changes_code
            findings(change)
            assert len(disguised(change)[0]) == many
        assert len(change.after) == 2 * many
        counted.append(calls)
    assert counted[0] == counted[1]
    assert counted[0]["parsed"] <= 4, "the patch, and its parts"


LATIN = "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n"


def test_a_file_is_read_with_its_own_encoding(repo: Path) -> None:
    place = repo / "tests" / "test_shop.py"
    place.write_bytes((LATIN + TESTS).encode("latin-1"))
    git(repo, "commit", "-qam", "latin")
    place.write_bytes((LATIN + GUTTED).encode("latin-1"))
    change = open_change(Checkout(repo))
    assert not findings(change)
    assert "caf\xe9" in change.after["tests/test_shop.py"]


@pytest.mark.parametrize(
    "content",
    [b"# \xe9\n", b"# coding: nowhere\n", b"#" * (3 << 20)],
    ids=["byte", "cookie", "size"],
)
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("tests/test_shop.py", "not-weakened"),
        ("shop.py", "no-special-case"),
        ("conftest.py", "no-runner-change"),
    ],
)
def test_what_cannot_be_read_is_said(repo: Path, content: bytes, path: str, rule: str) -> None:
    (repo / path).write_bytes(content + GUTTED.encode())
    found = findings(open_change(Checkout(repo)))
    assert (rule, path) in [(one.rule, one.where) for one in found if "cannot be read" in one.what]


def test_attributes_do_not_make_text_binary(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo, {".gitattributes": "*.py -diff\n", "shop.py": CODE.replace("2 *", "3 *")})
    monkeypatch.chdir(repo)
    assert "+    return 3 * x\n" in open_change(Checkout(repo)).patch


# -- what is left ----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["gate", "harden"])
def test_nothing_is_left_of_what_was_killed(repo: Path, verb: str, tmp_path: Path) -> None:
    write(repo, {"shop.py": CODE.replace("2 *", "3 *"), "tests/test_shop.py": TESTS + "\n"})
    place = tmp_path / "tmp"
    place.mkdir(mode=0o755)
    started = [sys.executable, "-P", "-m", "refute", verb, "-C", str(repo)]
    environment = {**os.environ, "TMPDIR": str(place)}

    def left() -> set[str]:
        return {path.name for path in place.iterdir() if path.name.startswith("refute-")}

    running = subprocess.Popen(
        started, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not any(place.glob("refute-scratch-*/before")) and running.poll() is None:
        time.sleep(0.02)
    running.kill()
    running.wait()
    killed = left()
    assert killed, "it was killed in time"
    started[-3:] = ["diff", "-C", str(repo), "HEAD..HEAD"]
    subprocess.run(started, env=environment, capture_output=True, check=False)
    assert not left()


def test_what_python_compiled_is_no_part_of_a_change(repo: Path) -> None:
    """It is untracked where nothing ignores it, and every workspace has its own."""
    write(repo, {"shop.py": CODE.replace("2 *", "3 *"), "__pycache__/shop.cpython-311.pyc": "x"})
    assert open_change(Checkout(repo)).code_files == ("shop.py",)


def test_of_a_file_on_which_refute_breaks_nothing_is_told(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither silence nor the end of the gate."""
    monkeypatch.setattr("refute.gating.experiments._differing", lambda *_: 1 / 0)
    monkeypatch.delenv("REFUTE_TRACEBACK", raising=False)
    write(repo, {"shop.py": CODE.replace("2 *", "3 *")})
    known, unknown = disguised(open_change(Checkout(repo)))
    assert (known, [*unknown]) == ({}, ["shop.py"])
