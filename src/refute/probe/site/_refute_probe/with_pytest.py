"""Observe pytest (3 to 9, xdist too): what every phase raised, before any other hook sees it.

PYTEST_DONT_REWRITE
"""

import os

import pytest
from _pytest import runner as _runner
from _pytest.config import PytestPluginManager

from _refute_probe import failures

_ROOT = os.environ.get("REFUTE_PROBE_ROOT") or os.getcwd()


def _watch_calls():
    """Keep the last CallInfo with its exception as it was made; other hooks may change it."""
    last = [None, None]
    kind = _runner.CallInfo
    if hasattr(kind, "from_call"):
        original = kind.from_call.__func__

        def from_call(cls, *args, **kwargs):
            info = original(cls, *args, **kwargs)
            last[:] = [info, info.excinfo]
            return info

        kind.from_call = classmethod(from_call)
    else:  # before 4.1
        original_init = kind.__init__

        def __init__(self, *args, **kwargs):
            original_init(self, *args, **kwargs)
            last[:] = [self, getattr(self, "excinfo", None)]

        kind.__init__ = __init__

    def raised(info):
        if info is not None and last[0] is not info:
            return getattr(info, "excinfo", None)
        return last[1]

    return raised


def _described(excinfo):
    error = excinfo.value
    if type(error).__name__ == "CollectError":  # a wrapper of pytest's, with the text of the cause
        cause = error.__cause__ or error.__context__
        if cause is not None:
            return failures.describe(type(cause), cause, cause.__traceback__, _ROOT)
    return failures.describe(excinfo.type, error, excinfo.tb, _ROOT)


def _watch_conftests(emit):
    original = PytestPluginManager._importconftest

    def _importconftest(self, path, *args, **kwargs):
        try:
            return original(self, path, *args, **kwargs)
        except Exception as error:
            cause = error.__cause__ or error
            inner = getattr(error, "excinfo", None)
            if isinstance(inner, tuple) and len(inner) == 3:
                cause = inner[1]
            where = failures.relative(str(path), _ROOT)
            emit(
                {
                    "kind": "result",
                    "id": where,
                    "file": where,
                    "outcome": "error",
                    "phase": "collect",
                    "failure": failures.describe(type(cause), cause, cause.__traceback__, _ROOT),
                }
            )
            raise

    PytestPluginManager._importconftest = _importconftest


def _marked_xfail(item):
    find = getattr(item, "get_closest_marker", None) or getattr(item, "get_marker", None)
    return find is not None and find("xfail") is not None


def _expected(raw, item):
    """The outcomes that pytest itself gives a phase in which this was raised."""
    if raw is None:
        return ("passed", "failed") if _marked_xfail(item) else ("passed",)  # failed: strict xpass
    name = raw.type.__name__
    if name in ("Skipped", "SkipTest", "XFailed") or isinstance(raw.value, pytest.xfail.Exception):
        return ("skipped",)
    return ("failed", "skipped") if _marked_xfail(item) else ("failed",)


def _phase(item, call, raw):
    stored = getattr(item, "_excinfo", None)  # of a unittest.TestCase
    if raw is None and stored:
        raw = stored[0]
    phase = {"expected": list(_expected(raw, item)), "failure": None, "reason": ""}
    if raw is not None:
        skipped = phase["expected"] == ["skipped"]
        if skipped:
            phase["reason"] = str(getattr(raw.value, "msg", None) or raw.value)[:1000]
        else:
            phase["failure"] = _described(raw)
    phase["file"] = failures.relative(str(getattr(item, "fspath", "") or ""), _ROOT)
    return phase


def _is_subtest(report):
    return type(report).__name__ in ("SubtestReport", "SubTestReport")


def _text_of(report):
    return {
        "type": "",
        "message": "",
        "traceback": failures.shorten(
            str(getattr(report, "longreprtext", "") or report.longrepr or ""),
            failures.LONGEST_TRACEBACK,
        ),
        "frames": [],
    }


class _Tests(object):
    """The phases of the tests that have begun and not ended."""

    def __init__(self):
        self.phases = {}
        self.subtests = {}

    def subtest(self, test, report, phase):
        """Note why a subtest failed."""
        phase = phase or getattr(report, "_refute_probe", None) or {}
        if report.outcome == "failed":
            failure = phase.get("failure") or _text_of(report)
            self.subtests.setdefault(test, []).append(failure)

    def end(self, test):
        """The record of a test all of whose phases are known."""
        phases = self.phases.pop(test, [])
        record = {
            "kind": "result",
            "id": test,
            "file": "",
            "outcome": "passed",
            "phase": "call",
            "failure": None,
            "reason": "",
            "seconds": 0.0,
            "altered": False,
        }
        subtests = self.subtests.pop(test, [])
        for when, outcome, phase, xfail, seconds in phases:
            record["file"] = phase.get("file") or record["file"]
            record["seconds"] += seconds
            if when == "call" and subtests and "passed" in phase["expected"]:
                outcome, phase = "failed", dict(phase, failure=subtests[0])
            elif outcome not in phase["expected"]:
                record["altered"] = True
                outcome = phase["expected"][0]
            decided = record["outcome"] != "passed"
            if outcome == "failed" and record["outcome"] in (
                "passed",
                "xpassed",
                "skipped",
                "xfailed",
            ):
                record["outcome"] = "failed" if when == "call" else "error"
                record["failure"] = phase["failure"]
            elif outcome == "skipped" and not decided:
                record["outcome"] = "skipped" if xfail is None else "xfailed"
                record["reason"] = xfail or phase["reason"]
                record["failure"] = phase["failure"]
            elif outcome == "passed" and xfail is not None and not decided:
                record["outcome"], record["reason"] = "xpassed", xfail
            else:
                continue
            record["phase"] = when
        return record


def _id(nodeid):
    """A test's id as pytest has it from version 4 on; before, `::()` stood for a class's object."""
    head, bracket, parameters = nodeid.partition("[")
    return head.replace("::()", "") + bracket + parameters


def _naming(config):
    """Return the function that turns pytest's ids into those that runs compare and selections use:
    their file is named from the tree's root, wherever the settings lie that a run has found."""
    base = os.path.realpath(str(getattr(config, "rootpath", None) or config.rootdir))
    folder = os.path.relpath(base, os.path.realpath(_ROOT))

    def name(nodeid):
        file, mark, rest = _id(nodeid).partition("::")
        if file and folder != ".":
            file = os.path.normpath(os.path.join(folder, file)).replace(os.sep, "/")
        return file + mark + rest

    return name


def _observer(emit, config):
    raised = _watch_calls()
    name_of = _naming(config)
    pending = {}  # (test, phase) -> what was raised, in this process
    tests = _Tests()

    class Observer(object):
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            phase = _phase(item, call, raised(call))
            outcome = yield
            report = outcome.get_result()
            if emit is None:  # an xdist worker: the controller writes
                report._refute_probe = phase
            else:
                pending[(name_of(item.nodeid), call.when)] = phase

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_make_collect_report(self, collector):
            outcome = yield
            report = outcome.get_result()
            excinfo = raised(None)
            if report.outcome == "failed" and excinfo is not None:
                report._refute_probe = _described(excinfo)

    class Writer(Observer):
        def pytest_collectreport(self, report):
            if report.outcome != "failed":
                return
            name = name_of(report.nodeid) or "."
            emit(
                {
                    "kind": "result",
                    "id": name,
                    "file": name.split("::")[0],
                    "outcome": "error",
                    "phase": "collect",
                    "failure": getattr(report, "_refute_probe", None) or _text_of(report),
                }
            )

        def pytest_collection_finish(self, session):
            emit({"kind": "planned", "tests": len(session.items)})

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logstart(self, nodeid, location):
            emit({"kind": "started", "id": name_of(nodeid)})

        @pytest.hookimpl(trylast=True)
        def pytest_runtest_logreport(self, report):
            test = name_of(report.nodeid)
            if report.outcome == "rerun":
                tests.phases.pop(test, None)
                return
            if _is_subtest(report):
                tests.subtest(test, report, pending.pop((test, report.when), None))
                return
            phase = pending.pop((test, report.when), None) or getattr(report, "_refute_probe", None)
            if phase is None:  # a plugin made this report without running anything
                phase = {"expected": [report.outcome], "failure": None, "reason": ""}
                if report.outcome == "failed":
                    phase["failure"] = _text_of(report)
            if report.outcome == "failed" and phase["failure"] is None:
                phase["failure"] = _text_of(report)
            xfail = getattr(report, "wasxfail", None)
            tests.phases.setdefault(test, []).append(
                (report.when, report.outcome, phase, xfail, float(report.duration))
            )
            if report.when == "teardown":
                record = tests.end(test)
                if test != _id(report.nodeid):
                    record["names"] = [_id(report.nodeid)]
                emit(record)

        def pytest_internalerror(self, excrepr, excinfo):
            emit({"kind": "trouble", "failure": _described(excinfo)})

        def pytest_unconfigure(self, config):
            for test in list(tests.phases):  # a worker died between the phases
                emit(tests.end(test))

    return Observer() if emit is None else Writer()


_emit = [failures.take("emit")]
if _emit[0] is not None:
    _watch_conftests(_emit[0])


def pytest_configure(config):
    """Register the observer in the outermost session and in xdist's workers, nowhere else."""
    worker = hasattr(config, "workerinput") or hasattr(config, "slaveinput")
    emit = _emit.pop() if _emit else None
    if emit is not None or worker:
        config.pluginmanager.register(_observer(emit, config), "refute-probe")
