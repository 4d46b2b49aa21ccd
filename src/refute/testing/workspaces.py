"""A list of checks that every workspace must pass; each backend's tests run all of them.

first, later = make_repository(folder)
SUBJECT = Subject(open=lambda: MyWorkspace(folder, first), first=first, later=later)

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check):
    conform(check, SUBJECT)
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestSelection, Workspace

__all__ = [
    "CHECKS",
    "FILES",
    "FIX",
    "SECRET_LATER",
    "Check",
    "Subject",
    "conform",
    "git",
    "make_repository",
]

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        "def total(prices, discount=0):\n"
        "    result = sum(prices)\n"
        "    if discount:\n"
        "        result = result - discount\n"
        "    return result\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import total\n\n\n"
        "def test_sum():\n    assert total([1, 2]) == 3\n\n\n"
        "def test_discount():\n    assert total([10], 20) == 0\n"
    ),
    "README.md": "A shop.\n",
    ".gitignore": "*.log\n",
}
FIX = """\
diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -2,4 +2,4 @@ def total(prices, discount=0):
     result = sum(prices)
     if discount:
-        result = result - discount
+        result = max(0, result - discount)
     return result
"""
SAME_SIZE = FIX.replace(
    "-        result = result - discount", "-        result = result * discount"
).replace("max(0, result - discount)", "result - discount")
SECRET_LATER = "the fix that nobody may see"


def git(folder: Path, *words: str, at: int = 1_700_000_000) -> str:
    """Run git and return its output; `at`: the time of a commit, as people's commits are older than
    their use."""
    who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    env = os.environ | {"GIT_COMMITTER_DATE": f"{at} +0000"}
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.removesuffix("\n")


def make_repository(folder: Path) -> tuple[str, str]:
    """Commits: the base, and a later one. Returns both hashes."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "the base")
    base = git(folder, "rev-parse", "HEAD")
    (folder / "shop/cart.py").write_text(f"# {SECRET_LATER}\n" + FILES["shop/cart.py"])
    git(folder, "commit", "-q", "-am", SECRET_LATER)
    git(folder, "tag", "v2")
    return base, git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Subject:
    """A kind of workspace under test."""

    open: Callable[[], Workspace]
    """Opens one more workspace of the repository of `make_repository` at its first commit."""
    first: str
    """Hash of that commit."""
    later: str
    """Hash of a commit that came later, of which a workspace knows nothing."""


Check = Callable[[Subject, Workspace], None]
CHECKS: list[Check] = []


def conform(check: Check, subject: Subject) -> None:
    """Run one check on a workspace opened for it."""
    workspace = subject.open()
    try:
        check(subject, workspace)
    finally:
        workspace.close()


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


TESTS = TestSelection(files=("tests/test_cart.py",))


def outcomes(workspace: Workspace, selection: TestSelection = TESTS) -> dict[str, str]:
    report = workspace.run_tests(selection, timeout=120)
    assert report.status == "finished", report
    assert report.trusted, report.remark
    return {result.id: result.outcome for result in report.results}


@check
def tests_fail_and_pass_once_fixed(subject: Subject, workspace: Workspace) -> None:
    kept, broken = "tests/test_cart.py::test_sum", "tests/test_cart.py::test_discount"
    before = {kept: "passed", broken: "failed"}
    assert outcomes(workspace) == before
    workspace.apply(FIX)
    assert outcomes(workspace) == dict.fromkeys(before, "passed")
    workspace.reset()
    assert outcomes(workspace) == before
    only = TestSelection(tests=(kept,))
    assert outcomes(workspace, only) == {kept: "passed"}


@check
def lines_are_counted_and_failures_described(subject: Subject, workspace: Workspace) -> None:
    report = workspace.run_tests(TESTS, count_lines={"shop/cart.py": [2, 4]}, timeout=120)
    assert report.lines == {"shop/cart.py": {2: 2, 4: 1}}
    (failed,) = [result for result in report.results if result.outcome == "failed"]
    assert failed.failure is not None
    assert failed.failure.type == "AssertionError"
    assert failed.file == "tests/test_cart.py"
    assert failed.failure.frames[-1].file == "tests/test_cart.py"


@check
def nothing_selected_runs_nothing(subject: Subject, workspace: Workspace) -> None:
    report = workspace.run_tests(TestSelection(), count_lines={"shop/cart.py": [2]})
    assert (report.results, report.status) == ((), "finished")
    assert report.lines == {"shop/cart.py": {2: 0}}


@check
def files_are_imported_without_running_their_tests(subject: Subject, workspace: Workspace) -> None:
    only = TestSelection(TESTS.files, import_only=True)
    report = workspace.run_tests(only, count_lines={"shop/cart.py": [1, 2]}, timeout=120)
    assert (report.results, report.status, report.trusted) == ((), "finished", True)
    assert report.lines == {"shop/cart.py": {1: 1, 2: 0}}


@check
def ends_of_test_runs_are_told_apart(subject: Subject, workspace: Workspace) -> None:
    workspace.write("tests/test_end.py", b"import os\ndef test_a(): 0\ndef test_b(): os._exit(0)\n")
    report = workspace.run_tests(TestSelection(("tests/test_end.py",)), timeout=120)
    assert report.status == "crashed"
    assert [(r.id, r.outcome) for r in report.results] == [("tests/test_end.py::test_a", "passed")]
    workspace.write("tests/test_end.py", b"import time\ndef test_b(): time.sleep(600)\n")
    report = workspace.run_tests(TestSelection(("tests/test_end.py",)), timeout=3)
    assert report.status == "timeout"
    assert "over the limit of timeout" in report.remark
    workspace.write("tests/test_end.py", b"import nothing_of_that_name\n")
    report = workspace.run_tests(TestSelection(("tests/test_end.py",)), timeout=120)
    assert [(r.outcome, r.phase) for r in report.results] == [("error", "collect")]


@check
def diff_is_what_apply_takes(subject: Subject, workspace: Workspace) -> None:
    assert workspace.diff() == ""
    workspace.apply(FIX)
    workspace.write("new folder/é.txt", b"one\ntwo")
    workspace.write("picture.bin", bytes(range(256)))
    workspace.write("ignored.log", b"x")
    workspace.run("rm README.md; chmod +x tests/test_cart.py")
    diff = workspace.diff()
    assert "ignored.log" not in diff
    assert "deleted file mode 100644" in diff
    files = list(workspace.files())
    assert "new folder/é.txt" in files
    assert "README.md" not in files
    assert files == sorted(files)
    workspace.reset()
    assert workspace.diff() == ""
    assert sorted(workspace.files()) == sorted(FILES)
    workspace.apply(diff)
    assert workspace.diff() == diff
    assert workspace.read("new folder/é.txt") == b"one\ntwo"
    assert workspace.read("picture.bin") == bytes(range(256))


@check
def a_patch_applies_whole_or_not_at_all(subject: Subject, workspace: Workspace) -> None:
    wrong = FIX + FIX.replace("shop/cart.py", "README.md")
    with pytest.raises(PatchRejected, match=r"README\.md"):
        workspace.apply(wrong)
    assert workspace.diff() == ""
    for patch in ("", "no patch\n", FIX.replace("shop/cart.py", "../outside.py")):
        with pytest.raises(PatchRejected):
            workspace.apply(patch)
    assert workspace.diff() == ""


@check
def reading_and_writing(subject: Subject, workspace: Workspace) -> None:
    assert workspace.read("README.md") == b"A shop.\n"
    with pytest.raises(FileNotFoundError):
        workspace.read("absent.py")
    with pytest.raises(IsADirectoryError):
        workspace.read("shop")
    workspace.write("a/b/c.txt", b"1")
    workspace.write("a/b/c.txt", b"2")
    assert workspace.read("a/b/c.txt") == b"2"
    for path in ("../x", "/etc/x", "a/../../x", "", ".", "a/.."):
        with pytest.raises(OSError, match=r"."):
            workspace.write(path, b"")


@check
def compiled_code_is_of_the_text(subject: Subject, workspace: Workspace) -> None:
    old = workspace.read("shop/cart.py").replace(b"- discount", b"+ discount")
    call = "from shop.cart import total; print(total([9], 2))"
    show = f"touch -d @1800000000 shop/cart.py; python -c '{call}'"
    for text, total in ((old, "11\n"), (old.replace(b"+ discount", b"* discount"), "18\n")):
        workspace.write("shop/cart.py", text)
        assert workspace.run(show).output == total
    workspace.apply(SAME_SIZE)
    assert workspace.run(show).output == "7\n"


@check
def commands_see_pinned_surroundings(subject: Subject, workspace: Workspace) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        result = workspace.run("env; pwd; exit 3")
    assert result.status == 3
    told = set(result.output.splitlines())
    assert {"TZ=UTC", "PYTHONHASHSEED=0", "LC_ALL=C.UTF-8", str(workspace.root)} <= told
    assert "sk-secret" not in result.output
    assert workspace.run("echo $GREETING", env={"GREETING": "hello"}).output == "hello\n"
    assert workspace.run("kill -TERM $$").status == -15
    late = workspace.run("echo begun; sleep 600", timeout=1)
    assert late.timed_out
    assert late.output == "begun\n"
    long = workspace.run("yes 0123456789 | head -c 3000000; echo END")
    assert len(long.output) < 100_000
    assert "bytes left out" in long.output
    assert long.output.endswith("END\n")


@check
def history_ends_with_the_commit(subject: Subject, workspace: Workspace) -> None:
    assert workspace.run("git log --all --format=%H").output.split() == [subject.first]
    assert workspace.run(f"git cat-file -e {subject.later}").status != 0
    assert workspace.run("git status --short").output == ""
    assert workspace.run("git tag; git reflog; git stash list; git branch -r").output == ""
    found = workspace.run(f"grep -rl '{SECRET_LATER}' . .git; git grep '{SECRET_LATER}'")
    assert found.output == ""
    assert workspace.run("git blame -s README.md").output.endswith("1) A shop.\n")


@check
def two_workspaces_do_not_meet(subject: Subject, workspace: Workspace) -> None:
    with subject.open() as other:
        workspace.write("README.md", b"changed")
        workspace.run("echo x > /tmp/left-behind; echo y > $TMPDIR/left-behind")
        assert other.read("README.md") == b"A shop.\n"
        assert other.run("cat $TMPDIR/left-behind").status != 0
        workspace.reset()
        assert workspace.run("cat $TMPDIR/left-behind").status != 0


@check
def closed_is_closed(subject: Subject, workspace: Workspace) -> None:
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceUnavailable):
        workspace.run("true")
