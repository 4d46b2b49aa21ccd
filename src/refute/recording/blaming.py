"""`pytest --refute-debug`: which functions a failing test suspects, and a search for their fix.

The search runs generated code, which belongs into refute's sandbox and never into the process of
the tests; and refute needs a newer Python than a project may have. So another process does it:
`refute debug --failing`, of this interpreter or the one on the path. Where there is neither, the
command is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

import pytest

from refute.recording.spectra import Tracer, suspects, to_json

FILE = ".refute/failing.json"
_MOST_FAILING = 5


class Blaming:
    """The hooks of a session that looks for what is to blame."""

    def __init__(self, config: Any, seconds: float) -> None:
        self._root = str(getattr(config, "rootpath", None) or config.rootdir)
        self._seconds = seconds
        self._tracer = Tracer(self._root)
        self._outcome: Dict[str, str] = {}
        self._failing: Dict[str, FrozenSet[Tuple[str, int]]] = {}
        self._passing: Dict[str, FrozenSet[Tuple[str, int]]] = {}
        self._raised: Dict[str, List[Tuple[str, int]]] = {}
        self._problem = ""
        if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
            self._problem = "it needs all tests in one process: add -n 0"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        if self._problem or sys.gettrace() is not None:
            self._problem = self._problem or "another tracer is active (coverage?): add --no-cov"
            yield
            return
        self._tracer.hit = set()
        sys.settrace(self._tracer)
        try:
            yield
        finally:
            sys.settrace(None)
        outcome = self._outcome.pop(item.nodeid, "")
        if outcome == "failed":
            self._failing[item.nodeid] = frozenset(self._tracer.hit)
        elif outcome == "passed":
            self._passing[item.nodeid] = frozenset(self._tracer.hit)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        done = yield
        report = done.get_result()
        if report.when == "call":
            self._outcome[item.nodeid] = report.outcome
            if report.outcome == "failed" and call.excinfo is not None:
                self._raised[item.nodeid] = self._trail(call.excinfo.tb)
        elif report.outcome == "failed":
            self._outcome[item.nodeid] = "broken"

    def _trail(self, trace: Any) -> List[Tuple[str, int]]:
        """The lines of the project that an exception went through, innermost first."""
        found = []
        while trace is not None:
            file = self._tracer.relative(trace.tb_frame.f_code.co_filename)
            if file:
                found.append((file, trace.tb_lineno))
            trace = trace.tb_next
        return found[::-1]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        lines = self._said()
        if lines:
            terminalreporter.section("refute: what may be to blame")
        for line in lines:
            terminalreporter.write_line(line)

    def _said(self) -> List[str]:
        if self._problem:
            return ["nothing was looked for: {}".format(self._problem)]
        if not self._failing:
            return []
        few = dict(list(self._failing.items())[:_MOST_FAILING])
        found = suspects(few, self._passing, self._tracer.places, self._raised)
        if not any(one.suspects for one in found):
            return ["no failing test executes code of the project that could be to blame"]
        path = os.path.join(self._root, FILE)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(to_json(found))
        except OSError as error:
            return ["{}: {}".format(path, error.strerror)]
        words = ["debug", "--failing", FILE, "--budget", str(self._seconds)]
        start = _refute()
        if start is None:
            told = "no refute can be started here (it needs Python 3.11); where there is one, run"
            return [told, "refute {} --python {}".format(" ".join(words), sys.executable)]
        return self._search([*start, *words, "--python", sys.executable])

    def _search(self, command: List[str]) -> List[str]:
        limit = 60 + 20 * self._seconds
        try:
            done = subprocess.run(
                command, cwd=self._root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, timeout=limit, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return ["the search did not end: {}".format(error)]
        text = done.stdout.decode("utf-8", "replace")
        return (text or done.stderr.decode("utf-8", "replace")).splitlines()


def _refute() -> Optional[List[str]]:
    """The command `refute`: beside this interpreter, else on the path."""
    program = shutil.which("refute", path=os.path.dirname(sys.executable)) or shutil.which("refute")
    return None if program is None else [program]
