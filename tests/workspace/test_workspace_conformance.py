"""Checks that every workspace passes, on each level of isolation that this machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestSelection
from refute.workspace.working_copy import WorkingCopy

from .shops import FILES, FIX, SECRET_LATER, Shop, opened

SAME_SIZE = FIX.replace(
    "-        result = result - discount", "-        result = result * discount"
).replace("max(0, result - discount)", "result - discount")
TESTS = TestSelection(files=("tests/test_cart.py",))


def outcomes(workspace: WorkingCopy, selection: TestSelection = TESTS) -> dict[str, str]:
    report = workspace.run_tests(selection, timeout=120)
    assert report.status == "finished", report
    assert report.trusted, report.remark
    return {result.id: result.outcome for result in report.results}


def test_tests_fail_and_pass_once_fixed(workspace: WorkingCopy) -> None:
    kept, broken = "tests/test_cart.py::test_sum", "tests/test_cart.py::test_discount"
    before = {kept: "passed", broken: "failed"}
    assert outcomes(workspace) == before
    workspace.apply(FIX)
    assert outcomes(workspace) == dict.fromkeys(before, "passed")
    workspace.reset()
    assert outcomes(workspace) == before
    only = TestSelection(tests=(kept,))
    assert outcomes(workspace, only) == {kept: "passed"}


def test_lines_are_counted_and_failures_described(workspace: WorkingCopy) -> None:
    report = workspace.run_tests(TESTS, count_lines={"shop/cart.py": [2, 4]}, timeout=120)
    assert report.lines == {"shop/cart.py": {2: 2, 4: 1}}
    (failed,) = [result for result in report.results if result.outcome == "failed"]
    assert failed.failure is not None
    assert failed.failure.type == "AssertionError"
    assert failed.file == "tests/test_cart.py"
    assert failed.failure.frames[-1].file == "tests/test_cart.py"


def test_nothing_selected_runs_nothing(workspace: WorkingCopy) -> None:
    report = workspace.run_tests(TestSelection(), count_lines={"shop/cart.py": [2]})
    assert (report.results, report.status) == ((), "finished")
    assert report.lines == {"shop/cart.py": {2: 0}}


def test_files_are_imported_without_running_their_tests(workspace: WorkingCopy) -> None:
    only = TestSelection(TESTS.files, import_only=True)
    report = workspace.run_tests(only, count_lines={"shop/cart.py": [1, 2]}, timeout=120)
    assert (report.results, report.status, report.trusted) == ((), "finished", True)
    assert report.lines == {"shop/cart.py": {1: 1, 2: 0}}


def test_ends_of_test_runs_are_told_apart(workspace: WorkingCopy) -> None:
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


def test_diff_is_what_apply_takes(workspace: WorkingCopy) -> None:
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


def test_a_patch_applies_whole_or_not_at_all(workspace: WorkingCopy) -> None:
    wrong = FIX + FIX.replace("shop/cart.py", "README.md")
    with pytest.raises(PatchRejected, match=r"README\.md"):
        workspace.apply(wrong)
    assert workspace.diff() == ""
    for patch in ("", "no patch\n", FIX.replace("shop/cart.py", "../outside.py")):
        with pytest.raises(PatchRejected):
            workspace.apply(patch)
    assert workspace.diff() == ""


def test_reading_and_writing(workspace: WorkingCopy) -> None:
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


def test_compiled_code_is_of_the_text(workspace: WorkingCopy) -> None:
    old = workspace.read("shop/cart.py").replace(b"- discount", b"+ discount")
    call = "from shop.cart import total; print(total([9], 2))"
    show = f"touch -d @1800000000 shop/cart.py; python -c '{call}'"
    for text, total in ((old, "11\n"), (old.replace(b"+ discount", b"* discount"), "18\n")):
        workspace.write("shop/cart.py", text)
        assert workspace.run(show).output == total
    workspace.apply(SAME_SIZE)
    assert workspace.run(show).output == "7\n"


def test_commands_see_pinned_surroundings(workspace: WorkingCopy) -> None:
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


def test_history_ends_with_the_commit(workspace: WorkingCopy, shop: Shop) -> None:
    assert workspace.run("git log --all --format=%H").output.split() == [shop.first]
    assert workspace.run(f"git cat-file -e {shop.later}").status != 0
    assert workspace.run("git status --short").output == ""
    assert workspace.run("git tag; git reflog; git stash list; git branch -r").output == ""
    found = workspace.run(f"grep -rl '{SECRET_LATER}' . .git; git grep '{SECRET_LATER}'")
    assert found.output == ""
    assert workspace.run("git blame -s README.md").output.endswith("1) A shop.\n")


def test_two_workspaces_do_not_meet(workspace: WorkingCopy, shop: Shop, level: str) -> None:
    with opened(shop.base, level) as other:
        workspace.write("README.md", b"changed")
        workspace.run("echo x > /tmp/left-behind; echo y > $TMPDIR/left-behind")
        assert other.read("README.md") == b"A shop.\n"
        assert other.run("cat $TMPDIR/left-behind").status != 0
        workspace.reset()
        assert workspace.run("cat $TMPDIR/left-behind").status != 0


def test_closed_is_closed(workspace: WorkingCopy) -> None:
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceUnavailable):
        workspace.run("true")


def test_what_a_closed_workspace_leaves(shop: Shop, level: str) -> None:
    workspace = opened(shop.base, level)
    workspace.write("README.md", b"changed")
    root = Path(workspace.root)
    workspace.close()
    assert root == shop.base.tree or not root.exists()
    assert (shop.base.tree / "README.md").read_text() == "A shop.\n"
