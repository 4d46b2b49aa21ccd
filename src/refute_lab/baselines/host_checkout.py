"""A copy of a workspace's tree on this machine, for a program that cannot work in the jail.

Nothing here is contained but the way back: the program's changes are read as files, without
following a link, and written into the workspace.
"""

from __future__ import annotations

import os
import selectors
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from refute.core.storage import ScratchFolder
from refute.errors import WorkspaceUnavailable
from refute.workspace.commands import OutputBuffer
from refute.workspace.contract import CommandResult, Workspace
from refute.workspace.repositories import GitFailed, git
from refute.workspace.rooted_files import MOST_BYTES, put, take

_OUTPUT = 200_000
_MOST_CHANGED = 2_000
"""Changed files that are brought back; more is no edit but a build."""
_GONE = ".refute-gone"
_GRACE = 5.0
"""Seconds between asking a program to end and ending it."""


class HostCheckout:
    """A context manager: the copy is gone afterwards."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._holder = ScratchFolder(ignore_cleanup_errors=True)
        self.folder = os.path.join(os.path.realpath(self._holder.name), workspace.root.name)
        self._given: dict[str, bytes] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the program that runs; from another thread."""
        self._stopped.set()

    def __enter__(self) -> HostCheckout:
        try:
            self._fill()
        except BaseException:
            self._holder.cleanup()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holder.cleanup()

    def _fill(self) -> None:
        """The files as they are now, links as the files that they lead to; one commit of them."""
        os.mkdir(self.folder)
        for path in self._workspace.files():
            try:
                data = self._workspace.read(path)
            except OSError:
                continue  # a link to a folder, or out of the tree; a huge file
            self._given[path] = data
            put(self.folder, path, data)
        for path in self._executables():
            if path in self._given:
                os.chmod(os.path.join(self.folder, path), 0o755)
        folder = Path(self.folder)
        who = ("-c", "user.name=refute", "-c", "user.email=refute@localhost")
        try:
            git("init", "--quiet", folder=folder)
            git("add", "--all", "--force", ".", folder=folder)
            git("commit", "--quiet", "--allow-empty", "-m", "as it is", folder=folder, options=who)
        except GitFailed as error:
            raise WorkspaceUnavailable(f"cannot make a copy for the agent: {error}") from None

    def _executables(self) -> list[str]:
        found = self._workspace.run("git ls-files -s | grep ^100755 | cut -f 2", timeout=60)
        return found.output.split("\n")

    def run(self, command: str, *, timeout: float) -> CommandResult:
        """Run a shell command in the copy, as the user; its process group ends with it."""
        started = time.monotonic()
        kept = OutputBuffer(_OUTPUT)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            with process.stdout:
                timed_out = not self._watched(process, kept, started + timeout)
        finally:
            _end_group(process)
        return CommandResult(
            process.returncode,
            kept.content().decode("utf-8", "replace"),
            timed_out,
            time.monotonic() - started,
        )

    def _watched(
        self, process: subprocess.Popen[bytes], kept: OutputBuffer, deadline: float
    ) -> bool:
        """Read what the program prints until it ends; False where the deadline came first."""
        stream = process.stdout
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        open_still = True
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                ended = process.poll() is not None
                if open_still and selector.select(0 if ended else 0.1):
                    data = os.read(stream.fileno(), 65536)
                    kept.add(data)
                    open_still = bool(data)
                    if data and not self._stopped.is_set() and time.monotonic() < deadline:
                        continue
                if ended:
                    return True
                if self._stopped.is_set() or time.monotonic() >= deadline:
                    return False
                if not open_still:
                    time.sleep(0.05)

    def bring_back(self) -> None:
        """Write what the program changed, made and removed into the workspace."""
        seen: set[str] = set()
        changed = 0
        for path in self._walked():
            seen.add(path)
            try:
                data = take(self.folder, path)
            except OSError:
                continue
            if data != self._given.get(path) and changed < _MOST_CHANGED:
                changed += 1
                try:
                    self._workspace.write(path, data)
                except OSError:
                    continue  # a folder of the tree became a file, or such
        gone = sorted(set(self._given) - seen)[:_MOST_CHANGED]
        if gone:
            self._workspace.write(_GONE, b"\0".join(map(os.fsencode, gone)))
            self._workspace.run(f"xargs -0 rm -f -- < {_GONE}; rm -f {_GONE}")

    def _walked(self) -> Iterator[str]:
        """Regular files of the copy, without git's own; links are not followed."""
        for folder, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
            for name in sorted(names):
                full = os.path.join(folder, name)
                found = os.lstat(full)
                if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES:
                    yield os.path.relpath(full, self.folder)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the program's process group: asked first, so that it can tidy up, then killed."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass
