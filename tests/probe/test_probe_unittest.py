"""Structured results of unittest and of what is built like it, on every interpreter."""

from __future__ import annotations

import pytest

OUTCOMES = '''
import unittest

class Test(unittest.TestCase):
    def test_wrong(self):
        print("ok")
        self.assertEqual(1, 2)
    def test_right(self):
        """One line of words.

        More."""
    def test_raises(self): {}["key"]
    def test_skips(self): self.skipTest("why")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("class")
    def test_never(self): pass

class Before(unittest.TestCase):
    def setUp(self): self.fail("before")
    def test_it(self): pass

class After(unittest.TestCase):
    def tearDown(self): raise ValueError("after")
    def test_it(self): pass
    def test_both(self): self.fail("the call comes first")

class Cleaned(unittest.TestCase):
    def test_it(self): self.addCleanup(lambda: 1 / 0)

@unittest.skip("all of it")
class Skipped(unittest.TestCase):
    def test_it(self): pass
'''


def test_every_outcome_has_its_phase(run, interpreter: str) -> None:
    sources = {"test_o.py": OUTCOMES, "test_broken.py": "import no_such_module\n"}
    ran = run("unittest", sources, python=interpreter)
    outcomes = ran.outcomes()
    assert outcomes.pop("test_o.Skipped.test_it").startswith("skipped/")
    assert outcomes == {
        "test_o.Test.test_wrong": "failed/call",
        "test_o.Test.test_right": "passed/call",
        "test_o.Test.test_raises": "failed/call",
        "test_o.Test.test_skips": "skipped/call",
        "test_o.Test.test_expected": "xfailed/call",
        "test_o.Test.test_unexpected": "xpassed/call",
        "test_o.Test.test_parts": "failed/call",
        "setUpClass (test_o.Module)": "error/setup",
        "test_o.Before.test_it": "error/setup",
        "test_o.After.test_it": "error/teardown",
        "test_o.After.test_both": "failed/call",
        "test_o.Cleaned.test_it": "error/teardown",
        "test_broken": "error/collect",
    }
    broken = ran.result("test_broken").failure
    assert broken.type == "ModuleNotFoundError"
    assert "no_such_module" in broken.message
    right = ran.result("test_o.Test.test_right")
    assert "One line of words." in right.names
    both = {"test_right (test_o.Test)", "test_right (test_o.Test.test_right)"}
    assert both <= set(right.names), "datasets have one or the other, whatever the interpreter"
    assert right.file == "test_o.py"
    assert ran.result("test_o.Test.test_raises").failure.frames[0].function == "test_raises"
    assert ran.report.closed
    assert ran.report.trusted
    assert ran.report.exit == 1


RUNTESTS = """
import argparse, sys, unittest

class Result(unittest.TextTestResult):  # does not call super(): nobody has to
    def addFailure(self, test, err):
        self.failures.append((test, "hidden"))

parser = argparse.ArgumentParser()
parser.add_argument("labels", nargs="*")
parser.add_argument("--settings")
parser.add_argument("--parallel", nargs="?", default=4, type=int)
options = parser.parse_args()
assert options.parallel == 1 and __name__ == "__main__"
suite = unittest.defaultTestLoader.loadTestsFromNames(options.labels)
result = unittest.TextTestRunner(resultclass=Result).run(suite)
sys.exit(bool(result.failures))
"""

DJANGO_TESTS = """
import io, unittest
class Tests(unittest.TestCase):
    def test_wrong(self):
        self.fail("wrong")
    def test_runs_a_runner(self):
        class Inner(unittest.TestCase):
            def test_inner(self): self.fail("inner")
        unittest.TextTestRunner(stream=io.StringIO()).run(Inner("test_inner"))
"""


def test_django_takes_labels_and_runs_in_one_process(run) -> None:
    sources = {
        "tests/runtests.py": RUNTESTS,
        "tests/forms_tests/__init__.py": "",
        "tests/forms_tests/tests.py": DJANGO_TESTS,
    }
    ran = run(
        "django",
        sources,
        select=["tests/forms_tests/tests.py"],
        options=["--settings=test_sqlite", "--parallel", "4"],
    )
    assert ran.outcomes() == {
        "forms_tests.tests.Tests.test_wrong": "failed/call",
        "forms_tests.tests.Tests.test_runs_a_runner": "passed/call",
    }
    assert ran.result("forms_tests.tests.Tests.test_wrong").file == "tests/forms_tests/tests.py"
    assert ran.report.exit == 1


SYMPY_RUNTESTS = """
import sys, traceback

class PyTestReporter:
    def entering_test(self, f): pass
    def test_pass(self, char="."): pass
    def test_fail(self, exc_info): pass
    def test_exception(self, exc_info): pass
    def test_skip(self, v=None): pass
    def test_xfail(self): pass
    def test_xpass(self, v): pass
    def import_error(self, filename, exc_info): pass

class SymPyTests:
    def __init__(self, reporter, names): self._reporter, self._names = reporter, names
    def test_file(self, filename):
        space = {"__file__": filename}
        try:
            exec(compile(open(filename).read(), filename, "exec"), space)
        except ImportError:
            return self._reporter.import_error(filename, sys.exc_info())
        except Exception:
            self._reporter.test_exception(sys.exc_info())
        for name, f in list(space.items()):
            if name.startswith("test_") and (not self._names or name in self._names):
                self._reporter.entering_test(f)
                try:
                    f()
                except AssertionError:
                    self._reporter.test_fail(sys.exc_info())
                except Exception as error:
                    if type(error).__name__ == "XFail":
                        self._reporter.test_xfail()
                    elif type(error).__name__ == "Skipped":
                        self._reporter.test_skip(error)
                    else:
                        self._reporter.test_exception(sys.exc_info())
                else:
                    self._reporter.test_pass()
"""

SYMPY_SCRIPT = """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
assert "--no-subprocess" in sys.argv and "sympy" not in sys.modules
from sympy.testing.runtests import SymPyTests, PyTestReporter
names = sys.argv[sys.argv.index("-k") + 1 :] if "-k" in sys.argv else []
tests = SymPyTests(PyTestReporter(), names)
for name in sys.argv[1:]:
    if name.endswith(".py"):
        tests.test_file(os.path.abspath(name))
"""

SYMPY_TESTS = """
class XFail(Exception): pass
class Skipped(Exception): pass
def test_right(): pass
def test_wrong(): assert 1 == 2
def test_raises(): {}["key"]
def test_expected(): raise XFail
def test_skips(): raise Skipped("Slow")
"""


def test_sympy_reports_files_and_functions(run) -> None:
    sources = {
        "bin/test": SYMPY_SCRIPT,
        "sympy/__init__.py": "",
        "sympy/testing/__init__.py": "",
        "sympy/testing/runtests.py": SYMPY_RUNTESTS,
        "sympy/core/tests/test_arit.py": SYMPY_TESTS,
        "sympy/core/tests/test_lost.py": "import no_such_module\n",
        "sympy/core/tests/test_dead.py": "1 / 0\n",
    }
    ran = run("sympy", sources, options=["-C"])
    prefix = "sympy/core/tests/test_arit.py::"
    assert ran.outcomes() == {
        prefix + "test_right": "passed/call",
        prefix + "test_wrong": "failed/call",
        prefix + "test_raises": "failed/call",
        prefix + "test_expected": "xfailed/call",
        prefix + "test_skips": "skipped/call",
        "sympy/core/tests/test_lost.py": "error/collect",
        "sympy/core/tests/test_dead.py": "error/collect",
    }
    assert (
        ran.result(prefix + "test_raises").failure.frames[0].file == "sympy/core/tests/test_arit.py"
    )
    assert ran.result(prefix + "test_wrong").names == ("test_wrong",)
    assert ran.report.closed
    assert ran.report.trusted


LATE = '''
import unittest

class Checked(unittest.TestCase):
    """Checks after each test, as Django does: the result has seen the test stop by then."""
    def __call__(self, result=None):
        super().__call__(result)
        try:
            raise ValueError("the rows are inconsistent")
        except ValueError as error:
            result.addError(self, (type(error), error, error.__traceback__))
    def test_fails(self): self.assertEqual(1, 2)
    def test_passes(self): pass

class Prepared(unittest.TestCase):
    def __call__(self, result=None):
        try:
            raise ValueError("no rows")
        except ValueError as error:
            result.addError(self, (type(error), error, error.__traceback__))
    def test_never(self): pass
'''


def test_what_fails_after_a_test_does_not_hide_its_own_failure(run, interpreter: str) -> None:
    ran = run("unittest", {"test_late.py": LATE}, python=interpreter)
    found = [(r.id.split(".", 1)[1], r.outcome, r.phase) for r in ran.report.results]
    assert found == [
        ("Checked.test_fails", "failed", "call"),
        ("Checked.test_passes", "passed", "call"),
        ("Checked.test_passes", "error", "teardown"),
        ("Prepared.test_never", "error", "setup"),
    ]


IMPORTED = "def f():\n    return 1\nONCE = f()\n"
LINES = {"m.py": (2, 3)}


@pytest.mark.parametrize(
    ("runner", "sources"),
    [
        ("pytest", {"test_m.py": "import m\ndef test_f(): m.f()\n"}),
        ("unittest", {"test_m.py": "import m\n" + OUTCOMES}),
        ("django", {"tests/runtests.py": RUNTESTS, "tests/test_m.py": "import m\n" + DJANGO_TESTS}),
        (
            "sympy",
            {
                "sympy/__init__.py": "",
                "sympy/testing/__init__.py": "",
                "sympy/testing/runtests.py": SYMPY_RUNTESTS,
                "bin/test": SYMPY_SCRIPT,
                "sympy/test_m.py": "import m\ndef test_f(): m.f()\n",
            },
        ),
    ],
)
def test_import_only_loads_files_and_runs_no_test(
    run, runner: str, sources: dict[str, str]
) -> None:
    everything = {"m.py": IMPORTED, **sources}
    env = {"PYTHONPATH": "."}
    ran = run(runner, everything, lines=LINES, env=env, import_only=True)
    assert ran.report.results == []
    assert ran.report.trusted, ran.report.remark
    assert ran.report.closed
    assert ran.report.lines == {"m.py": {2: 1, 3: 1}}
