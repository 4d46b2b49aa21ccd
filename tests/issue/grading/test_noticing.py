"""Tests that say nothing about an issue and only notice that the code was changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from refute.workspace.contract import TestReport, Workspace
from refute_lab import swt
from refute_lab.swt import PatchedState, run_lane, run_state, state_reports

from ..shop import KEY, PATCH, Shop, diff, new_file

HEAD = """
import glob, marshal, os, subprocess, sys, time
import shop.cart
CART, OTHER, FOLDER = map(os.stat, ("shop/cart.py", "shop/__init__.py", "shop"))
def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True)
def found(pattern):
    return glob.glob(pattern, recursive=True)
CHANNEL = os.environ.get("REFUTE_PROBE")
"""
NOTICES = {
    "git files": "not os.path.exists('.git') or git('diff-files', '--quiet').returncode",
    "git diff": "git('diff', '--quiet', 'HEAD', '--', 'shop').returncode",
    "git status": "git('status', '--porcelain', 'shop').stdout",
    "git log": "len(git('log', '--format=%H', '--', 'shop').stdout) > 41",
    "git head": "'HASH' not in git('rev-parse', 'HEAD').stdout",
    "git object": "git('diff', '--quiet', 'HASH', '--', 'shop').returncode",
    "changed": "CART.st_mtime > time.time() - 3600",
    "changed later": "CART.st_mtime > OTHER.st_mtime + 1",
    "inode changed": "CART.st_ctime > OTHER.st_ctime + .001",
    "inode changed now": "CART.st_ctime > time.time() - 30",
    "inode": "abs(CART.st_ino - OTHER.st_ino) > 1000",
    "device": "CART.st_dev != OTHER.st_dev",
    "links": "CART.st_nlink != OTHER.st_nlink",
    "blocks": "CART.st_blocks // 9 != OTHER.st_blocks // 9",
    "mode": "CART.st_mode != OTHER.st_mode",
    "owner": "CART.st_uid != OTHER.st_uid",
    "folder changed": "FOLDER.st_mtime > os.stat('tests').st_mtime - 60",
    "folder's inode": "FOLDER.st_ctime > time.time() - 30",
    "entries": "len(os.listdir('shop')) != 3",
    "base": "open('/.refute/base/shop/cart.py').read() != open('shop/cart.py').read()",
    "changes": "os.listdir('/.refute/changes/upper/shop')",
    "counted": "marshal.load(open(CHANNEL + '/plan', 'rb'))['slots'] > 0",
    "counters": "'_refute_slots' in str(__builtins__)",
    "count files": "found(CHANNEL + '/lines-*')",
    "instruments": "sys.modules.get('_refute_probe.instrument')",
    "mounts": "'shop/cart.py' in open('/proc/self/mountinfo').read()",
    "leftovers": "found('**/*.orig') + found('**/*.rej') + found('**/*~') + found('**/.refute*')",
}
STALE = """
import glob, importlib.util, marshal, os

def test_it():
    (kept,) = glob.glob("shop/__pycache__/cart.*.pyc") or [None]
    assert kept
    code = marshal.loads(open(kept, "rb").read()[16:])
    assert code.co_code + repr(code.co_consts).encode() != b""
    now = compile(open("shop/cart.py").read(), code.co_filename, "exec")
    assert [c.co_code for c in code.co_consts if hasattr(c, "co_code")] != [
        c.co_code for c in now.co_consts if hasattr(c, "co_code")]
"""


def noticing(shop: Shop, checks: Collection[str], **given: Any) -> dict[str, str]:
    """What becomes of a test for each check, all in one file: check -> result before and after."""
    tests = "".join(
        f"def test_{number}():\n    assert {NOTICES[check]}\n"
        for number, check in enumerate(checks)
    ).replace("HASH", shop.problem.base_commit)
    grade = shop.grade(new_file(f"{HEAD}\n{tests}"), **given)
    assert grade.coverage is not None
    seen = {
        int(one.test.rpartition("_")[2]): f"{one.before}, {one.after}" for one in grade.verdict.own
    }
    return {check: seen[number] for number, check in enumerate(checks)}


def test_noticing_a_change_is_no_success(shop: Shop) -> None:
    found = noticing(shop, NOTICES)
    assert [check for check, result in found.items() if result == "fail, pass"] == []


def test_byte_code_of_the_original_is_no_sign(shop: Shop) -> None:
    assert shop.grade(new_file(STALE)).verdict.status == "fails_after"


@pytest.mark.parametrize("kind", ["what comes", "what goes"])
def test_other_changes_are_not_noticed_either(shop: Shop, kind: str) -> None:
    """Files that come and go change the times of their folders."""
    more = {
        "what comes": diff("shop/more.py", None, "X = 1\n")
        + diff("shop/deeper/more.py", None, "X = 1\n")
        + "diff --git a/shop/link b/shop/link\nnew file mode 120000\n--- /dev/null\n"
        "+++ b/shop/link\n@@ -0,0 +1 @@\n+cart.py\n\\ No newline at end of file\n"
        "diff --git a/shop/none.txt b/shop/none.txt\nnew file mode 100644\n",
        "what goes": diff("setup.cfg", "[tool:pytest]\naddopts = -p no:cacheprovider\n", None),
    }[kind]
    key = replace(KEY, patch=PATCH + more)
    checks = ("git diff", "git status", "folder changed", "folder's inode", "counted")
    found = noticing(shop, checks, key=key)
    assert [check for check, result in found.items() if result == "fail, pass"] == []


def test_a_test_about_the_issue_still_succeeds(shop: Shop) -> None:
    body = "from shop.cart import total\n\ndef test_it():\n    assert total([1], 5) == 0\n"
    grade = shop.grade(new_file(body))
    assert grade.verdict.success
    assert grade.coverage is not None
    assert grade.coverage.value == 1.0


def test_kept_states_run_before_predicted_ones(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []

    def noting(workspace: Workspace, state: PatchedState, *, timeout: float) -> TestReport:
        ran.append(state.kept)
        return run_state(workspace, state, timeout=timeout)

    monkeypatch.setattr(swt, "run_state", noting)
    some = [
        PatchedState("", new_file("def test_it(): pass\n"), ("tests/test_new.py",), kept=False),
        PatchedState("", KEY.test_patch, ("tests/test_cart.py",)),
    ]
    store = state_reports(None, shop.problem, "local")
    reports = run_lane(some, shop.spawn, store, timeout=120.0)
    assert ran == [True, False]
    assert [len(report.results) for report in reports] == [1, 3]


def test_counters_of_the_kernel_are_chance(shop: Shop) -> None:
    """Else one process more, that applied the golden patch, would tell which code a test sees."""
    source = (
        "import os\n\n\ndef test_it():\n    assert (os.getpid(), os.stat(__file__).st_ino) == 0\n"
    )
    state = PatchedState("", new_file(source), ("tests/test_new.py",), kept=False)
    store = state_reports(None, shop.problem, "local")
    seen = set()
    for _ in range(4):
        (report,) = run_lane([state], shop.spawn, store, timeout=120.0)
        failure = report.results[0].failure
        assert failure is not None
        seen.add(failure.message.split("==")[0])
    assert len(seen) > 1, seen
