"""Observe unittest, and Django's runner, which is built on it.

The result object that the first (outermost) TextTestRunner makes is observed through attributes of
that very object, so neither a subclass nor a runner that a test starts is confused with it.
"""

import sys
import time

from . import failures

_COLLECTING = ("_FailedTest", "ModuleImportFailure", "LoadTestsFailure")


def _file(test, root):
    module = sys.modules.get(type(test).__module__)
    path = getattr(module, "__file__", None)
    return failures.relative(path, root) if path else ""


def _phase(trace):
    """The phase in which a traceback of a test's run begins."""
    while trace is not None:
        code = trace.tb_frame.f_code
        inside = code.co_filename.replace("\\", "/").endswith("unittest/case.py")
        if code.co_name in ("_callSetUp",) or (not inside and code.co_name == "setUp"):
            return "setup"
        if code.co_name in ("_callTearDown", "_callCleanup", "doCleanups"):
            return "teardown"
        if code.co_name == "_callTestMethod":
            return "call"
        if not inside:
            return "teardown" if code.co_name == "tearDown" else "call"
        trace = trace.tb_next
    return "call"


def _watch_loader(root):
    """Remember why a module could not be imported: unittest keeps only the text."""
    from unittest import loader

    reasons = {}
    for function in ("_make_failed_import_test", "_make_failed_load_tests"):
        original = getattr(loader, function, None)
        if original is None:
            continue

        def make(name, *args, _original=original, **kwargs):
            if sys.exc_info()[0] is not None:
                reasons[name] = failures.current(root)
            return _original(name, *args, **kwargs)

        setattr(loader, function, make)
    return reasons


class _Running(object):
    """State of a test that has started."""

    def __init__(self):
        self.start = time.time()
        self.failures = []
        self.subtests = []
        self.skip = None
        self.expected = None
        self.unexpected = False


def _printed(test):
    """A test's printed form, and the one that it has before or from Python 3.11 on."""
    shown, name = str(test), test.id()
    owner, _, method = name.rpartition(".")
    forms = [shown]
    for where in (owner, name):
        form = "{0} ({1})".format(method, where)
        if shown.startswith(method + " (") and form not in forms:
            forms.append(form)
    return forms


def _decide(running):
    """(outcome, phase, failure, reason) of a test that has stopped."""
    for phase, failure in sorted(running.failures, key=lambda pair: pair[0] != "call"):
        return ("failed" if phase == "call" else "error"), phase, failure, ""
    if running.subtests:
        return "failed", "call", running.subtests[0], ""
    if running.unexpected:
        return "xpassed", "call", None, "unexpected success"
    if running.expected is not None:
        return "xfailed", "call", running.expected, "expected failure"
    if running.skip is not None:
        return "skipped", "call", None, running.skip
    return "passed", "call", None, ""


def _events(result, emit, root, reasons):
    """The observing methods, by the name of the result's method that each accompanies."""
    running = {}
    last = {"test": None, "outcome": ""}  # the test that stopped last

    def described(err):
        return failures.describe(err[0], err[1], err[2], root)

    def record(test, outcome, phase, failure, reason="", seconds=0.0):
        name = test.id()
        names = _printed(test)
        document = getattr(test, "shortDescription", lambda: None)()
        if document:
            names.append(document)
        emit(
            {
                "kind": "result",
                "id": name,
                "names": names,
                "file": _file(test, root),
                "outcome": outcome,
                "phase": phase,
                "failure": failure,
                "reason": reason,
                "seconds": seconds,
            }
        )

    def start(test):
        running[id(test)] = _Running()
        emit({"kind": "started", "id": test.id()})

    def problem(test, err):
        if id(test) in running:
            running[id(test)].failures.append((_phase(err[2]), described(err)))
            return
        if test is last["test"]:  # Django checks constraints after a test has stopped
            if last["outcome"] not in ("failed", "error"):  # else that failure stands for it
                record(test, "error", "teardown", described(err))
            return
        before = not test.id().startswith("tearDown")  # of a class or a module: no test of its own
        record(test, "error", "setup" if before else "teardown", described(err))

    def skip(test, reason):
        owner = getattr(test, "test_case", test)
        if id(owner) not in running:
            record(test, "skipped", "setup", None, str(reason))
        elif owner is test:
            running[id(test)].skip = str(reason)

    def subtest(test, sub, err):
        if err is not None and id(test) in running:
            running[id(test)].subtests.append(described(err))

    def expected(test, err):
        if id(test) in running:
            running[id(test)].expected = described(err)

    def unexpected(test):
        if id(test) in running:
            running[id(test)].unexpected = True

    def stop(test):
        state = running.pop(id(test), None)
        if state is None:
            return
        seconds = time.time() - state.start
        if type(test).__name__ in _COLLECTING:
            name = test.id().split("_FailedTest.")[-1]
            failure = reasons.get(name) or (state.failures[0][1] if state.failures else None)
            emit(
                {
                    "kind": "result",
                    "id": name,
                    "names": [str(test)],
                    "file": "",
                    "outcome": "error",
                    "phase": "collect",
                    "failure": failure,
                }
            )
            return
        outcome, phase, failure, reason = _decide(state)
        last.update(test=test, outcome=outcome)
        record(test, outcome, phase, failure, reason, seconds)

    return {
        "startTest": start,
        "stopTest": stop,
        "addError": problem,
        "addFailure": problem,
        "addSkip": skip,
        "addSubTest": subtest,
        "addExpectedFailure": expected,
        "addUnexpectedSuccess": unexpected,
    }


def _observe(result, emit, root, reasons):
    for name, event in _events(result, emit, root, reasons).items():
        failures.precede(result, name, event)


def watch(emit, root, import_only=False):
    """Observe the next test run of this process. `import_only`: it runs no test."""
    from unittest import TestSuite, runner

    reasons = _watch_loader(root)
    original = runner.TextTestRunner.run

    def run(self, test):
        runner.TextTestRunner.run = original  # runs that tests start are theirs
        make = self._makeResult

        def _makeResult():
            result = make()
            _observe(result, emit, root, reasons)
            return result

        self._makeResult = _makeResult
        emit({"kind": "planned", "tests": test.countTestCases()})
        return original(self, TestSuite() if import_only else test)

    runner.TextTestRunner.run = run
