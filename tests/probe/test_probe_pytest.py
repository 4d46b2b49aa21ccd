"""Structured results of pytest: every phase, outcome and kind of item."""

from __future__ import annotations

import pytest

from refute.workspace.contract import Frame

OUTCOMES = """
import pytest

@pytest.mark.parametrize("x", ["a b", "u::v", "\\u00fc", 3])
def test_parameter(x):
    assert x

def test_wrong():
    print("PASSED test_wrong")
    assert 1 + 1 == 3, "sum"

def test_raises():
    {}["key"]

@pytest.fixture
def broken():
    raise ValueError("no set-up")

def test_set_up(broken): pass

@pytest.fixture
def broken_after():
    yield
    raise ValueError("no tear-down")

def test_tear_down(broken_after): pass

def test_both(broken_after):
    assert False

@pytest.mark.skip(reason="not today")
def test_skipped(): pass

def test_skips():
    pytest.skip("in the call")

@pytest.mark.xfail(reason="known")
def test_expected(): assert 0

@pytest.mark.xfail(reason="fixed?")
def test_unexpected(): pass

@pytest.mark.xfail(strict=True, reason="has to fail")
def test_strict(): pass

def test_imperative(): pytest.xfail("at run time")
"""


def test_every_outcome_has_its_phase_and_reason(run) -> None:
    ran = run("pytest", {"tests/test_outcomes.py": OUTCOMES})
    prefix = "tests/test_outcomes.py::"
    assert ran.outcomes() == {
        prefix + "test_parameter[a b]": "passed/call",
        prefix + "test_parameter[u::v]": "passed/call",
        prefix + "test_parameter[\\xfc]": "passed/call",
        prefix + "test_parameter[3]": "passed/call",
        prefix + "test_wrong": "failed/call",
        prefix + "test_raises": "failed/call",
        prefix + "test_set_up": "error/setup",
        prefix + "test_tear_down": "error/teardown",
        prefix + "test_both": "failed/call",
        prefix + "test_skipped": "skipped/setup",
        prefix + "test_skips": "skipped/call",
        prefix + "test_expected": "xfailed/call",
        prefix + "test_unexpected": "xpassed/call",
        prefix + "test_strict": "failed/call",
        prefix + "test_imperative": "xfailed/call",
    }
    reasons = {r.id[len(prefix) :]: r.reason for r in ran.report.results if r.reason}
    assert reasons == {
        "test_skipped": "not today",
        "test_skips": "in the call",
        "test_expected": "known",
        "test_unexpected": "fixed?",
        "test_imperative": "at run time",
    }
    assert ran.report.closed
    assert ran.report.trusted
    assert ran.report.exit == 1
    assert ran.report.planned == 15
    assert ran.report.remark == ""
    assert all(result.file == "tests/test_outcomes.py" for result in ran.report.results)


def test_a_failure_has_its_type_message_traceback_and_frames(run) -> None:
    sources = {
        "calls.py": "class Odd(Exception): pass\n\ndef deep(n):\n    raise Odd(f'at {n}')\n",
        "test_calls.py": "import calls\n\ndef test_deep():\n    calls.deep(3)\n",
    }
    failure = run("pytest", sources).result("test_calls.py::test_deep").failure
    assert (failure.type, failure.message) == ("calls.Odd", "at 3")
    assert failure.frames == (Frame("test_calls.py", 4, "test_deep"), Frame("calls.py", 4, "deep"))
    assert failure.traceback.startswith("Traceback")
    assert "calls.Odd: at 3" in failure.traceback
    assert "_pytest" not in failure.traceback


def test_one_file_that_cannot_be_imported_does_not_stop_the_others(run) -> None:
    sources = {
        "test_broken.py": "x = 1\nimport no_such_module\n",
        "test_syntax.py": "def f(:\n",
        "test_whole.py": "def test_fine(): pass\n",
    }
    ran = run("pytest", sources)
    assert ran.outcomes() == {
        "test_broken.py": "error/collect",
        "test_syntax.py": "error/collect",
        "test_whole.py::test_fine": "passed/call",
    }
    broken = ran.result("test_broken.py").failure
    assert broken.type == "ModuleNotFoundError"
    assert "no_such_module" in broken.message
    assert broken.frames[-1] == Frame("test_broken.py", 2, "<module>")
    assert ran.result("test_syntax.py").failure.type == "SyntaxError"


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests came with pytest 9")
def test_a_test_of_a_class_has_one_id_in_old_and_new_versions(run) -> None:
    """Before version 4 pytest's own ids had `::()` for the class's object."""
    test = """
import sys
class TestIt:
    def test_it(self):
        name = sys.modules["_refute_probe.with_pytest"]._id
        assert name("t.py::TestIt::()::test_it[a::()::b]") == "t.py::TestIt::test_it[a::()::b]"
        assert name("t.py::test_it") == "t.py::test_it"
"""
    ran = run("pytest", {"test_m.py": test})
    assert ran.outcomes() == {"test_m.py::TestIt::test_it": "passed/call"}


def test_workers_of_xdist_report_as_one_process_does(run) -> None:
    pytest.importorskip("xdist")
    ran = run("pytest", {"test_outcomes.py": OUTCOMES}, options=["-p", "xdist", "-n", "2"])
    alone = run("pytest", {"test_outcomes.py": OUTCOMES})
    assert ran.outcomes() == alone.outcomes()
    assert len(ran.outcomes()) == 15
    wrong = ran.result("test_outcomes.py::test_raises").failure
    assert (wrong.type, wrong.frames[0].file) == ("KeyError", "test_outcomes.py")
    assert ran.report.trusted
    assert ran.report.closed


def test_configured_early_stop_does_not_lose_results(run) -> None:
    sources = {
        "pytest.ini": "[pytest]\naddopts = -x\n",
        "test_x.py": "def test_a(): assert 0\ndef test_b(): pass\n",
    }
    assert len(run("pytest", sources, select=["test_x.py"]).report.results) == 2


def test_a_session_inside_a_test_is_not_the_run(run) -> None:
    source = """
pytest_plugins = "pytester"
def test_outer(pytester):
    pytester.makepyfile("def test_inner(): assert 0")
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    pytester.runpytest_subprocess().assert_outcomes(failed=1)
"""
    ran = run("pytest", {"test_o.py": source})
    assert ran.outcomes() == {"test_o.py::test_outer": "passed/call"}
    assert ran.report.trusted


def test_exceptions_with_hostile_texts_are_described(run) -> None:
    source = """
class Mute(Exception):
    def __str__(self): raise RuntimeError
def test_mute(): raise Mute
def test_long(): raise ValueError("x" * 10**6)
def test_surrogate(): raise ValueError("\\udcff \\x00 \\n")
def test_endless():
    def again(): again()
    again()
"""
    ran = run("pytest", {"test_h.py": source})
    assert set(ran.outcomes().values()) == {"failed/call"}
    assert ran.report.trusted
    assert ran.result("test_h.py::test_mute").failure.type == "test_h.Mute"
    assert len(ran.result("test_h.py::test_long").failure.message) < 11000
    assert ran.result("test_h.py::test_surrogate").failure.message == "? \x00 \n"
    assert len(ran.result("test_h.py::test_endless").failure.frames) <= 100
