"""A backend of workspaces: somewhere a tree lies and commands run contained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


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
    """What `WorkingCopy` needs of a backend. Errors are `WorkspaceUnavailable`, and OSError where
    it says so; what a command does is never an error."""

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
