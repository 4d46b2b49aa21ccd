"""One recorded session of pytest: guards in, tests followed, the file out."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import Any

import pytest

from refute.recording.importing import Finder, packages_under
from refute.recording.recorder import Recorder
from refute.recording.storing import merge, read_part, write

_BETWEEN_PARTS = 5.0
"""Seconds between two writes of a worker's part: a worker may be ended without notice."""


class Session:
    """The hooks of a session that records. With pytest-xdist each worker writes a part, which the
    process that started the workers puts together."""

    def __init__(self, config: Any, option: Any) -> None:
        self._root = str(getattr(config, "rootpath", None) or config.rootdir)
        self._limit = max(1, option.refute_record_limit)
        self._file = os.path.join(self._root, option.refute_record)
        self._is_worker = False
        self._pid = os.getpid()
        self._parts: list[str] = []
        self._written = time.monotonic()
        self._said = ""
        self._ran = False
        packages = frozenset(option.refute_record_package) or packages_under(self._root)
        self._recorder = Recorder(self._limit)
        self._finder = Finder(packages, self._recorder.make_guard)
        self._finder.install()

    # -- tests -------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self._ran = True
        self._recorder.begin(item.nodeid)
        yield
        self._recorder.end()
        if self._is_worker and time.monotonic() - self._written > _BETWEEN_PARTS:
            self._write()

    # -- workers -----------------------------------------------------------------------------------

    def pytest_configure(self, config: Any) -> None:
        """In a worker only now it is known that it is one, and of which part."""
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        if worker is not None:
            self._is_worker = True
            self._file = worker["refute_record_part"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Of pytest-xdist: a worker is about to start."""
        folder, name = os.path.split(self._file)
        part = f".{name}.{self._pid}-{node.gateway.id}"
        self._parts.append(os.path.join(folder, part))
        node.workerinput["refute_record_part"] = self._parts[-1]

    # -- the end -----------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Also after Ctrl-C."""
        if os.getpid() != self._pid:
            return
        self._recorder.stop()
        self._finder.remove()
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        parts = [self._recorder.lines()]
        skipped = Counter(self._recorder.skipped)
        missed = self._recorder.missed()
        for path in self._parts:
            try:
                header, records = read_part(path)
                os.unlink(path)
            except (OSError, ValueError):  # of a worker that ended before it wrote
                continue
            parts.append(records)
            skipped.update(header["skipped"])
            missed.update(header["missed"])
        records = merge(parts, self._limit)
        recorded = {record["target"] for record in records}
        missed = {target: why for target, why in missed.items() if target not in recorded}
        reasons = dict(skipped.most_common())
        paths = self._import_paths()
        try:
            write(self._file, records, skipped=reasons, missed=missed, paths=paths)
        except OSError as error:
            self._said = f"nothing recorded: {self._file}: {error.strerror}"
            return
        file = os.path.relpath(self._file, self._root)
        self._said = f"recorded {len(records)} calls of {len(recorded)} functions: {file}"
        if not (records or self._parts or self._ran):
            self._said = "nothing recorded: no test ran, see above why"

    def _import_paths(self) -> list[str]:
        """The folders below the root that Python imports from, as the tests had them."""
        pythons = (sys.prefix + os.sep, sys.base_prefix + os.sep)
        found = []
        for path in map(os.path.abspath, sys.path):
            relative = os.path.relpath(path, self._root)
            inside = not relative.startswith("..") and not path.startswith(pythons)
            if inside and os.path.isdir(path):
                found.append(relative.replace(os.sep, "/"))
        return list(dict.fromkeys(found))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._said and not self._is_worker:
            terminalreporter.write_line(f"refute: {self._said}")
