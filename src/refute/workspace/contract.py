"""The workspace contract: a repository at a commit whose tests can be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Runner = Literal["pytest", "unittest", "django", "sympy"]
"""Program that starts tests: `pytest`, `python -m unittest`, Django's `tests/runtests.py`, sympy's
`bin/test`."""

WORK_TREE = "<work tree>"
"""Stands for the path of the work tree in the values of `Recipe.env`."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """An environment and a way to run tests."""

    runner: Runner = "pytest"
    options: tuple[str, ...] = ()
    """More arguments of the runner, e.g. `("-p", "no:randomly")`."""
    python: str = ""
    """Version of the interpreter, such as "3.9". Empty where `interpreter` or `image` is given."""
    pins: tuple[tuple[str, ...], ...] = ()
    """Groups of requirements, installed in this order."""
    editable: bool = True
    """Install the repository itself in editable mode, without dependencies or build isolation."""
    before: str | None = None
    """ISO date: packages released later are not installed (`--exclude-newer`)."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of build and tests; `WORK_TREE` stands for the checkout."""
    interpreter: str | None = None
    """Path of an interpreter that has everything already (a user's own); nothing is built."""
    image: str | None = None
    """Container image that holds repository and environment (container backends)."""


@dataclass(frozen=True, slots=True)
class TestSelection:
    """Selection of tests. Paths are relative to the root of the repository, with `/`.

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
    """Result of one test."""

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
        """Path of the tree for the programs inside it."""
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
        """Return the protections here: name of the measure -> whether it holds."""
        ...

    def close(self) -> None:
        """Kill everything and remove the copy; idempotent."""
        ...

    def __enter__(self) -> Workspace: ...

    def __exit__(self, *exc: object) -> None: ...


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """Limits of everything that runs in a workspace at once. Sizes are bytes."""

    memory: int = 8 << 30
    """Private memory of all processes together; measured 20 times a second."""
    processes: int = 512
    disk: int = 2 << 30
    """Of changes to the tree, and again of temporary files."""


@dataclass(frozen=True, slots=True)
class Base:
    """Tree and environment of a repository at a commit, made once; copies start from it. Nothing
    changes it."""

    repo: str
    commit: str
    recipe: Recipe
    tree: Path
    """The checked-out tree, built. In a container: not used, the image holds it."""
    python: Path
    """The interpreter that has everything."""
    readable: tuple[str, ...]
    """Folders that programs of the environment read."""
    key: str
    """Hash of all that it is made of: equal keys, equal results."""
    instance_id: str | None = None
    hidden: tuple[str, ...] = ()
    """Folders among the readable ones that are shown empty: they may hold later code."""
    sites: tuple[str, ...] = ()
    """Folders of the packages that were installed for it; empty for a user's own interpreter."""

    def variables(self, tree: str) -> Mapping[str, str]:
        """The recipe's environment variables for a tree that lies at `tree`."""
        return {name: value.replace(WORK_TREE, tree) for name, value in self.recipe.env.items()}


@dataclass(frozen=True, slots=True)
class Execution:
    """A command that was run to its end, or to a limit."""

    status: int
    """Exit status; -signal when killed by one."""
    out: bytes
    """stdout (with stderr where merged); the middle is left out when it is longer than `keep`."""
    err: bytes = b""
    cause: str = ""
    """"" or the limit that ended it: "timeout", "memory", "processes"."""
    seconds: float = 0.0


class ExecutionBackend(Protocol):
    """Backend of a `WorkingCopy`: a tree, and contained commands. Errors are
    `WorkspaceUnavailable`, and OSError where it says so; a command's own failure is never an error.
    """

    @property
    def tree(self) -> str:
        """Path of the tree, as programs inside see it."""
        ...

    @property
    def git_dir(self) -> str:
        """Inside: a git directory of the tree as it was that no command inside can change."""
        ...

    @property
    def scratch(self) -> str:
        """Inside: a writable folder, made empty by `fresh`, that holds a folder `channel`."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of every command."""
        ...

    @property
    def python(self) -> str:
        """The environment's interpreter, inside."""
        ...

    def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        given: bytes = b"",
        timeout: float = 60.0,
        keep: int = 1 << 20,
        merge: bool = False,
        history: bool = False,
    ) -> Execution:
        """Run a command in the tree, `given` on stdin; `env` is added to `environ`. Only with
        `history` it sees `git_dir`, where the backend can hide it.

        When it returns, no process that the command started is left.
        """
        ...

    def take(self, path: str) -> bytes:
        """Content of a file of the tree. Raises OSError."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file of the tree. Raises OSError."""
        ...

    def fresh(self, files: Mapping[str, bytes] = ...) -> None:
        """Empty `scratch` and put files into its `channel`."""
        ...

    def gather(self) -> Mapping[str, bytes]:
        """The regular files in `scratch`/channel."""
        ...

    @property
    def site(self) -> str:
        """`refute.probe.SITE`, inside."""
        ...

    def reset(self) -> None:
        """The tree as it was; temporary folders empty."""
        ...

    def protections(self) -> Mapping[str, bool]:
        """Name of the measure -> whether it holds."""
        ...

    def close(self) -> None:
        """Kill everything; idempotent."""
        ...
