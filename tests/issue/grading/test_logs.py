"""Logs in the reference's format: statuses by runner, counts, and whole instances judged again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from refute.core.problems import IssueKey
from refute.doors.command_line import cli
from refute.errors import InputError
from refute_lab.swt.reference import (
    directives,
    grade_logs,
    read_counts,
    read_log,
    read_statuses,
)

PYTEST = """\
=== short test summary info ===
PASSED tests/test_a.py::test_one
PASSED tests/test_a.py::test_path[/tmp/x/y.txt-1]
FAILED tests/test_a.py::test_two - AssertionError: no
ERROR tests/test_b.py - ImportError
ERROR tests/test_a.py::test_three
SKIPPED [1] tests/test_a.py:9: why
XFAIL tests/test_a.py::test_four
FAILED
"""


def test_pytest() -> None:
    assert read_statuses(PYTEST, "pallets/flask") == {
        "tests/test_a.py::test_one": "PASSED",
        "tests/test_a.py::test_path[/tmp/x/y.txt-1]": "PASSED",
        "tests/test_a.py::test_two": "FAILED",
        "tests/test_b.py": "ERROR",
        "tests/test_a.py::test_three": "ERROR",
        "[1]": "SKIPPED",
    }
    assert "tests/test_a.py::test_path[/y.txt-1]" in read_statuses(PYTEST, "psf/requests")


@pytest.mark.parametrize(
    ("repo", "line", "expected"),
    [
        ("sphinx-doc/sphinx", "\x1b[32mPASSED\x1b[0m tests/t.py::a", {"tests/t.py::a": "PASSED"}),
        ("astropy/astropy", "t.py::a[1] FAILED", {"t.py::a[1]": "FAILED"}),
        ("mwaskom/seaborn", "tests/t.py::a PASSED [ 5%]", {"tests/t.py::a": "PASSED"}),
        ("mwaskom/seaborn", "FAILED tests/t.py::a - x", {"tests/t.py::a": "FAILED"}),
        ("matplotlib/matplotlib", "PASSED t.py::a[MouseButton.LEFT]", {"t.py::a[1]": "PASSED"}),
        ("sympy/sympy", "test_a ok \ntest_b F \n", {"test_a": "PASSED", "test_b": "FAILED"}),
        ("sympy/sympy", "_\n___ sympy/a/test_c.py:test_d ___\n", {"test_d": "FAILED"}),
        ("django/django", "test_a (m.C) ... ok", {"test_a (m.C)": "PASSED"}),
        ("django/django", "test_a (m.C)\nA line. ... skipped 'x'", {"test_a (m.C)": "SKIPPED"}),
        ("django/django", "test_a (m.C) ... printed\nlines\nok", {"test_a (m.C)": "PASSED"}),
        ("django/django", "test_a (m.C) ... ok\nERROR: test_a (m.C)", {"test_a (m.C)": "ERROR"}),
        # where the reference errs, so do we: it is the reference's verdict that comes of it
        ("django/django", "test_a (m.C) ... test_b (m.C) ... ok", {"test_a (m.C)": "PASSED"}),
        ("django/django", "ERROR: test_a (m.C)\ntest_b (m.C) ... ok", {"test_a (m.C)": "ERROR"}),
        ("django/django", "test_a (m.C)\nWaits... ... ok", {}),
        ("django/django", "test_a (m.C) ... x(ok)", {}),
        ("django/django", "FAIL: test_a (m.C) and test_b (m.C)", {}),
        ("pallets/flask", "ERROR: not found: /x/t.py", {"not": "ERROR:"}),
        ("pallets/flask", "PASSED t.py::a\nERROR: t.py::a", {"t.py::a": "ERROR:"}),
        ("psf/requests", "PASSED a[/x/y]\nFAILED a[/z/y]\nPASSED a[/x/y]", {"a[/y]": "PASSED"}),
        ("mwaskom/seaborn", "PASSED a PASSED b", {}),
        ("nielstron/humaneval_fix", "PASSED t.py::a", {"t.py::a": "PASSED"}),
    ],
)
def test_other_formats(repo: str, line: str, expected: dict[str, str]) -> None:
    assert read_statuses(line, repo) == expected


def test_scripts_and_unknown_repositories() -> None:
    assert read_statuses("x\n+ echo 0\n0\n", "any/repo", script=True) == {
        "reproduction_script": "PASSED"
    }
    assert read_statuses("+ echo 17\n", "any/repo", script=True) == {
        "reproduction_script": "FAILED"
    }
    with pytest.raises(InputError, match="any/repo"):
        read_statuses("", "any/repo")


def test_counts_are_summed_over_processes() -> None:
    text = (
        '{"/testbed/early.py": {"1": 1}}\n+ cat coverage.cover\n'
        '{"/testbed/a.py": {"1": 2, "3": 1}}\n{"/testbed/a.py": {"1": 5}}\n'
        '{"/testbed/b.py": {"7"\n+ git checkout abc\n{"/testbed/a.py": {"1": 9}}\n'
    )
    assert read_counts(text) == {"a.py": {1: 7, 3: 1}}
    assert read_counts("nothing") == {}


def test_what_is_run_for_a_patch() -> None:
    patch = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
        for name in ("tests/app/tests.py", "tests/app/x.json", "django/m.py")
    )
    assert directives(patch, "django/django") == ["app.tests", "django.m"]
    assert directives(patch, "pallets/flask") == ["tests/app/tests.py", "django/m.py"]
    assert directives("--- a/x\n+++ b/x\n", "pallets/flask") == []


def _log(body: str, counts: dict[int, int], applied: bool = True) -> str:
    dump = json.dumps({"/testbed/src/m.py": {str(line): n for line, n in counts.items()}})
    return (
        ("Checking patch...\nApplied patch tests/test_a.py cleanly.\n" if applied else "")
        + "PASSED tests/test_a.py::test_installer_says_so\n"
        "+ python3 /root/trace.py --count -C coverage.cover --include-pattern '/x' -m pytest x\n"
        f"{body}\n+ cat coverage.cover\n{dump}\n+ git checkout abc\n"
    )


PATCH = (
    "diff --git a/src/m.py b/src/m.py\n--- a/src/m.py\n+++ b/src/m.py\n@@ -1,1 +1,1 @@\n-a\n+b\n"
)
TESTS = (
    "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n"
    "+++ b/tests/test_a.py\n@@ -1,1 +1,2 @@\n x\n+y\n"
)
KEY = IssueKey("pallets__flask-1", PATCH, TESTS)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The reference's folder of one run of one model."""
    root = tmp_path / "run_instance_swt_logs"
    hashed = hashlib.sha256(b"tests/test_a.py").hexdigest()
    old = "PASSED tests/test_a.py::test_old"
    states = {
        "run/pred_pre__m/{}": (f"{old}\nFAILED tests/test_a.py::test_new - x", {1: 2}),
        "run/pred_post__m/{}": (f"{old}\nPASSED tests/test_a.py::test_new", {1: 2}),
        "gold_pre/{}/" + hashed: (f"{old}\nFAILED tests/test_a.py::test_g - x", {1: 2}),
        "gold_post/{}/" + hashed: (f"{old}\nPASSED tests/test_a.py::test_g", {1: 2}),
        "base_pre/{}/" + hashed: (old, {1: 1}),
        "base_post/{}/" + hashed: (old, {1: 1}),
    }
    for place, (body, counts) in states.items():
        folder = root / place.format(KEY.id)
        folder.mkdir(parents=True)
        (folder / "test_output.txt").write_text(_log(body, counts))
        (folder / "model_patch.diff").write_text(TESTS)
    model = root / "run" / "m"  # where its own reports are
    model.mkdir()
    return model


def test_an_instance_is_judged_again(logs: Path) -> None:
    grade = grade_logs(logs, KEY, "pallets/flask")
    assert grade.verdict.success
    assert grade.verdict.fail_to_pass == ("tests/test_a.py::test_new",)
    assert grade.coverage is not None
    assert grade.coverage.value == 1


def test_what_the_logs_cannot_say(logs: Path) -> None:
    log = logs.parent / "pred_pre__m" / KEY.id / "test_output.txt"
    log.write_text(_log("FAILED tests/test_a.py::test_new", {}, applied=False))
    assert grade_logs(logs, KEY, "pallets/flask").verdict.status == "not_applicable"
    log.unlink()
    assert grade_logs(logs, KEY, "pallets/flask").verdict.status == "empty"
    spoilt = read_log(_log("PASSED t.py::a", {}) + ">>>>> Tests Timed Out", "pallets/flask")
    assert spoilt.results == ()


def test_a_missing_base_log_is_bad_input(logs: Path) -> None:
    for path in logs.parent.parent.glob("base_post/*/*/test_output.txt"):
        path.unlink()
    with pytest.raises(InputError, match="base_post"):
        grade_logs(logs, KEY, "pallets/flask")


def test_from_the_command_line(logs: Path, tmp_path: Path) -> None:
    row = {
        "instance_id": KEY.id,
        "repo": "pallets/flask",
        "base_commit": "0" * 40,
        "problem_statement": "x",
        "patch": PATCH,
        "test_patch": TESTS,
    }
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(row) + "\n")
    result = CliRunner().invoke(
        cli, ["grade", str(rows), str(logs), "--json"], standalone_mode=False
    )
    assert result.exception is None
    document = json.loads(result.stdout)
    assert document["statuses"] == {"success": 1}
    assert document["reference"]["resolved_ids"] == [KEY.id]
