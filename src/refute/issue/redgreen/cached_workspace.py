"""A workspace that remembers what its test runs said, and that keeps to the seconds of an issue.

A method that waits for a batch's answers is started again for each round of them. Its runs of tests
are then looked up: the second start costs no test, and prompts that quote a run are the same, so
that their answers are found.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path

from refute.core.problems import IssueProblem
from refute.core.storage import cache_folder, key_of
from refute.issue.drafting.bounded_asker import OutOfBounds
from refute.workspace.contract import CommandResult, TestReport, TestSelection, Workspace
from refute.workspace.running import ReportCache

_FORMAT = 3
_LEAST_SECONDS = 1.0


def memory_of(problem: IssueProblem) -> Path | None:
    """Return the folder for the runs of an issue; None where the environment may change between
    runs.

    An interpreter of the user's own has whatever was installed last, so nothing of it is kept.
    """
    if problem.recipe is None or problem.recipe.interpreter is not None:
        return None
    where = [problem.repo, problem.base_commit, asdict(problem.recipe)]
    return cache_folder() / "redgreen" / key_of(_FORMAT, *where)


class Remembering:
    """Passes everything on to a workspace, but for runs of tests that are known already.

    A run is known by the patches applied since the last reset, what was written, the selection and
    the lines counted. Only runs that finished and were not meddled with are kept, and that the
    original code's own tests take longer than they may.
    """

    def __init__(
        self, workspace: Workspace, memory: Path | None, seconds_left: Callable[[], float]
    ) -> None:
        self._inner = workspace
        self._memory = memory
        self._cache = ReportCache(memory)
        self._seconds_left = seconds_left
        self._state: list[str] = []

    def unhurried(self) -> Remembering:
        """The same workspace and memory, for runs that are not kept to the issue's seconds."""
        return Remembering(self._inner, self._memory, lambda: math.inf)

    @property
    def root(self) -> Path:
        """As the workspace's."""
        return self._inner.root

    def apply(self, patch: str) -> None:
        """As `Workspace.apply`."""
        self._inner.apply(patch)
        self._state.append(patch)

    def read(self, path: str) -> bytes:
        """As `Workspace.read`."""
        return self._inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        """As `Workspace.write`."""
        self._inner.write(path, data)
        self._state.append(f"{path}\0{hashlib.sha256(data).hexdigest()}")

    def files(self) -> Sequence[str]:
        """As `Workspace.files`."""
        return self._inner.files()

    def run_tests(
        self,
        selection: TestSelection,
        *,
        count_lines: Mapping[str, Sequence[int]] | None = None,
        timeout: float = 600.0,
    ) -> TestReport:
        """As `Workspace.run_tests`. Raises `OutOfBounds` where no time is left for a new run."""
        lines = {file: list(numbers) for file, numbers in (count_lines or {}).items()}
        allowed = None if self._state else timeout  # those of the original code are kept, too long
        what = [self._state, *astuple(selection), lines, allowed]
        known = self._cache.get(*what)
        if known is not None:
            return known
        left = self._seconds_left()
        if left < _LEAST_SECONDS:
            raise OutOfBounds("no time is left to run tests")
        report = self._inner.run_tests(
            selection, count_lines=count_lines, timeout=min(timeout, left)
        )
        too_long = report.status == "timeout" and not self._state and timeout <= left
        if report.status == "finished" or too_long:
            self._cache.put(report, *what)
        return report

    def run(
        self, command: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """As `Workspace.run`."""
        self._state.append(f"ran\0{command}")
        return self._inner.run(command, timeout=timeout, env=env)

    def diff(self) -> str:
        """As `Workspace.diff`."""
        return self._inner.diff()

    def reset(self) -> None:
        """As `Workspace.reset`."""
        self._inner.reset()
        self._state = []

    def protections(self) -> Mapping[str, bool]:
        """As `Workspace.protections`."""
        return self._inner.protections()

    def close(self) -> None:
        """As `Workspace.close`."""
        self._inner.close()

    def __enter__(self) -> Remembering:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._inner.__exit__(*exc)
