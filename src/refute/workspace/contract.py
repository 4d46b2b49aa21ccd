"""The workspace contract: a repository at a commit whose tests can be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class TestSelection:
    """Which tests to run. Paths are relative to the root of the repository, with `/`.

    `tests` narrows to single tests by the ids that reports give. Both empty: nothing is run.
    """

    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    import_only: bool = False
    """Have the runner import the files, and run none of their tests."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback."""

    file: str
    """Relative to the repository where it lies in it, else absolute."""
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that ended a phase of a test, or the import of its file."""

    type: str
    """Qualified name, without `builtins.`."""
    message: str
    traceback: str
    """As Python prints it, files of the repository relative to it (shortened in the middle when
    very long)."""
    frames: tuple[Frame, ...] = ()
    """Outermost first."""


Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
"""`failed`: the test's own call raised; `error`: its set-up, tear-down or collection did."""


Phase = Literal["collect", "setup", "call", "teardown"]


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of one test."""

    __test__ = False  # not a test class of pytest

    id: str
    """The runner's own full name for it, its file named from the root of the repository:
    `backend/tests/test_x.py::TestA::test_b[1 2]`."""
    file: str
    """Test file, relative to the repository; "" where unknown."""
    outcome: Outcome
    phase: Phase = "call"
    """The phase that decided the outcome."""
    failure: Failure | None = None
    reason: str = ""
    """Of a skip or an expected failure."""
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    """Other names that logs and datasets know the test by (`test_a (module.Class)`, pytest's
    `tests/test_x.py::test_a` where the settings lie in `backend`)."""


@dataclass(frozen=True, slots=True)
class TestReport:
    """One run of tests."""

    __test__ = False

    results: tuple[TestResult, ...]
    """In the order in which they ended; a file that cannot be imported is a result with phase
    `collect`, outcome `error` and the file's path as id."""
    status: Literal["finished", "timeout", "memory", "crashed"]
    """`timeout` and `crashed` reports hold the results up to there. `crashed`: the process ended
    without the probe's closing record (`os._exit`, a signal, a runner that does not start)."""
    lines: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """File -> line -> number of executions, for the lines that were asked for (0 included)."""
    seconds: float = 0.0
    output: str = ""
    """The last 20,000 characters of what the process printed; never parsed."""
    trusted: bool = True
    """False: the results carry marks of having been meddled with (see the probe's docstring)."""
    remark: str = ""
    """One line for people: why the run did not finish, or is not trusted."""
    running: str = ""
    """Id of the test that had begun and not ended when the run ended early."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A shell command that was run in the workspace."""

    status: int
    """Exit status; -signal when killed by one."""
    output: str
    """stdout and stderr together, the middle cut out when very long."""
    timed_out: bool = False
    seconds: float = 0.0


class Workspace(Protocol):
    """A private, writable copy of a repository at a commit, with its environment.

    Use as a context manager; the copy is gone afterwards. Not thread-safe; two workspaces of the
    same repository never see each other. Nothing in it can reach the network, write outside the
    copy and its temporary folder, or read other people's files.
    """

    @property
    def root(self) -> Path:
        """Where the tree lies for the programs inside it."""
        ...

    def apply(self, patch: str) -> None:
        """Apply a unified diff strictly, all of it or nothing. Raises `PatchRejected`."""
        ...

    def read(self, path: str) -> bytes:
        """A file of the tree, as it is now. Raises `FileNotFoundError`, `IsADirectoryError`."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Make or replace a file of the tree (folders are made). Never outside of the tree."""
        ...

    def files(self) -> Sequence[str]:
        """Paths of all tracked and new files that are not ignored, sorted."""
        ...

    def run_tests(
        self,
        selection: TestSelection,
        *,
        count_lines: Mapping[str, Sequence[int]] | None = None,
        timeout: float = 600.0,
    ) -> TestReport:
        """Run the selected tests and count executions of the chosen lines (file -> line numbers).

        `timeout` is wall-clock seconds. Raises `WorkspaceUnavailable`, also where the interpreter
        lacks the runner, or the runner does not start on the commit either.
        """
        ...

    def run(
        self, command: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run a shell command in the tree, contained as the tests are (an agent's shell)."""
        ...

    def diff(self) -> str:
        """Everything that differs from the commit, new files included, as `git apply` reads it."""
        ...

    def reset(self) -> None:
        """Back to the commit: every change and every new file is gone."""
        ...

    def protections(self) -> Mapping[str, bool]:
        """What is active here: name of the measure -> whether it holds."""
        ...

    def close(self) -> None:
        """Kill everything and remove the copy; idempotent."""
        ...

    def __enter__(self) -> Workspace: ...

    def __exit__(self, *exc: object) -> None: ...
