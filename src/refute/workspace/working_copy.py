"""The workspace itself: git and test runs over any backend's backend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import (
    CommandResult,
    Execution,
    ExecutionBackend,
    Recipe,
    TestReport,
    TestSelection,
    Workspace,
)
from refute.workspace.patches import touched_files
from refute.workspace.repositories import PATCH, QUIET, SAFE_OPTIONS
from refute.workspace.testruns import NotStarted, nearest, run_tests

_GIT_SECONDS = 300.0
_LARGEST_DIFF = 256 << 20
_AGENT_OUTPUT = 30_000
_DIFF = ("diff", "--cached", *PATCH)


class WorkingCopy:
    """A `Workspace` in a backend. See `refute.workspace.contract.Workspace` for what each does."""

    def __init__(self, backend: ExecutionBackend, recipe: Recipe) -> None:
        self._backend = backend
        self._recipe = recipe
        self._has_run = False
        """True: something was run since the tree was at the commit."""

    @property
    def root(self) -> Path:
        """Path of the tree for the programs inside it."""
        return Path(self._backend.tree)

    def apply(self, patch: str) -> None:
        """Apply a unified diff strictly, all of it or nothing. Raises `PatchRejected`."""
        if not patch.strip():
            raise PatchRejected("the patch is empty")
        given = patch if patch.endswith("\n") else patch + "\n"
        try:
            data = given.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise PatchRejected("the patch holds half a character (a lone surrogate)") from None
        # by the files alone, without a repository: nothing of the tree's own `.git` is believed
        options = ("apply", "--whitespace=nowarn", "-p1", "-")
        done = self._git(options, given=data, repository=False)
        if done.status:
            raise PatchRejected(_reason(done.err))
        self._forget_compiled(touched_files(patch))

    def read(self, path: str) -> bytes:
        """A file of the tree, as it is now. Raises OSError."""
        return self._backend.take(path)

    def write(self, path: str, data: bytes) -> None:
        """Make or replace a file of the tree. Raises OSError for a path that leads out of it."""
        self._backend.put(path, data)
        self._forget_compiled([path])

    def files(self) -> Sequence[str]:
        """Paths of all tracked and new files that are not ignored, sorted."""
        self._backend.fresh()
        self._index()
        listed = self._checked(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"
        )
        gone = self._checked("ls-files", "-z", "--deleted")
        names = set(listed.split(b"\0")) - set(gone.split(b"\0"))
        return sorted(n.decode("utf-8", "surrogateescape") for n in names if n and n[-1:] != b"/")

    def run_tests(
        self,
        selection: TestSelection,
        *,
        count_lines: Mapping[str, Sequence[int]] | None = None,
        timeout: float = 600.0,
    ) -> TestReport:
        """Run the selected tests and count executions of the chosen lines.

        A runner that does not start is a fault of the environment where it does not start on the
        commit either: `WorkspaceUnavailable`. Else it is the doing of what was changed.
        """
        self._has_run = True
        try:
            return run_tests(self._backend, self._recipe, selection, count_lines or {}, timeout)
        except NotStarted as error:
            change = self.diff()
            if not change or not self._starts(selection, timeout):
                raise
            self.reset()
            self.apply(change)
            return error.report

    def _starts(self, selection: TestSelection, timeout: float) -> bool:
        """Return whether the runner starts on the commit; the workspace is left there."""
        self.reset()
        recipe = self._recipe
        if recipe.runner == "pytest":
            recipe = replace(recipe, options=(*recipe.options, "--collect-only"))
        try:
            run_tests(self._backend, recipe, nearest(self._backend, selection), {}, timeout)
        except NotStarted:
            return False
        return True

    def run(
        self, command: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run a shell command in the tree; stdout and stderr together."""
        if "\0" in command:
            raise ValueError("a command cannot hold a null character")
        self._has_run = True
        shell = ("/bin/sh", "-c", command)
        done = self._backend.execute(
            shell, env=env, timeout=timeout, keep=_AGENT_OUTPUT, merge=True
        )
        text = done.out.decode("utf-8", "replace")
        if done.cause not in ("", "timeout"):
            text += f"\n[killed: over the limit of {done.cause}]\n"
        return CommandResult(done.status, text, done.cause == "timeout", done.seconds)

    def diff(self) -> str:
        """Everything that differs from the commit, new files included, as `git apply` reads it."""
        self._backend.fresh()
        self._index()
        self._git(("add", "--all", "--ignore-errors", "."))
        return self._checked(*_DIFF, "HEAD").decode("utf-8", "surrogateescape")

    def reset(self) -> None:
        """Back to the commit: every change and every new file is gone."""
        self._backend.reset()
        self._has_run = False

    def protections(self) -> Mapping[str, bool]:
        """Return the protections here: name of the measure -> whether it holds."""
        return self._backend.protections()

    def close(self) -> None:
        """Kill everything and remove the copy; idempotent."""
        self._backend.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _forget_compiled(self, paths: Iterable[str]) -> None:
        """Remove what Python compiled of files that are new: of a text of the same size and second
        it takes that for this one's."""
        lines = []
        for path in filter(lambda one: one.endswith(".py"), paths if self._has_run else ()):
            folder, _, name = f"./{path}".rpartition("/")
            lines.append(f"rm -f {quote(folder)}/__pycache__/{quote(name[:-3])}.*.pyc\n")
        if lines:
            given = "".join(lines).encode("utf-8", "surrogateescape")
            self._backend.execute(("/bin/sh", "-s"), given=given)

    # -- git, inside, on a git directory that nothing inside can change ----------------------------

    def _index(self) -> None:
        """An index of the commit in the scratch folder, which objects go to as well."""
        source, target = f"{self._backend.git_dir}/index", f"{self._backend.scratch}/index"
        done = self._backend.execute(("cp", source, target), history=True)
        if done.status:
            raise WorkspaceUnavailable(f"cannot copy git's index: {_reason(done.err)}")
        self._backend.execute(("mkdir", "-p", f"{self._backend.scratch}/objects"))

    def _git(
        self, arguments: Sequence[str], *, given: bytes = b"", repository: bool = True
    ) -> Execution:
        env = dict(QUIET)
        scratch = self._backend.scratch
        if repository:
            env |= {
                "GIT_DIR": self._backend.git_dir,
                "GIT_WORK_TREE": self._backend.tree,
                "GIT_INDEX_FILE": f"{scratch}/index",
                "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{self._backend.git_dir}/objects",
            }
        else:
            env |= {"GIT_DIR": f"{scratch}/none", "GIT_CEILING_DIRECTORIES": "/"}
        command = ("git", *SAFE_OPTIONS, *arguments)
        done = self._backend.execute(
            command,
            env=env,
            given=given,
            timeout=_GIT_SECONDS,
            keep=2 * _LARGEST_DIFF,
            history=repository,
        )
        if done.cause:
            # what `apply` takes is the patch's doing: a few bytes may stand for gigabytes
            refused = WorkspaceUnavailable if repository else PatchRejected
            raise refused(f"git {arguments[0]}: over the limit of {done.cause}")
        return done

    def _checked(self, *arguments: str) -> bytes:
        done = self._git(arguments)
        if done.status:
            raise WorkspaceUnavailable(f"git {arguments[0]}: {_reason(done.err)}")
        return done.out


def _reason(err: bytes) -> str:
    """git's own words in one line: the file and the hunk come first."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [re.sub(r"^(error|fatal): ", "", line) for line in lines if not line.startswith("hint")]
    return "; ".join(told[:3])[:500] or "no reason given"
