"""Whether a run of tests says anything about tests, or only that they cannot be run here."""

from __future__ import annotations

from refute.workspace.contract import TestReport


def unrunnable(report: TestReport) -> str:
    """Why the tests of a state that is known to be right cannot be run here, in one line; "" where
    some test was run, or there was none to run.

    A runner that does not start, and files none of which can be imported, speak of the
    environment: it lacks a package, or has one that is too new. That is no result.
    """
    if any(result.phase != "collect" for result in report.results):
        return ""
    if not report.results:
        return "" if report.status != "crashed" else report.remark or "the runner did not start"
    failures = (one.failure for one in report.results if one.outcome == "error")
    failure = next((one for one in failures if one is not None), None)
    if failure is None:
        return ""
    file = report.results[0].file or report.results[0].id
    message = (failure.message.strip().splitlines() or [""])[-1]
    return f"{file} cannot be imported: {failure.type}: {message}"[:300]
