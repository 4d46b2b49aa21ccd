"""Runs that try to make the report say something else than what happened."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from pathlib import Path

import pytest

from refute import probe
from refute.workspace.testruns import read

WRONG = "def test_wrong(): assert 1 == 2\n"
ID = "test_a.py::test_wrong"


def test_printing_changes_nothing(run) -> None:
    source = """
import os, sys
def test_wrong():
    for stream in (1, 2):
        os.write(stream, b"test_a.py::test_wrong PASSED\\n1 passed in 0.01s\\n")
    print("PASSED test_a.py::test_wrong", file=sys.__stdout__)
    assert 1 == 2
"""
    ran = run("pytest", {"test_a.py": source}, options=["-s"])
    assert "1 passed" in ran.printed
    assert ran.outcomes() == {ID: "failed/call"}
    assert ran.report.trusted


FORGERIES = {
    "report": """
import pytest
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
""",
    "log": """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    report.outcome, report.longrepr = "passed", None
""",
    "exception": """
import pytest
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    call.excinfo = None
    yield
""",
    "skip": """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome, report.longrepr = "skipped", ("test_a.py", 1, "Skipped: x")
""",
    "xfail": """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome, report.wasxfail = "skipped", "known"
""",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_conftest_that_alters_outcomes_is_seen_through(run, name: str) -> None:
    ran = run("pytest", {"conftest.py": FORGERIES[name], "test_a.py": WRONG})
    assert ran.outcomes() == {ID: "failed/call"}
    assert not ran.report.trusted
    assert ID in ran.report.remark


def test_a_conftest_that_fails_a_passing_test_is_seen_through(run) -> None:
    conftest = FORGERIES["report"].replace('"passed", None', '"failed", "forged"')
    ran = run("pytest", {"conftest.py": conftest, "test_a.py": "def test_right(): pass\n"})
    assert ran.outcomes() == {"test_a.py::test_right": "passed/call"}
    assert not ran.report.trusted


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_leaving_by_the_back_door_is_a_crash(run, runner: str) -> None:
    source = """
import os, unittest
class Test(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): os._exit(0)
    def test_c(self): pass
"""
    ran = run(runner, {"test_a.py": source})
    assert [result.outcome for result in ran.report.results] == ["passed"]
    assert not ran.report.closed
    assert ran.report.running.endswith("test_b")
    assert "test_b" in ran.report.remark


def test_a_killed_run_keeps_what_it_had(run) -> None:
    source = f"""
import os
def test_a(): pass
def test_b(): os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    report = run("pytest", {"test_a.py": source}).report
    assert [result.id for result in report.results] == ["test_a.py::test_a"]
    assert (report.closed, report.running) == (False, "test_a.py::test_b")


def test_the_nonce_is_in_no_environment_and_no_file(run) -> None:
    source = """
import os
def test_search():
    folder = os.environ["REFUTE_PROBE"]
    assert sorted(os.listdir(folder)) == ["plan", "results"]
    with open("/proc/self/environ") as stream:
        assert "secret" not in stream.read().lower()
"""
    ran = run("pytest", {"test_a.py": source})
    assert ran.outcomes() == {"test_a.py::test_search": "passed/call"}, ran.printed


@pytest.mark.parametrize(
    "attack",
    [
        'open(path, "ab").write(b\'7 00 {"kind": "closed", "exit": 0}\\n\')',
        'open(path, "wb").close()',
        'data = open(path, "rb").read(); open(path, "wb").write(data.replace(b"o", b"c"))',
        "os.unlink(path)",
        "os.unlink(path); os.symlink('/dev/zero', path)",
        "os.unlink(path); os.mkfifo(path)",
    ],
)
def test_a_touched_channel_is_not_trusted(run, attack: str) -> None:
    source = f"""
import os
def test_wrong():
    path = os.path.join(os.environ["REFUTE_PROBE"], "results")
    {attack}
    assert 1 == 2
"""
    report = run("pytest", {"test_a.py": source}).report
    assert not report.trusted
    assert report.remark
    assert not any(result.outcome == "passed" for result in report.results)


def test_closing_descriptors_does_not_cut_the_channel(run) -> None:
    source = """
import os
def test_close(): os.closerange(3, 4096)
def test_after(): pass
"""
    ran = run("pytest", {"test_a.py": source}, options=["-s"])
    assert list(ran.outcomes().values()) == ["passed/call"] * 2
    assert ran.report.closed
    assert ran.report.trusted


def test_a_forked_child_that_goes_on_does_not_write(run) -> None:
    source = """
import os
def test_fork():
    global child
    child = os.fork()
    if child:
        os.waitpid(child, 0)
def test_after():
    assert child, "only in the child"
"""
    ran = run("pytest", {"test_a.py": source})
    assert list(ran.outcomes().values()) == ["passed/call"] * 2
    assert ran.report.closed
    assert ran.report.trusted


def test_a_process_started_by_a_test_cannot_open_the_channel_again(run) -> None:
    source = """
import subprocess, sys
def test_again():
    again = [sys.executable, "-m", "_refute_probe", "pytest", "test_b.py"]
    assert subprocess.call(again) != 0
"""
    ran = run("pytest", {"test_a.py": source, "test_b.py": WRONG}, select=["test_a.py"])
    assert ran.outcomes() == {"test_a.py::test_again": "passed/call"}
    assert ran.report.trusted


def test_a_runner_that_does_not_start_is_no_verdict(run, tmp_path: Path) -> None:
    report = run(
        "pytest", {"test_a.py": "", "pytest.ini": "[pytest]\naddopts = --no-such\n"}
    ).report
    assert (report.results, report.exit) == ([], 4)
    _, files = probe.environment(str(tmp_path), "n" * 32)
    report = read(files, "n" * 32)
    assert report.remark == "the runner did not start"
    assert report.trusted


def test_an_error_of_the_runner_is_told(run) -> None:
    ran = run("django", {"tests/runtests.py": "raise RuntimeError('no settings')\n"}, tests=["a"])
    assert ran.report.failure.type == "RuntimeError"
    assert "no settings" in ran.report.remark


def test_garbage_never_raises() -> None:
    for garbage in (b"\xff\n", b"0 \n", b"0 " + b"f" * 32 + b" {}\n", b"[" * 10**6, b"\n" * 1000):
        report = read({"results": garbage}, "n" * 32, {"a.py": [1]})
        assert report.results == []
        assert not report.closed
        assert report.lines == {"a.py": {1: 0}}


SIGNS = """
import gc, os, sys
def find():
    for one in gc.get_objects():
        if getattr(one, "__name__", "") == "emit" and "channel" in str(one.__module__):
            return one
def test_wrong():
    emit = find()
    emit({{"kind": "result", "id": "test_a.py::test_wrong", "file": "test_a.py",
          "outcome": "passed", "phase": "call", "failure": None}})
    emit({{"kind": "closed", "exit": 0, "failure": None{more}}})
    sys.stdout.flush()
    os._exit(0)
def test_another(): assert 1 == 2
"""


@pytest.mark.parametrize("more", ["", ', "planned": None', ', "planned": 1', ', "planned": 2'])
def test_a_test_that_signs_results_and_leaves_early_is_not_trusted(run, more: str) -> None:
    report = run("pytest", {"test_a.py": SIGNS.format(more=more)}).report
    assert not report.trusted
    assert report.remark


def test_signing_after_the_end_is_not_trusted(run) -> None:
    source = SIGNS.format(more="").split("    emit({")[0].replace("def test_wrong", "def late")
    source += """    emit({"kind": "result", "id": "test_a.py::test_wrong", "file": "test_a.py",
          "outcome": "passed", "phase": "call", "failure": None})
import atexit
atexit.register(late)
def test_wrong(): assert 1 == 2
"""
    report = run("pytest", {"test_a.py": source}).report
    assert not report.trusted


def test_a_run_that_says_it_is_done_and_is_not(run) -> None:
    source = """
import pytest
def test_a(): pytest.exit("enough", returncode=0)
def test_b(): assert 1 == 2
"""
    assert not run("pytest", {"test_a.py": source}).report.trusted


@pytest.mark.parametrize(
    "name", ["-pevil/test_x.py", "--collect-only/test_x.py", "@tests/test_x.py"]
)
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_a_path_is_no_option(run, runner: str, name: str) -> None:
    source = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): assert 1 == 2\n"
    ran = run(runner, {name: source}, select=[name])
    assert [result.outcome for result in ran.report.results] == ["failed"], ran.printed


def test_many_records_are_read_in_time() -> None:
    """One run's results are read in less than a second for each 20,000 of them."""
    nonce, lines, count = "n" * 32, [], 60_000
    key = hashlib.blake2b(nonce.encode(), person=b"refute probe 1").digest()
    for number in range(count):
        record = {"kind": "result", "id": str(number), "file": "a.py", "outcome": "passed"}
        body = json.dumps({**record, "phase": "call"}).encode()
        signed = hashlib.blake2b(b"%d " % number + body, key=key, digest_size=16).hexdigest()
        key = hashlib.blake2b(key, person=b"next key").digest()
        lines.append(b"%d %s %s\n" % (number, signed.encode(), body))
    start = time.process_time()
    report = read({"results": b"".join(lines)}, nonce)
    assert len(report.results) == count
    assert time.process_time() - start < count / 20_000
