"""What a diff touches, on diffs that git itself writes and on diffs that try to mislead."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from refute.workspace.patches import (
    added_lines,
    file_patches,
    is_test_file,
    removed_lines,
    split_tests,
    touched_files,
)
from refute_lab.datasets.rows import read_rows


def git(folder: Path, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    config = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(
        ["git", *config, *arguments], cwd=folder, env=env, capture_output=True, check=True
    )
    return done.stdout.decode()


@pytest.fixture
def diff(tmp_path: Path) -> str:
    """A commit with everything that git has a form for."""
    git(tmp_path, "init", "-q")
    lines = "".join(f"line {n}\n" for n in range(30))
    for name in (
        "mode.sh",
        "src/deleted.py",
        "src/moved.py",
        "src/caf\u00e9 bar.py",
        "same b/x.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(lines)
    (tmp_path / "src/moved.py").write_text(lines.replace("line", "moved"))
    (tmp_path / "image.bin").write_bytes(bytes(range(256)))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "mode.sh").chmod(0o755)
    (tmp_path / "src/deleted.py").unlink()
    (tmp_path / "src/moved.py").rename(tmp_path / "tests_moved.py")
    (tmp_path / "src/caf\u00e9 bar.py").write_text(lines.replace("line 7\n", "seven\nand a half\n"))
    (tmp_path / "same b/x.py").write_text(lines.replace("line 0\n", "") + "-- a\n+++ b\n--- c\n")
    (tmp_path / "image.bin").write_bytes(bytes(reversed(range(256))))
    (tmp_path / "test_new.py").write_text("x = 1")
    (tmp_path / "empty.py").write_text("")
    git(tmp_path, "add", "-A")
    return git(tmp_path, "diff", "--cached", "-M", "HEAD")


def test_every_form_of_git(diff: str) -> None:
    parts = {p.path: p for p in file_patches(diff)}
    assert "".join(p.text for p in file_patches(diff)) == diff
    assert {(p.old, p.new) for p in parts.values()} == {
        ("mode.sh", "mode.sh"),
        ("src/deleted.py", None),
        ("src/moved.py", "tests_moved.py"),
        ("src/caf\u00e9 bar.py", "src/caf\u00e9 bar.py"),
        ("same b/x.py", "same b/x.py"),
        ("image.bin", "image.bin"),
        (None, "test_new.py"),
        (None, "empty.py"),
    }
    assert [p for p, part in parts.items() if part.binary] == ["image.bin"]
    assert parts["src/deleted.py"].removed == tuple(range(1, 31))
    assert parts["test_new.py"].added == (1,)
    assert removed_lines(diff)["same b/x.py"] == (1,)
    assert added_lines(diff)["same b/x.py"] == (30, 31, 32)
    assert added_lines(diff)["src/caf\u00e9 bar.py"] == (8, 9)
    assert removed_lines(diff)["src/caf\u00e9 bar.py"] == (8,)
    assert "mode.sh" not in added_lines(diff)


def test_tests_and_others_apart(diff: str) -> None:
    tests, others = split_tests(diff)
    assert touched_files(tests) == ("src/moved.py", "test_new.py", "tests_moved.py")
    assert len(file_patches(tests)) + len(file_patches(others)) == 8


def test_each_part_applies_alone(diff: str, tmp_path: Path) -> None:
    git(tmp_path, "reset", "-q", "--hard")
    for part in split_tests(diff):
        part = "".join(p.text for p in file_patches(part) if not p.binary)
        (tmp_path / "part.diff").write_text(part)
        git(tmp_path, "apply", "part.diff")
    assert (tmp_path / "tests_moved.py").is_file()
    assert not (tmp_path / "src/deleted.py").exists()


def test_without_git_headers() -> None:
    patch = (
        "some words\n--- a/x.py\t2024-01-01\n+++ b/x.py\t2024-01-01\n@@ -1,2 +1 @@\n-a\n--- b\n+c\n"
        "--- /dev/null\n+++ tests/y.py\n@@ -0,0 +1 @@\n+d"
    )
    assert touched_files(patch) == ("tests/y.py", "x.py")
    assert removed_lines(patch) == {"x.py": (1, 2)}
    assert added_lines(patch) == {"x.py": (1,), "tests/y.py": (1,)}
    assert split_tests(patch)[0] == "--- /dev/null\n+++ tests/y.py\n@@ -0,0 +1 @@\n+d\n"


@pytest.mark.parametrize("text", ["", "\n", "no diff", "--- a/x", "@@ -1 +1 @@\n-a\n+b\n"])
def test_no_diff(text: str) -> None:
    assert file_patches(text) == ()
    assert split_tests(text) == ("", "")


def test_only_a_line_feed_ends_a_line() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\x0cb\u2028c\r\n-d\n+e\n f\n"
    assert removed_lines(patch) == {"x": (2,)}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/x.txt", True),
        ("a/test_x.py", True),
        ("x_test.py", True),
        ("testing/code/test_a.py", True),
        ("sympy/testing/quality_unicode.py", True),
        ("e2e/x.py", True),
        ("Tests/X.py", True),
        ("src/_pytest/python.py", False),
        ("contest.py", False),
        ("latest/x.py", False),
        ("lib/attest_x.py", False),
    ],
)
def test_the_rule_of_test_files(path: str, expected: bool) -> None:
    assert is_test_file(path) == expected


def test_the_rule_splits_the_benchmark_as_its_authors_did(data_dir: Path) -> None:
    files = sorted(data_dir.glob("swebench-lite*"))
    if not files:
        pytest.skip("no SWE-bench rows")
    rows = list(read_rows(files[0]))
    assert rows
    for row in rows:
        patch, tests = row.text("patch"), row.text("test_patch")
        assert split_tests(patch) == ("", patch)
        assert split_tests(tests) == (tests, "")
