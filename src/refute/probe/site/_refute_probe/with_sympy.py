"""Observe sympy's own runner (`bin/test`), whose tests are bare functions of executed files."""

import os
import sys
import time

from . import failures

MODULES = ("sympy.testing.runtests", "sympy.utilities.runtests")


def _observe(reporter, emit, root):
    state = {"file": "", "test": None, "start": 0.0}

    def result(outcome, phase="call", failure=None, reason=""):
        test = state["test"]
        emit(
            {
                "kind": "result",
                "id": state["file"] if test is None else "%s::%s" % (state["file"], test),
                "names": [] if test is None else [test],
                "file": state["file"],
                "outcome": outcome,
                "phase": phase,
                "failure": failure,
                "reason": reason,
                "seconds": 0.0 if test is None else time.time() - state["start"],
            }
        )

    def enter_file(filename):
        state.update(file=failures.relative(filename, root), test=None)

    def enter_test(function):
        state.update(test=getattr(function, "__name__", str(function)), start=time.time())
        emit({"kind": "started", "id": "%s::%s" % (state["file"], state["test"])})

    def raised(exc_info):
        failures.tell_sides(exc_info[1], exc_info[2])
        failure = failures.describe(exc_info[0], exc_info[1], exc_info[2], root)
        collecting = state["test"] is None
        result("error" if collecting else "failed", "collect" if collecting else "call", failure)

    def not_imported(filename, exc_info):
        enter_file(filename)
        raised(exc_info)

    events = {
        "entering_test": enter_test,
        "test_pass": lambda *args: result("passed"),
        "test_fail": raised,
        "test_exception": raised,
        "test_skip": lambda v=None: result("skipped", reason=str(v or "")),
        "test_xfail": lambda *args: result("xfailed"),
        "test_xpass": lambda v=None: result("xpassed", reason=str(v or "")),
        "import_error": not_imported,
    }
    for name, event in events.items():
        failures.precede(reporter, name, event)
    return enter_file


def _patch(module, emit, root):
    """Observe the files that the first run of this module tests."""
    enter = {}
    original = module.SymPyTests.test_file

    def test_file(self, filename, *args, **kwargs):
        reporter = self._reporter
        if not enter:
            enter["reporter"], enter["file"] = reporter, _observe(reporter, emit, root)
        if enter["reporter"] is reporter:
            enter["file"](filename)
        return original(self, filename, *args, **kwargs)

    module.SymPyTests.test_file = test_file


def watch(emit, root):
    """Patch sympy's runner as soon as it is imported; importing it now would fix its settings."""
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    original = loader.exec_module

    def exec_module(self, module):
        original(self, module)
        if module.__name__ in MODULES:
            loader.exec_module = original
            _patch(module, emit, root)

    if os.path.isdir(os.path.join(root, "sympy")):
        loader.exec_module = exec_module
